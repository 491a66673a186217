"""Functions as files that other processes load."""

import threading
from pathlib import Path

import pytest

from counterpoise.local.sent_functions import reference_to
from counterpoise.worker.evaluators.function_process import find_function
from counterpoise.worker.evaluators.function_reference import FunctionUnusable


def test_functions_of_modules_are_referred_to(tmp_path: Path) -> None:
    reference = reference_to("mass", parse_int, tmp_path)
    assert (reference.module, reference.pickled) == (__name__, None)


def parse_int(x: dict[str, float]) -> float:
    return x["a"]


def test_lambdas_and_closures_are_written_to_a_file(tmp_path: Path) -> None:
    factor = 3
    reference = reference_to("mass", lambda x: factor * x["a"], tmp_path / "new")
    assert reference.pickled is not None
    function = find_function("", "", None, reference.pickled)
    assert function({"a": 2}) == 6


def test_what_cannot_be_sent_is_said_with_what_to_do(tmp_path: Path) -> None:
    lock = threading.Lock()

    def locked(x: dict[str, float]) -> float:
        with lock:
            return x["a"]

    with pytest.raises(FunctionUnusable, match=r"'mass'.*locked.*inside the function"):
        reference_to("mass", locked, tmp_path)
