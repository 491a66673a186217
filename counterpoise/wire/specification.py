"""A study's specification.

`parse_specification` reads one and reports all its faults at once.

The models check each field, `contradictions` the fields together. The latter reads the
raw data, so that a fault of one field hides no fault of another.
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Strict,
    StringConstraints,
    Tag,
    ValidationError,
)
from pydantic_core import ErrorDetails

from counterpoise.wire.contradictions import (
    MOST_FAULTS,
    MOST_REQUIREMENTS,
    contradictions,
    initial_count,
)
from counterpoise.wire.coordinates import Coordinate
from counterpoise.wire.problems import Fault, did_you_mean, fault_at, must_be_one_of
from counterpoise.wire.variable_faults import MOST_CHOICES, MOST_LEVELS

Strategy = Literal[
    "sbp-bo", "counterpoise", "bo-aaf", "sbp-bo-r", "sbp-bo-c",
    "k-rvea", "hk-rvea", "rvea", "parego", "random", "mht", "fast-first",
    "brood-interleaving", "speculative-interleaving", "t-saea", "tr-saea", "tc-saea",
]  # fmt: skip
Models = Literal["paper", "evidence"]
# A server checks whether they apply to a study
CONDITIONAL_STRATEGIES = (
    "k-rvea", "hk-rvea", "mht", "fast-first", "t-saea", "tr-saea", "tc-saea",
)  # fmt: skip
BENCHMARK_ONLY = "sbp-nogpc"
NAME_RULE = (
    "a name is 1 to 100 of A-Z a-z 0-9 . _ - and begins with a letter or a digit"
)
MOST_VARIABLES, MOST_OBJECTIVES, MOST_CONSTRAINTS = 100, 20, 50
# Of each list, how many there must be at least and at most
COUNTS = {
    "variables": (1, MOST_VARIABLES),
    "objectives": (1, MOST_OBJECTIVES),
    "constraints": (0, MOST_CONSTRAINTS),
}
TEXT_PATTERN = r"[^\x00-\x1f\x7f\ud800-\udfff]{1,100}"
LARGEST = 1e100  # of a choice, a limit, and of noise
DAY, YEAR = 86_400, 366 * 86_400
AUTO: Literal["auto"] = "auto"


def _whole(value: object) -> object:
    """JSON has one kind of number: 3.0 is an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _noise(value: object) -> object:
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float) and 0 < value <= LARGEST:
        return float(value)
    raise ValueError("noise is true, false or a standard deviation above 0")


def _choice(value: object) -> object:
    """Checked here: a union would report a fault for each of its types."""
    if isinstance(value, str) and not re.fullmatch(TEXT_PATTERN, value):
        raise ValueError("a text has 1 to 100 characters, none of them a control one")
    if isinstance(value, int | float) and abs(value) > LARGEST:
        raise ValueError(f"a number lies within {-LARGEST:g} and {LARGEST:g}")
    if isinstance(value, str | bool | int) or (
        isinstance(value, float) and math.isfinite(value)
    ):
        return value
    raise ValueError("a choice is a text, a boolean or a finite number")


Number = Annotated[float, Strict(), Field(allow_inf_nan=False)]
Limit = Annotated[Number, Field(ge=-LARGEST, le=LARGEST)]
Whole = Annotated[int, Strict(), BeforeValidator(_whole)]
Seconds = Annotated[Number, Field(gt=0, le=YEAR)]
LeaseSeconds = Annotated[Number, Field(gt=0, le=DAY)]
Choice = Annotated[Coordinate, BeforeValidator(_choice)]
# A number or "auto"; with tags, so that a fault is reported for the one that was meant.
_NUMBER, _AUTO = "<number>", "<auto>"
_TEXT_OR_NUMBER = Discriminator(
    lambda value: _AUTO if isinstance(value, str) else _NUMBER
)
Auto = Annotated[Literal["auto"], Tag(_AUTO)]
SecondsOrAuto = Annotated[Annotated[Seconds, Tag(_NUMBER)] | Auto, _TEXT_OR_NUMBER]
BatchSize = Annotated[
    Annotated[Whole, Field(ge=1, le=1000), Tag(_NUMBER)] | Auto, _TEXT_OR_NUMBER
]
Overlap = Annotated[
    Annotated[Whole, Field(ge=0, le=100_000), Tag(_NUMBER)] | Auto, _TEXT_OR_NUMBER
]
Noise = Annotated[
    Annotated[bool, Strict()] | Annotated[float, Strict()], BeforeValidator(_noise)
]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]

EXAMPLE: dict[str, Any] = {
    "name": "wing",
    "variables": [
        {"name": "span", "type": "float", "low": 1.5, "high": 4.0},
        {"name": "ribs", "type": "int", "low": 3, "high": 12},
        {"name": "skin", "type": "float", "low": 1e-4, "high": 1e-2, "scale": "log"},
    ],
    "objectives": [
        {"name": "mass", "evaluation_time_s": 0.01},
        {
            "name": "drag",
            "direction": "minimize",
            "evaluation_time_s": 0.2,
            "unit": "N",
        },
        {"name": "lift", "direction": "maximize", "same_run_as": "drag"},
        {
            "name": "stiffness",
            "direction": "maximize",
            "evaluation_time_s": 2.0,
            "lease_s": 120,
            "timeout_s": 3600,
        },
    ],
    "budget": 60,
    "strategy": "sbp-bo",
    "models": None,
    "initial_samples": None,
    "batch_size": 3,
    "overlap": "auto",
    "cheap_first": None,
    "generations": 20,
    "cheap_threshold": 1,
    "ratios": None,
    "max_ratio": 20,
    "lease_s": 60,
    "max_attempts": 3,
    "max_losses": 10,
    "seed": 1,
    "notes": "free text",
}


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Variable(_Part):
    name: Name = Field(description=NAME_RULE)
    type: Literal["float", "int", "discrete", "categorical"] = "float"
    # `contradictions` checks which fields go with which type
    low: Number | None = Field(None, description="of a float or an int")
    high: Number | None = Field(
        None, description="more than `low`; both bounds belong to the range"
    )
    scale: Literal["linear", "log"] = Field("linear", description="`log` needs low > 0")
    values: tuple[Choice, ...] | None = Field(
        None,
        description="of a discrete variable: its numbers, ascending",
        json_schema_extra={"minItems": 2, "maxItems": MOST_LEVELS},
    )
    choices: tuple[Choice, ...] | None = Field(
        None,
        description="of a categorical variable: texts, booleans or numbers, without an order",
        json_schema_extra={"minItems": 2, "maxItems": MOST_CHOICES},
    )

    @property
    def levels(self) -> tuple[Choice, ...]:
        """The values of a discrete variable, the choices of a categorical one."""
        return self.values or self.choices or ()


class Output(_Part):
    """A value that a run returns: an objective or a constraint."""

    name: Name = Field(description=NAME_RULE)
    lower: Limit | None = Field(
        None, description="a sample with a smaller value is infeasible"
    )
    upper: Limit | None = Field(
        None, description="a sample with a larger value is infeasible"
    )
    evaluation_time_s: Seconds | None = Field(
        None,
        description="how long one evaluation takes; ratios are computed from it if every run has one, else measured",
    )
    unit: (
        Annotated[str, StringConstraints(max_length=50, pattern=r"^[^\x00-\x1f]*$")]
        | None
    ) = Field(None, description="for people, such as `MPa`")
    same_run_as: str | None = Field(
        None,
        description="the objective or constraint whose run also returns this one's value: no jobs, times and leases"
        " of its own",
    )
    lease_s: LeaseSeconds | None = Field(None, description="null: the study's")
    timeout_s: SecondsOrAuto | None = Field(
        None,
        description="the longest time for which heartbeats extend a lease; `auto`: 10 times the upper quartile of the"
        " last runs, at least a minute; null: no limit",
    )

    @property
    def is_limited(self) -> bool:
        return self.lower is not None or self.upper is not None

    def keeps_limits(self, value: float) -> bool:
        """Whether a value lies within the limits; one on a limit does."""
        return self.excess(value) == 0.0

    def excess(self, value: float) -> float:
        """How far a value is beyond a limit, in its unit; 0 if it keeps both."""
        below = 0.0 if self.lower is None else self.lower - value
        above = 0.0 if self.upper is None else value - self.upper
        return max(below, above, 0.0)


class Objective(Output):
    direction: Literal["minimize", "maximize"] = "minimize"
    noise: Noise = Field(
        False,
        description="whether a repeated run gives another value: true (noise is estimated), or its standard deviation",
    )

    @property
    def sign(self) -> float:
        """By which a value is multiplied to be minimised; the same leads back."""
        return -1.0 if self.direction == "maximize" else 1.0


class Constraint(Output):
    """An output that is not optimised; it has a limit."""

    @property
    def sign(self) -> float:
        return 1.0


class Specification(_Part):
    """What an engineer declares: variables, objectives, constraints, budget.

    Read with `parse_specification`, which checks it.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    name: Name = Field(description=NAME_RULE)
    # `_length_faults` checks how many there are: pydantic does not count items that
    # have faults.
    variables: tuple[Variable, ...] = Field(
        description="what a point consists of",
        json_schema_extra={"minItems": 1, "maxItems": MOST_VARIABLES},
    )
    objectives: tuple[Objective, ...] = Field(
        description="what is minimised or maximised",
        json_schema_extra={"minItems": 1, "maxItems": MOST_OBJECTIVES},
    )
    constraints: tuple[Constraint, ...] = Field(
        (),
        description="outputs that are not optimised, but must keep a limit",
        json_schema_extra={"maxItems": MOST_CONSTRAINTS},
    )
    budget: Whole = Field(
        ge=1,
        le=1_000_000,
        description="full samples in all, including the initial design",
    )
    requirements: tuple[Annotated[str, Strict()], ...] = Field(
        (),
        description="inequalities over the variables that every proposed point satisfies, such as `span / chord <= 12`",
        json_schema_extra={"maxItems": MOST_REQUIREMENTS},
    )
    strategy: Strategy = "sbp-bo"
    models: Models | None = Field(
        None,
        description="`evidence`: kernels and data by what predicts the samples best, for sbp-bo, bo-aaf and"
        " counterpoise; `paper`: Kriging; null: `evidence` where there is a choice and no noise",
    )
    initial_samples: Whole | None = Field(
        None, ge=2, description="size of the initial design; null: 11 d - 1"
    )
    batch_size: BatchSize = Field(
        3,
        description="full samples per step; `auto`: one for each free slot that serves the slowest runs",
    )
    overlap: Overlap = Field(
        "auto",
        description="full samples that may still run when the next step is planned; 0: a step waits for its whole"
        " batch; `auto`: follows the slots that serve the slowest runs, so that none idles",
    )
    cheap_first: Annotated[bool, Strict()] | None = Field(
        None,
        description="start a sample's slow runs when its cheap runs are settled; null: if a cheap output has a limit,"
        " or a cheap run has reported a sample as infeasible",
    )
    generations: Whole = Field(
        20, ge=1, le=1000, description="generations of RVEA per step"
    )
    cheap_threshold: Number = Field(
        1.0, ge=1, description="an objective is cheap if its ratio is above this"
    )
    ratios: dict[str, Annotated[Number, Field(ge=1)]] | None = Field(
        None,
        description="how many evaluations of an objective fit into one of the slowest, by name (1 for those left out);"
        " null: from evaluation times",
    )
    max_ratio: Number = Field(
        20.0, ge=1, le=1000, description="ratios are cut off here, and rounded down"
    )
    lease_s: LeaseSeconds | None = Field(None, description="null: the server's default")
    max_attempts: Whole = Field(
        3, ge=1, le=1000, description="errors after which a job has failed"
    )
    max_losses: Whole = Field(
        10,
        ge=1,
        le=1000,
        description="expiries and infrastructure faults after which it has",
    )
    seed: Whole | None = Field(
        None,
        ge=0,
        le=2**63 - 1,
        description="null: the server draws one and stores it here",
    )
    notes: Annotated[
        str, StringConstraints(max_length=20_000, pattern=r"^[^\x00]*$")
    ] = Field("", description="free text for people")

    @property
    def initial_count(self) -> int:
        """n, the size of the initial design."""
        return initial_count(len(self.variables), self.initial_samples)

    @property
    def objective_names(self) -> tuple[str, ...]:
        return tuple(objective.name for objective in self.objectives)

    @property
    def outputs(self) -> tuple[Objective | Constraint, ...]:
        """The objectives, then the constraints: what has a value per sample."""
        return (*self.objectives, *self.constraints)

    @property
    def output_names(self) -> tuple[str, ...]:
        return tuple(output.name for output in self.outputs)

    @property
    def is_limited(self) -> bool:
        """Whether a value can make a sample infeasible."""
        return any(output.is_limited for output in self.outputs)

    @property
    def is_noisy(self) -> bool:
        """Whether a repeated run may give another value."""
        return any(objective.noise for objective in self.objectives)

    def broken_limits(self, values: Mapping[str, float]) -> list[str]:
        """The outputs whose values, by name, are beyond a limit."""
        return [
            output.name
            for output in self.outputs
            if output.name in values and not output.keeps_limits(values[output.name])
        ]

    @property
    def runs(self) -> tuple[str, ...]:
        """The outputs with jobs of their own."""
        return tuple(
            output.name for output in self.outputs if output.same_run_as is None
        )

    def also(self, run: str) -> tuple[str, ...]:
        """The outputs whose values this one's run also returns."""
        return tuple(other.name for other in self.outputs if other.same_run_as == run)

    @property
    def declared_times(self) -> bool:
        """Whether every run has an evaluation time, so that none needs to be measured."""
        runs = [output for output in self.outputs if output.same_run_as is None]
        return all(run.evaluation_time_s is not None for run in runs)


class SpecificationInvalid(ValueError):
    """A specification has faults; all of them are listed."""

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = faults
        super().__init__(
            "; ".join(f"{fault.pointer}: {fault.detail}" for fault in faults)
        )


def example() -> Specification:
    return parse_specification(EXAMPLE)


def parse_specification(raw: object) -> Specification:
    """Raises SpecificationInvalid, with every fault."""
    if not isinstance(raw, dict):
        raise SpecificationInvalid(
            [
                fault_at(
                    (),
                    "a specification is an object with name, variables, objectives, budget",
                )
            ]
        )
    faults = list(_length_faults(raw))
    specification = None
    try:
        specification = Specification.model_validate(_shortened(raw))
    except ValidationError as error:
        details = error.errors(include_url=False)[:MOST_FAULTS]
        faults += [fault_at(_field(detail), _message(detail)) for detail in details]
    known = {fault.pointer for fault in faults}
    faults += [fault for fault in contradictions(raw) if fault.pointer not in known]
    if specification is None or faults:
        raise SpecificationInvalid(faults[:MOST_FAULTS])
    return specification


def _shortened(raw: dict[Any, Any]) -> dict[Any, Any]:
    """Without surplus items, which would hide the faults of the others or add a
    million.
    """
    shortened = dict(raw)
    for key, (_, most) in COUNTS.items():
        if isinstance(raw.get(key), list):
            shortened[key] = raw[key][:most]
    return shortened


def _length_faults(raw: dict[Any, Any]) -> Iterator[Fault]:
    for key, (least, most) in COUNTS.items():
        items = raw.get(key)
        if isinstance(items, list) and not least <= len(items) <= most:
            yield fault_at(
                (key,),
                f"{len(items)} {key}; there must be at least {least} and at most {most}",
            )


def _field(detail: ErrorDetails) -> tuple[int | str, ...]:
    """Where the fault is, without the tags of numbers that may also be "auto"."""
    return tuple(part for part in detail["loc"] if part not in (_NUMBER, _AUTO))


def _message(detail: ErrorDetails) -> str:
    match detail["type"]:
        case "missing":
            return "is required"
        case "extra_forbidden" if _is_noise_of_constraint(detail["loc"]):
            return "is for objectives; the noise of a constraint is always estimated: leave it out"
        case "extra_forbidden":
            fields = _fields(detail["loc"])
            hint = (
                did_you_mean(str(detail["loc"][-1]), fields)
                or f"; there are {', '.join(fields)}"
            )
            return f"there is no such field{hint}"
        case "string_pattern_mismatch":
            return (
                NAME_RULE
                if detail["loc"][-1] == "name"
                else "control characters are not possible here"
            )
        case "tuple_type":
            return "must be a list"
        case "model_type" | "dict_type":
            return "must be an object"
        case "literal_error" if detail["input"] == BENCHMARK_ONLY:
            return f"{BENCHMARK_ONLY} calls the cheap objectives directly, so it is for benchmarks only; use 'sbp-bo'"
        case "literal_error" if detail["loc"][-1] == _AUTO:
            given = str(detail["input"])
            return f"must be a number or 'auto'{did_you_mean(given[:100], [AUTO])}"
        case "literal_error":
            return must_be_one_of(detail["ctx"]["expected"], detail["input"])
    return str(detail["msg"]).removeprefix("Value error, ")


def _is_noise_of_constraint(location: tuple[int | str, ...]) -> bool:
    return location[0] == "constraints" and location[-1] == "noise"


def _fields(location: tuple[int | str, ...]) -> list[str]:
    """The fields of the part of a specification that contains this location."""
    parts: dict[object, type[BaseModel]] = {
        "variables": Variable,
        "objectives": Objective,
        "constraints": Constraint,
    }
    part = parts[location[0]] if len(location) > 1 else Specification
    return list(part.model_fields)
