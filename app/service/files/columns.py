"""The columns of samples in CSV files: exports and imports use the same names."""

from dataclasses import dataclass, field

from counterpoise.wire.coordinates import Coordinate
from counterpoise.wire.problems import did_you_mean
from counterpoise.wire.specification import Specification

# What an export has of a sample besides its point and values; an import skips it.
ABOUT = ("sample", "step", "full", "open")


@dataclass(frozen=True, slots=True)
class Columns:
    """Headings are plain names; `x:NAME` and `value:NAME` (no name has a colon) where a
    plain one means two things.
    """

    variables: tuple[str, ...]
    outputs: tuple[str, ...]
    # By name of the variable: its values, if it is discrete or categorical
    levels: dict[str, tuple[Coordinate, ...]] = field(default_factory=dict)

    def heading_of_variable(self, name: str) -> str:
        return f"x:{name}" if name in (*ABOUT, *self.outputs) else name

    def heading_of_output(self, name: str) -> str:
        return f"value:{name}" if name in (*ABOUT, *self.variables) else name

    @property
    def headings(self) -> list[str]:
        return [
            *map(self.heading_of_variable, self.variables),
            *map(self.heading_of_output, self.outputs),
        ]

    def meaning(self, heading: str) -> tuple[str, str] | None:
        """("x" or "value", name); ("skip", heading) for what is not read; None for an
        unknown column.
        """
        for kind, names, own in (
            ("x", self.variables, self.heading_of_variable),
            ("value", self.outputs, self.heading_of_output),
        ):
            for name in names:
                if heading in (f"{kind}:{name}", own(name)):
                    return kind, name
        return ("skip", heading) if heading in ABOUT else None

    def hint(self, heading: str) -> str:
        if heading in self.variables and heading in self.outputs:
            return f"{heading!r} is a variable and an output; write 'x:{heading}' or 'value:{heading}'"
        names = [*self.variables, *self.outputs, *self.headings]
        near = did_you_mean(heading, names)
        return f"the study has no variable, objective or constraint {heading!r}{near or '; leave this column out'}"


def columns_of(spec: Specification) -> Columns:
    return Columns(
        tuple(v.name for v in spec.variables),
        spec.output_names,
        {v.name: v.levels for v in spec.variables},
    )
