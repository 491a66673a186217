"""The wing's mass as a closed formula."""

from collections.abc import Mapping

from workers.wing.geometry import BOX_WIDTH, FUSELAGE_MASS, GRAVITY, ROOT_CHORD, Wing

DENSITY = 1600.0  # kg/m3: quasi-isotropic carbon laminate
# kg per m2 of planform outside the box: leading edge, trailing edge, ailerons
FAIRING = 0.8


def mass(x: Mapping[str, float]) -> float:
    """Box and fairings, both halves, kg."""
    wing = Wing.of(x)
    box_mass = 2.0 * DENSITY * box_volume(wing)
    fairing_mass = FAIRING * (1.0 - BOX_WIDTH) * wing.area
    return box_mass + fairing_mass


def box_volume(wing: Wing) -> float:
    """Material of the box of one half, m3.

    Its section is linear along the span, so the mean of both ends is exact.
    """
    return (
        wing.half
        * (wall_section(wing, ROOT_CHORD) + wall_section(wing, wing.tip_chord))
        / 2.0
    )


def wall_section(wing: Wing, chord: float) -> float:
    """Area of the walls, 2 t (w + h - 2 t), m2."""
    width, depth = wing.box(chord)
    t = wing.skin_thickness
    return 2.0 * t * (width + depth - 2.0 * t)


def weight(x: Mapping[str, float]) -> float:
    """The weight in level flight, including the wing, N."""
    return GRAVITY * (FUSELAGE_MASS + mass(x))
