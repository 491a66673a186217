"""The wing's mass in closed form."""

from collections.abc import Mapping

from workers.wing.geometry import BOX_WIDTH, FUSELAGE_MASS, GRAVITY, ROOT_CHORD, Wing

DENSITY = 1600.0  # kg/m3: quasi-isotropic carbon laminate
FAIRING = 0.8  # kg/m2 of planform before and behind the box: leading edge, trailing edge, ailerons


def mass(x: Mapping[str, float]) -> float:
    """Box and fairings, both halves, kg."""
    wing = Wing.of(x)
    return 2.0 * DENSITY * box_volume(wing) + FAIRING * (1.0 - BOX_WIDTH) * wing.area


def box_volume(wing: Wing) -> float:
    """Material of one half's box, m3: the section 2 t (w + h - 2 t) is linear along the span, so its mean is exact."""
    t = wing.skin_thickness
    root, tip = (2.0 * t * (sum(wing.box(chord)) - 2.0 * t) for chord in (ROOT_CHORD, wing.tip_chord))
    return wing.half * (root + tip) / 2.0


def weight(x: Mapping[str, float]) -> float:
    """What the wing must carry in level flight, itself included, N."""
    return GRAVITY * (FUSELAGE_MASS + mass(x))
