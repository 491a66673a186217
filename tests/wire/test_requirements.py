import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoise.wire.requirements.check import check_requirement
from counterpoise.wire.requirements.parser import (
    MOST_DEPTH,
    MOST_NODES,
    parse_requirement,
)
from counterpoise.wire.requirements.tokens import MOST_CHARACTERS, RequirementInvalid
from counterpoise.wire.requirements.tree import (
    Call,
    Name,
    Negation,
    Number,
    Operation,
)

VARIABLES = {"x1": True, "span": True, "x-2": True, "material": False}


def refusal(text: str) -> RequirementInvalid:
    with pytest.raises(RequirementInvalid) as error:
        check_requirement(text, VARIABLES)
    return error.value


def test_products_bind_more_than_sums_and_powers_more_than_signs() -> None:
    requirement = parse_requirement("1 - 2 * a - -b ** 2 <= 3")
    product = Operation("*", Number(2.0), Name("a", 9))
    power = Operation("**", Name("b", 14), Number(2.0))
    left = Operation("-", Operation("-", Number(1.0), product), Negation(power))
    assert requirement.operands == (left, Number(3.0))
    assert requirement.operators == ("<=",)


def test_powers_group_from_the_right() -> None:
    left, _ = parse_requirement("a ** 2 ** 3 > 0").operands
    inner = Operation("**", Number(2.0), Number(3.0))
    assert left == Operation("**", Name("a", 1), inner)


def test_chains_and_functions() -> None:
    requirement = parse_requirement("0 < max(a, .5e1) <= sqrt(b)")
    maximum = Call("max", (Name("a", 9), Number(5.0)))
    root = Call("sqrt", (Name("b", 26),))
    assert requirement.operands == (Number(0.0), maximum, root)
    assert requirement.operators == ("<", "<=")
    assert [name.name for name in requirement.names] == ["a", "b"]


def test_backquotes_enclose_names_that_look_like_a_difference() -> None:
    check_requirement("`x-2` + x1 <= 1", VARIABLES)


@pytest.mark.parametrize(
    ("text", "position", "word"),
    [
        ("", 1, "missing"),
        ("x1 + 2", 7, "nothing to compare"),
        ("x1 + <= 1", 6, "'<='"),
        ("x1 2 <= 1", 4, "operator"),
        ("(x1 <= 1", 5, "')'"),
        ("x1 <= 1)", 8, "')'"),
        ("x1 = 1", 4, "equality"),
        ("x1 == 1", 4, "tolerance"),
        ("x1 != 1", 4, "!="),
        ("x1 ^ 2 <= 1", 4, "**"),
        ("x1 <= 1 & span <= 2", 9, "two requirements"),
        ("x1 ≤ 1", 4, "<="),
        ("x1 <= 'a'", 7, "numbers"),
        ("`x1 <= 1", 1, "backquote"),
        ("x1 <= 1e999", 7, "too large"),
        ("sin(x1, 2) <= 1", 1, "1 argument"),
        ("min(x1) <= 1", 1, "2 to 20"),
        ("sqr(x1) <= 1", 1, "'sqrt'"),
        ("spam <= 1", 1, "'span'"),
        ("x - 2 <= 1", 1, "x-2"),
        ("material <= 1", 1, "texts"),
        ("1 <= 2", 1, "no variable"),
        ("__import__('os') <= 1", 1, "no meaning"),
        ("x1.__class__ <= 1", 1, "no variable"),
    ],
)
def test_a_fault_has_a_position(text: str, position: int, word: str) -> None:
    error = refusal(text)
    assert error.position == position
    assert word in error.detail


def test_limits_of_length_size_and_depth() -> None:
    assert refusal("x1 <= " + "1" * MOST_CHARACTERS).position == MOST_CHARACTERS + 1
    deep = MOST_DEPTH - 1
    parse_requirement("(" * deep + "a" + ")" * deep + "<=1")
    with pytest.raises(RequirementInvalid, match="deep"):
        parse_requirement("(" * MOST_DEPTH + "a" + ")" * MOST_DEPTH + "<=1")
    with pytest.raises(RequirementInvalid, match="deep"):
        parse_requirement("-" * MOST_DEPTH + "a<=1")
    terms = MOST_NODES // 2
    parse_requirement("+".join("a" * terms) + "<b")
    with pytest.raises(RequirementInvalid, match="more than"):
        parse_requirement("+".join("a" * (terms + 1)) + "<b")


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.text("ax1.e+-*/()<=>,` \t≤sinmaxlog", max_size=60) | st.text(max_size=40))
def test_any_text_is_a_requirement_or_refused_at_a_position_in_it(text: str) -> None:
    position = position_of_fault(text)
    assert position is None or 1 <= position <= len(text) + 1


def position_of_fault(text: str) -> int | None:
    try:
        requirement = parse_requirement(text)
    except RequirementInvalid as error:
        return error.position
    assert len(requirement.operands) == len(requirement.operators) + 1
    return None
