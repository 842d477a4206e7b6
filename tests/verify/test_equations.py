from fractions import Fraction

import pytest

from moet.errors import InputError
from moet.verify.systems.conditions import HalfSpace, half_spaces
from moet.verify.systems.equations import Algebra, Expression

FRACTIONS = Algebra(
    constant=lambda value: value,
    functions={
        "abs": abs,
        "min": min,
        "max": max,
        "choose": lambda left, right, then, otherwise: then if left <= right else otherwise,
    },
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1 + x", Fraction(1, 10) + 3),
        ("-x**2 / 7", Fraction(-9, 7)),
        ("+1e-3 * x", Fraction(3, 1000)),
        ("max(x, 5) - min(x, 1) + abs(-x)", Fraction(7)),
        ("1 if x <= 3 else 2", Fraction(1)),
        ("1 if x <= 2.5 else 2", Fraction(2)),
    ],
)
def test_numbers_mean_what_is_written(text: str, value: Fraction) -> None:
    assert Expression(text, {"x"}).value({"x": Fraction(3)}, FRACTIONS) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x +",
        "y",
        "x.real",
        "x[0]",
        "__import__('os')",
        "lambda: x",
        "x ** -1",
        "x ** 0.5",
        "x ** 17",
        "min(x)",
        "log(x)",
        "x < 1",
        "1 if x < 2 else 3",
        "1j",
        "True",
        "'a'",
        "0x10",
        "f(x=1)",
        "sin(*x)",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        Expression(text, {"x"})


def test_conditions_become_half_spaces() -> None:
    spaces = half_spaces(["-0.1 <= a <= 2", "2 * (a - b) / 4 >= 1 + a"], ["a", "b"])
    half = Fraction(1, 2)
    assert spaces == (
        HalfSpace((-1, 0), Fraction(1, 10)),
        HalfSpace((1, 0), Fraction(2)),
        HalfSpace((half, half), Fraction(-1)),
    )


@pytest.mark.parametrize(
    "text", ["a", "a < 1", "a * b <= 1", "a**2 <= 1", "sin(a) <= 1", "1 / a <= 1", "c <= 1", "a <= 1/0"]
)
def test_other_conditions_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        half_spaces([text], ["a", "b"])


def test_one_string_is_not_a_list_of_conditions() -> None:
    with pytest.raises(InputError, match="list"):
        half_spaces("a <= 1", ["a"])  # type: ignore[arg-type]
