from collections.abc import Iterator

import pytest

from tests.api.conftest import client, wing
from tests.reliability.faults.fault_processes import FaultPoints, fault_points

__all__ = ["client", "wing"]  # fixtures of the API tests
pytest.register_assert_rewrite(
    "tests.reliability.machine", "tests.reliability.processes"
)


@pytest.fixture(scope="session")
def session_faults(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultPoints]:
    with fault_points(tmp_path_factory.mktemp("faults")) as faults:
        yield faults


@pytest.fixture
def faults(session_faults: FaultPoints) -> Iterator[FaultPoints]:
    yield session_faults
    session_faults.clear()
