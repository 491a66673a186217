"""The campaigns by name: which problems, strategies and ratios."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

from benchmarks.paper.results import Settings, Spec
from benchmarks.paper.tables import Entry, Key, load
from benchmarks.problems.catalogue import BI_OBJECTIVE, BI_OBJECTIVE_DESIGN, NAMES

Score = Literal["igd_plus", "igd", "hypervolume"]
SIZES = (3, 5, 10)
RATIOS = (
    (5.0, 5.0, 1.0), (7.0, 3.0, 1.0), (9.0, 1.0, 1.0),
    (15.0, 5.0, 1.0), (10.0, 10.0, 1.0), (19.0, 1.0, 1.0),
)  # fmt: skip
RATIO_PROBLEMS = ("dtlz2", "dtlz5", "dtlz7", "wfg2", "wfg4", "wfg9")
PEER_PROBLEMS = ("dtlz2", "dtlz7", "wfg4", "wfg9", "zdt2")
PEERS = ("optuna-tpe", "optuna-gp", "pymoo-nsga3", "pymoo-rvea", "qlognehvi")
# The tutorial of HVKG: d = 6, costs 3 : 1
ZDT2_VARIABLES, ZDT2_RATIOS = 6, (1.0, 3.0)


@dataclass(frozen=True, slots=True)
class Campaign:
    problems: tuple[str, ...]
    sizes: tuple[int, ...]
    strategies: tuple[str, ...]  # the columns; the others are compared with the first
    specs: Callable[[str, int, str, int], Iterable[Spec]]  # problem, m, strategy, seed
    seeds: str = "0-4"
    score: Score = "igd_plus"
    table: str | None = None  # of the paper
    paper_columns: tuple[str, ...] = ()

    def published(self) -> Mapping[Key, Entry]:
        return {} if self.table is None else load(self.table)


def tables(rc: int) -> Callable[[str, int, str, int], Iterable[Spec]]:
    return lambda problem, m, strategy, seed: [Spec(problem, m, rc, strategy, seed)]


def two_objectives(problem: str, m: int, strategy: str, seed: int) -> list[Spec]:
    d = BI_OBJECTIVE[problem]
    n = BI_OBJECTIVE_DESIGN
    return [Spec(problem, m, 5, strategy, seed, Settings(), 200, d=d, n=n)]


def many_ratios(problem: str, m: int, strategy: str, seed: int) -> list[Spec]:
    return [
        Spec(problem, m, int(ratios[0]), strategy, seed, ratios=ratios)
        for ratios in RATIOS
    ]


def beside_peers(problem: str, m: int, strategy: str, seed: int) -> list[Spec]:
    spec = Spec(problem, m, 5, strategy, seed)
    if problem == "zdt2":
        # f_2 is the cheap one
        spec = replace(spec, rc=3, ratios=ZDT2_RATIOS, d=ZDT2_VARIABLES, budget=100)
        return [spec] if m == 2 else []
    return [spec]


OURS = ("sbp-bo", "k-rvea", "hk-rvea", "counterpoise")
THREE = ("K-RVEA", "HK-RVEA", "SBP-BO")
CAMPAIGNS = {
    "tab1": Campaign(NAMES, SIZES, OURS, tables(5), table="Tab.1", paper_columns=THREE),
    "tab2": Campaign(
        NAMES, SIZES, OURS, tables(10), table="Tab.2", paper_columns=THREE
    ),
    "ablation": Campaign(
        NAMES,
        SIZES,
        ("sbp-bo", "bo-aaf", "sbp-bo-r", "sbp-bo-c", "sbp-nogpc"),
        tables(5),
        table="Tab.4",
        paper_columns=("SBP-BO", "BO-AAF", "SBP-BO-R", "SBP-BO-C", "SBP-NoGPc"),
    ),
    "bi-objective": Campaign(
        tuple(BI_OBJECTIVE),
        (2,),
        ("sbp-bo", "t-saea", "tc-saea", "counterpoise"),
        two_objectives,
        score="igd",
        table="Bi-objective1",
        paper_columns=("SBP-BO", "T-SAEA", "Tr-SAEA", "TC-SAEA"),
    ),
    "ratios": Campaign(
        RATIO_PROBLEMS, (3,), ("sbp-bo", "hk-rvea", "counterpoise"), many_ratios
    ),
    "peers": Campaign(
        PEER_PROBLEMS,
        (2, 3),
        ("counterpoise", "sbp-bo", *PEERS),
        beside_peers,
        seeds="0-2",
    ),
}


@dataclass(frozen=True, slots=True)
class Choice:
    """What of a campaign is run; empty: all of it."""

    problems: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    strategies: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    budget: int | None = None


def specs_of(campaign: Campaign, choice: Choice) -> list[Spec]:
    combinations = product(
        choice.problems or campaign.problems,
        choice.sizes or campaign.sizes,
        choice.strategies or campaign.strategies,
        choice.seeds,
    )
    specs = [spec for parts in combinations for spec in campaign.specs(*parts)]
    if choice.budget is not None:
        specs = [replace(spec, budget=choice.budget) for spec in specs]
    return specs
