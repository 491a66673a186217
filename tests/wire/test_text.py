import pytest

from counterpoise.wire.text import format_span, printable, visible, visible_json
from counterpoise.wire.work import matches


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (1.48e-05, "0.015 ms"),
        (0.25, "0.2 s"),
        (119, "119 s"),
        (120, "2 min"),
        (7199, "120 min"),
        (7200, "2.0 h"),
        (864_000, "10.0 days"),
    ],
)
def test_a_span_has_the_unit_that_suits_it(seconds: float, text: str) -> None:
    assert format_span(seconds) == text


def test_half_a_surrogate_pair_is_replaced() -> None:
    assert printable("a\ud800b") == "a?b"
    assert printable("α") == "α"


def test_visible_text_keeps_lines_and_has_no_escape_sequences() -> None:
    log = "\x1b[1;31mfailed\x1b[0m\r\n\tat α\x1b]0;title\x07\x07"
    assert visible(log) == "failed\n\tat α\ufffd"
    assert visible_json('"a\x9b"') == '"a\\u009b"'


def test_names_match_by_name_or_all() -> None:
    assert matches(["mass", "drag"], "drag")
    assert matches(["*"], "drag")
    assert not matches(["mass"], "drag")
