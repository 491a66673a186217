from collections.abc import Iterator

import pytest

from tests.api.conftest import client, wing
from tests.reliability.elsewhere import Faults, killing

__all__ = ["client", "wing"]  # fixtures, as they are there
pytest.register_assert_rewrite("tests.reliability.machine", "tests.reliability.picture")


@pytest.fixture(scope="session")
def all_faults(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faults]:
    with killing(tmp_path_factory.mktemp("faults")) as faults:
        yield faults


@pytest.fixture
def faults(all_faults: Faults) -> Iterator[Faults]:
    yield all_faults
    all_faults.clear()
