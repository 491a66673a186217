"""Options that several commands have, and their usual values."""

from typing import Annotated

import typer

from app.optimizer.models.belief import Belief
from app.optimizer.models.training_data import KeepExtra
from app.optimizer.proposal.acquisition import Scaling
from app.optimizer.search.reference_vectors import Lattice
from app.optimizer.strategies.strategy import ModelFamily

# Numbers of objectives in the paper's tables.
ALL_SIZES = (3, 5, 10)

JsonOption = Annotated[
    bool, typer.Option("--json", help="One JSON object per line instead of a table.")
]
ScalingOption = Annotated[
    Scaling, typer.Option(help="paper: raw means; range: independent of units.")
]
LatticeOption = Annotated[
    Lattice, typer.Option(help="Reference vectors: small 91/85/65, large 105/126/275.")
]
SizesOption = Annotated[
    list[int] | None, typer.Option("--m", min=3, max=10, help="Number of objectives.")
]
SeedOption = Annotated[int, typer.Option(min=0)]
ModelsOption = Annotated[
    ModelFamily, typer.Option(help="paper: Kriging; evidence: chosen by leave-one-out.")
]
BeliefOption = Annotated[
    Belief,
    typer.Option(help="Of samples that still run: their mean, or a deviation more."),
]
KeepOption = Annotated[
    KeepExtra, typer.Option(help="Cheap-only samples kept: of the last step, or all.")
]
