"""The campaigns by name: which problems, strategies and ratios."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

from app.optimizer.strategies.strategy import ModelFamily
from benchmarks.campaign.variants import (
    DOUBLED,
    HALVED,
    PARTS,
    VARIANTS,
    WITHOUT_EFFECT,
)
from benchmarks.campaign.wall_clock import FAILURE, MAX_RATIO, SLOW_S, VANISH
from benchmarks.paper.results import EVIDENCE_COLUMN, Settings, Spec
from benchmarks.paper.tables import Entry, Key, load
from benchmarks.problems.catalogue import (
    BI_OBJECTIVE,
    BI_OBJECTIVE_DESIGN,
    NAMES,
)
from benchmarks.problems.catalogue import problem as instance
from benchmarks.problems.engineering import CHEAP, ENGINEERING

Score = Literal["igd_plus", "igd", "hypervolume"]
SIZES = (3, 5, 10)
RATIOS = (
    (5.0, 5.0, 1.0), (7.0, 3.0, 1.0), (9.0, 1.0, 1.0),
    (15.0, 5.0, 1.0), (10.0, 10.0, 1.0), (19.0, 1.0, 1.0),
)  # fmt: skip
RATIO_PROBLEMS = ("dtlz2", "dtlz5", "dtlz7", "wfg2", "wfg4", "wfg9")
PEER_PROBLEMS = ("dtlz2", "dtlz7", "wfg4", "wfg9", "zdt2")
PEERS = ("optuna-tpe", "optuna-gp", "pymoo-nsga3", "pymoo-rvea", "qlognehvi", "hvkg")
# The tutorial of HVKG: d = 6, a design of 2 d + 1, f_1 costs three times as much as f_2
ZDT2: dict[str, Any] = {"rc": 3, "ratios": (1.0, 3.0), "d": 6, "n": 13, "budget": 30}
WALL_CLOCK_PROBLEMS = ("dtlz2", "dtlz7", "wfg4")
SLOTS = (1, 4, 16)
DURATION_RATIOS = (3, 10, 100)
PART_PROBLEMS = (
    "dtlz1", "dtlz2", "dtlz4", "dtlz7", "wfg2", "wfg3", "wfg4", "wfg9",
)  # fmt: skip
CONSTANT_PROBLEMS = ("dtlz2", "dtlz7", "wfg4", "wfg9")
CONSTANT_BUDGET = 200
ENGINEERING_SEARCH = 60  # full samples after the design


@dataclass(frozen=True, slots=True)
class Campaign:
    problems: tuple[str, ...]
    sizes: tuple[int, ...]
    columns: tuple[str, ...]  # the others are compared with the first
    specs: Callable[[str, int, str, int], Iterable[Spec]]  # problem, m, column, seed
    what: str  # is compared, as the report says it
    seeds: str = "0-4"
    score: Score = "igd_plus"
    table: str | None = None  # of the paper
    paper_columns: tuple[str, ...] = ()

    def published(self) -> Mapping[Key, Entry]:
        return {} if self.table is None else load(self.table)


def run_of(problem: str, m: int, rc: int, column: str, seed: int) -> Spec:
    """A run of one column, scaled as in the paper, whose score depends on units."""
    if column == EVIDENCE_COLUMN:
        settings = Settings(models="evidence")
        return Spec(problem, m, rc, "sbp-bo", seed, settings)
    if column in VARIANTS:
        settings = Settings(models=VARIANTS[column].models)
        return Spec(problem, m, rc, column, seed, settings)
    models: ModelFamily = "evidence" if column == "counterpoise" else "paper"
    return Spec(problem, m, rc, column, seed, Settings(models=models))


def tables(rc: int) -> Callable[[str, int, str, int], Iterable[Spec]]:
    return lambda problem, m, column, seed: [run_of(problem, m, rc, column, seed)]


def two_objectives(problem: str, m: int, column: str, seed: int) -> list[Spec]:
    spec = run_of(problem, m, 5, column, seed)
    d, n = BI_OBJECTIVE[problem], BI_OBJECTIVE_DESIGN
    return [replace(spec, budget=200, d=d, n=n)]


def many_ratios(problem: str, m: int, column: str, seed: int) -> list[Spec]:
    specs = []
    for ratios in RATIOS:
        spec = run_of(problem, m, int(ratios[0]), column, seed)
        specs.append(replace(spec, ratios=ratios))
    return specs


def beside_peers(problem: str, m: int, column: str, seed: int) -> list[Spec]:
    spec = run_of(problem, m, 5, column, seed)
    if problem == "zdt2":
        spec = replace(spec, **ZDT2)
        return [spec] if m == 2 else []
    # HVKG alone evaluates objectives apart; its steps are too slow for more
    return [] if column == "hvkg" else [spec]


def virtual_time(problem: str, m: int, column: str, seed: int) -> list[Spec]:
    specs = []
    for ratio, slots, faulty in product(DURATION_RATIOS, SLOTS, (False, True)):
        spec = run_of(problem, m, ratio, column, seed)
        settings = replace(spec.settings, scaling="range")
        specs.append(
            replace(spec, settings=settings, budget=200, slots=slots, faulty=faulty)
        )
    return specs


def small_budget(problem: str, m: int, column: str, seed: int) -> list[Spec]:
    spec = run_of(problem, m, 5, column, seed)
    return [replace(spec, budget=CONSTANT_BUDGET)]


def real_designs(name: str, m: int, column: str, seed: int) -> list[Spec]:
    """As in a study: their objectives have different units."""
    ratios = ENGINEERING[name].ratios
    if m != len(ratios):
        return []
    spec = run_of(name, m, int(CHEAP), column, seed)
    settings = replace(spec.settings, scaling="range")
    budget = instance(name, m).n + ENGINEERING_SEARCH
    return [replace(spec, settings=settings, ratios=ratios, budget=budget)]


LEFT_OUT = "; ".join(f"`{name}` {why}" for name, why in WITHOUT_EFFECT.items())
OURS = ("sbp-bo", "k-rvea", "hk-rvea", EVIDENCE_COLUMN, "counterpoise")
THREE = ("K-RVEA", "HK-RVEA", "SBP-BO")
CAMPAIGNS = {
    "tab1": Campaign(
        NAMES,
        SIZES,
        OURS,
        tables(5),
        "The paper's first table: 48 instances, 300 full samples, cheap objectives five"
        " times as fast.",
        table="Tab.1",
        paper_columns=THREE,
    ),
    "tab2": Campaign(
        NAMES,
        SIZES,
        OURS,
        tables(10),
        "The paper's second table: the same with cheap objectives ten times as fast.",
        table="Tab.2",
        paper_columns=THREE,
    ),
    "ablation": Campaign(
        NAMES,
        SIZES,
        ("sbp-bo", "bo-aaf", "sbp-bo-r", "sbp-bo-c", "sbp-nogpc"),
        tables(5),
        "`sbp-bo` with one part left out or replaced.",
        table="Tab.4",
        paper_columns=("SBP-BO", "BO-AAF", "SBP-BO-R", "SBP-BO-C", "SBP-NoGPc"),
    ),
    "bi-objective": Campaign(
        tuple(BI_OBJECTIVE),
        (2,),
        ("sbp-bo", "t-saea", "tr-saea", "tc-saea", "counterpoise"),
        two_objectives,
        "Two objectives, one of them five times as fast; 100 initial and 200 full"
        " samples; scored by IGD.",
        score="igd",
        table="Bi-objective1",
        paper_columns=("SBP-BO", "T-SAEA", "Tr-SAEA", "TC-SAEA"),
    ),
    "ratios": Campaign(
        RATIO_PROBLEMS,
        (3,),
        ("sbp-bo", "hk-rvea", "counterpoise"),
        many_ratios,
        "Three objectives with other ratios of evaluation times.",
    ),
    "peers": Campaign(
        PEER_PROBLEMS,
        (2, 3),
        ("counterpoise", "sbp-bo", *PEERS),
        beside_peers,
        "Other libraries with equal numbers of slow evaluations. All but `hvkg` evaluate"
        " a point's objectives together; `hvkg`, on ZDT2 only, evaluates them apart, and"
        " is scored by the true values of the front that its models predict. `optuna-gp`,"
        " `qlognehvi` and `hvkg` need `.venv/bin/pip install --group peers` (torch and"
        " BoTorch, about a gigabyte; a CPU build is enough).",
        seeds="0-2",
    ),
    "wall-clock": Campaign(
        WALL_CLOCK_PROBLEMS,
        (3,),
        ("counterpoise", EVIDENCE_COLUMN, "hk-rvea", "k-rvea", "random"),
        virtual_time,
        f"Virtual time: slow runs of {SLOW_S:g} s on 1, 4 or 16 slots, cheap ones 3, 10"
        " or 100 times as fast on as many; planning time is included, and steps overlap."
        f" The optimiser counts at most a ratio of {MAX_RATIO:g}, as in a study. Faulty:"
        f" {FAILURE:.0%} of the attempts fail, and in {VANISH:.0%} the worker vanishes"
        " with its job. Scored by hypervolume, with the hours until the budget of 200"
        " full samples was used up.",
        seeds="0-2",
        score="hypervolume",
    ),
    "parts": Campaign(
        PART_PROBLEMS,
        (3, 5),
        ("counterpoise", *PARTS),
        tables(5),
        "`counterpoise` with one part left out. `no-promotion`: full samples are new"
        " points, those of the largest gain; cheap-only samples never become full ones."
        " `no-common-points`: each cheap objective has its own cheap-only points."
        " `no-bound-moves`: the search does not move variables to their bounds."
        " `no-greedy-gain`: full samples and extras are drawn from the candidates at"
        " random. `no-co-model`: slow objectives are predicted from the variables alone."
        " `kriging`: the models of the paper. `no-evolved-extras`: all extras are from the"
        " search's result.",
    ),
    "constants": Campaign(
        CONSTANT_PROBLEMS,
        (3,),
        ("counterpoise", *HALVED, *DOUBLED),
        small_budget,
        "`counterpoise` with each constant halved and doubled, on seeds that settings are"
        f" chosen on; {CONSTANT_BUDGET} full samples. Left out, as they have no effect"
        f" here: {LEFT_OUT}.",
        seeds="100-102",
    ),
    "engineering": Campaign(
        tuple(ENGINEERING),
        tuple(sorted({design.m for design in ENGINEERING.values()})),
        ("counterpoise", EVIDENCE_COLUMN, "random"),
        real_designs,
        "Engineering problems of the RE suite (Tanabe and Ishibuchi 2020): a four-bar truss"
        " (`re21`), a vehicle in a crash (`re34`), a rocket injector (`re37`), a car in a"
        " side impact (`re41`), water resources (`re61`). The suite has no evaluation"
        f" times; here objectives are {CHEAP:g} times as fast as the others where a formula"
        " would give them in practice, and the first two of the injector; a design of"
        f" 11 d - 1 and {ENGINEERING_SEARCH} full samples more. Scored by hypervolume, as a"
        " share of that of a long run of NSGA-II, which is stored:"
        " `python -m benchmarks.constrained.engineering_fronts` makes it again.",
        score="hypervolume",
    ),
}


@dataclass(frozen=True, slots=True)
class Choice:
    """What of a campaign is run; empty: all of it."""

    problems: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    columns: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    budget: int | None = None
    ratios: str | None = None  # as a table shows them
    slots: int | None = None


def specs_of(campaign: Campaign, choice: Choice) -> list[Spec]:
    combinations = product(
        choice.problems or campaign.problems,
        choice.sizes or campaign.sizes,
        choice.columns or campaign.columns,
        choice.seeds,
    )
    specs = [spec for parts in combinations for spec in campaign.specs(*parts)]
    if choice.ratios is not None:
        specs = [spec for spec in specs if spec.shown_ratios == choice.ratios]
    if choice.slots is not None:
        specs = [spec for spec in specs if spec.slots == choice.slots]
    if choice.budget is not None:
        specs = [replace(spec, budget=choice.budget) for spec in specs]
    return specs
