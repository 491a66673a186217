"""A UAV's wing box: three simulators whose costs differ by nature, in SI units.

`mass` is closed form (microseconds), `drag` a lifting line plus friction (milliseconds), `deflection` three-dimensional
finite elements (of the order of a second). What they leave out: buckling, sweep, twist, and the wing's own weight as
relief of the bending moment.
"""
