"""The import contracts of pyproject.toml hold, and each of them notices a breach."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import grimp
import pytest
from importlinter import configuration
from importlinter.application.use_cases import read_user_options
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.layers import LayersContract

ROOT = Path(__file__).parents[2]
configuration.configure()
OPTIONS = read_user_options(str(ROOT / "pyproject.toml"))
CONTRACTS: dict[str, dict[str, Any]] = {
    contract["name"]: contract for contract in OPTIONS.contracts_options
}
TYPES = {"forbidden": ForbiddenContract, "layers": LayersContract}

# An import that is not allowed, and how the name of the contract begins that forbids
# it.
BREACHES = [
    ("app.store.work.workers", "app.service", "Inside app"),
    ("app.errors", "app.settings", "Inside app"),
    ("app.store.sql.clock", "app.optimizer", "Inside app"),
    ("app.domain.jobs", "app.store.tables", "Inside app"),
    ("app.domain.jobs", "numpy", "The domain is pure"),
    ("app.optimizer.space", "app.settings", "The optimiser is pure"),
    ("app.optimizer.space", "logging", "The optimiser is pure"),
    ("counterpoise.wire.work", "app.errors", "What an engineer installs"),
    ("counterpoise.wire.work", "numpy", "What an engineer installs"),
    ("app.api.routes.health", "sqlalchemy", "SQL lives in the store"),
    ("app.service.work.tell", "sqlalchemy", "SQL lives in the store"),
    ("app.service", "workers", "Workers and benchmarks"),
]


@pytest.fixture(scope="module")
def imports() -> grimp.ImportGraph:
    """All imports of the project, read once."""
    packages = OPTIONS.session_options["root_packages"]
    return grimp.build_graph(*packages, include_external_packages=True, cache_dir=None)


def is_kept(contract: str, imports: grimp.ImportGraph) -> bool:
    options = CONTRACTS[contract]
    checker = TYPES[options["type"]](
        name=contract, session_options=OPTIONS.session_options, contract_options=options
    )
    return checker.check(deepcopy(imports), verbose=False).kept


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_contract_holds(contract: str, imports: grimp.ImportGraph) -> None:
    assert is_kept(contract, imports)


@pytest.mark.parametrize(("importer", "imported", "beginning"), BREACHES)
def test_a_breach_is_noticed(
    importer: str, imported: str, beginning: str, imports: grimp.ImportGraph
) -> None:
    (contract,) = [name for name in CONTRACTS if name.startswith(beginning)]
    assert importer in imports.modules
    broken = deepcopy(imports)
    broken.add_import(importer=importer, imported=imported)
    assert not is_kept(contract, broken)


def test_every_contract_has_a_breach() -> None:
    beginnings = [beginning for _, _, beginning in BREACHES]
    assert [name for name in CONTRACTS if not name.startswith(tuple(beginnings))] == []
