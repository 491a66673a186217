"""The wing box of a UAV: three simulators with very different evaluation costs, in SI
units.

`mass` is a closed formula (microseconds), `drag` a lifting line with friction
(milliseconds), `deflection` finite elements in three dimensions (some tenths of a second).
Neglected: buckling, sweep, twist, and the relief of the bending moment by the wing's
own weight.
"""
