"""Numbers and texts that workers may send, good and bad, as they are written in a body."""

import json
import unicodedata

from hypothesis import strategies as st

LARGEST = 1e100  # of a value
HALF_PAIR = "\ud800"
# Embeddings, overrides and isolates; marks, which only attach to a character, are text.
CHANGES_OF_DIRECTION = {*"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"}
NUL = "\x00"
# As they stand in a body; Python's own JSON would write none of them.
NOT_NUMBERS = [
    *(
        "NaN",
        "Infinity",
        "-Infinity",
        "1e309",
        "1e308",
        "-1.1e100",
        "1" + "0" * 400,
        "-1" + "0" * 400,
    ),
    *("true", "null", '"1.5"', '""', "[]", "[1.5]", "{}", '"NaN"', '"\\ud800"'),
]
NOT_JSON = [
    "01",
    "1.",
    ".5",
    "+1",
    "0x10",
    "1_000",
    "1,5",
    "",
    "nan",
    "None",
    "1e",
    "--1",
    "1" + "0" * 5000,
]
NUMBERS = [
    *(
        "0",
        "-0",
        "-0.0",
        "5e-324",
        "-5e-324",
        "2.2250738585072014e-308",
        "1e-400",
        "1e100",
        "-1e100",
        "1e23",
    ),
    *(
        "0.1",
        "1E2",
        str(2**53 + 1),
        "1234567890123456789",
        "1.2345678901234567e18",
        "1" + "0" * 100,
    ),
]
ANY_NUMBER_TEXT = (
    st.sampled_from([*NOT_NUMBERS, *NOT_JSON, *NUMBERS])
    | st.floats().map(json.dumps)
    | st.integers().map(str)
)
ODD_TEXTS = [
    *(
        "e\u0301",
        "\u00e9",
        "\u202eabc",
        "👩\u200d👧",
        "\ufeff",
        "a" * 200,
        "a" * 201,
        "ß" * 200,
    ),
    *(
        NUL,
        f"a{NUL}",
        HALF_PAIR,
        "\udfff\ud800",
        " ",
        "\n",
        "\u2028",
        "\U0010ffff",
        "\\u0000",
    ),
    *("'; DROP TABLE jobs; --", "%s", "{0}", "*"),
]
ANY_TEXT = st.sampled_from(ODD_TEXTS) | st.text(max_size=250)


def is_value(text: str) -> bool:
    """Whether this can be told, by a rule that is independent of the server's."""
    try:
        value = json.loads(text)
    except ValueError:
        return False
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and -LARGEST <= value <= LARGEST


def is_storable(text: str) -> bool:
    """No database stores a NUL, or half a surrogate pair."""
    return NUL not in text and text == as_stored(text)


def is_plain(text: str) -> bool:
    """Without control characters, line separators and changes of direction."""
    kinds = {unicodedata.category(character) for character in text}
    return not kinds & {"Cc", "Zl", "Zp"} and not set(text) & CHANGES_OF_DIRECTION


def as_stored(text: str) -> str:
    """With replacements for what no database stores."""
    return text.replace(NUL, "\ufffd").encode(errors="replace").decode()
