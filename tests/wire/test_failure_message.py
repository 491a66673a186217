import pytest

from counterpoise.wire.failure_message import part, summary

TRACEBACK = "Traceback\n  File solver.py\nValueError: no mesh\n"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (TRACEBACK, "ValueError: no mesh"),
        (TRACEBACK + part("printed", "reading\n\n"), "ValueError: no mesh"),
        ("exit code 1" + part("end of stdout.txt", "x") + part("kept"), "exit code 1"),
        (part("printed", "only a log"), "only a log"),
        ("", ""),
    ],
)
def test_a_summary_is_the_last_line_before_the_logs(
    message: str, expected: str
) -> None:
    assert summary(message) == expected
