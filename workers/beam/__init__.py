"""A machine's arm cut from a sheet, with lightening holes: simulators with very
different evaluation costs, in SI units.

`mass`, `cost` and `buckling` are closed formulas (microseconds); one run of
`deflection` is a plane finite-element analysis (about half a second) that also returns
the safety against yielding at the edges of the holes. Neglected: fatigue, the arm's own
weight, and the mass of what it carries.
"""
