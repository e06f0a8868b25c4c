"""`python.util.deprecation`: programs mark their own functions and arguments as deprecated."""

import logging
from typing import Any

import numpy as np
import pytest

from capstan.python.util import decorator_utils, deprecation

DATE, INSTEAD = "2020-07-04", "Use sum."


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [record.getMessage() for record in caplog.records]
    caplog.clear()
    return found


@pytest.fixture(autouse=True)
def _captured(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "capstan")


@deprecation.deprecated(DATE, INSTEAD)
def add(a: int, b: int = 0) -> int:
    """Add.

    Args: two numbers.
    """
    return a + b


def test_the_first_call_of_a_deprecated_function_warns(caplog: pytest.LogCaptureFixture) -> None:
    assert [add(1, 2), add(3, b=4)] == [3, 7]
    (message,) = messages(caplog)
    assert message.startswith(f"From {__file__}:")
    assert f"add (from {__name__}) is deprecated and will be removed after {DATE}." in message
    assert message.endswith(f"Instructions for updating:\n{INSTEAD}")
    assert add.__name__ == "add"
    assert add.__doc__ == (
        "Add. (deprecated)\n\n"
        f"Warning: THIS FUNCTION IS DEPRECATED. It will be removed after {DATE}.\n"
        f"Instructions for updating:\n{INSTEAD}\n\nArgs: two numbers."
    )


def test_each_call_warns_if_the_program_wants_so(caplog: pytest.LogCaptureFixture) -> None:
    always = deprecation.deprecated(None, INSTEAD, warn_once=False)(lambda: 1)
    assert always() + always() == 2
    assert ["in a future version" in each for each in messages(caplog)] == [True, True]
    assert always.__doc__.startswith("DEPRECATED FUNCTION\n\nWarning: THIS FUNCTION")


def test_only_deprecated_arguments_and_values_warn(caplog: pytest.LogCaptureFixture) -> None:
    @deprecation.deprecated_args(DATE, INSTEAD, "old", ("mode", "ok"), warn_once=False)
    def by_name(new: Any, old: Any = None, mode: Any = "ok") -> Any:
        return new, old, mode

    @deprecation.deprecated_arg_values(DATE, INSTEAD, False, flag=None)
    def by_value(flag: Any = None) -> Any:
        return flag

    assert by_name(1, mode="ok") == (1, None, "ok")
    assert by_value(2) == 2
    assert messages(caplog) == []
    assert by_name(1, 2, "bad") == (1, 2, "bad")
    assert ["with old is" in each or "with mode is" in each for each in messages(caplog)] == [
        True,
        True,
    ]
    array = np.zeros(2)
    assert by_name(1, old=array)[1] is array
    assert "with old is" in messages(caplog)[0]
    assert by_name(1, mode=array)[2] is array
    assert "with mode is" in messages(caplog)[0]
    assert by_value(array) is array
    assert messages(caplog) == []
    by_value()
    assert "with flag=None is deprecated" in messages(caplog)[0]


def test_an_array_is_the_value_that_may_be_or_is_deprecated(
    caplog: pytest.LogCaptureFixture,
) -> None:
    array = np.zeros(2)
    by_name = deprecation.deprecated_args(DATE, INSTEAD, ("mode", array))(lambda mode: mode)
    by_value = deprecation.deprecated_arg_values(DATE, INSTEAD, mode=array)(lambda mode: mode)
    assert by_name(array) is array
    assert messages(caplog) == []
    assert by_value(array) is array
    assert len(messages(caplog)) == 1


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: deprecation.deprecated("04-07-2020", INSTEAD), "YYYY-MM-DD"),
        (lambda: deprecation.deprecated(DATE, ""), "instructions"),
        (lambda: deprecation.deprecated(DATE, INSTEAD)(property(len)),
         "@property appears before @deprecated in your source code"),
        (lambda: deprecation.deprecated_args(DATE, INSTEAD), "which argument"),
        (lambda: deprecation.deprecated_args(DATE, INSTEAD, "c")(add), "not present"),
        (lambda: deprecation.deprecated_arg_values(DATE, INSTEAD), "which argument values"),
        (lambda: deprecation.deprecated_argument_lookup("a", 1, "b", 2), "both 'b' and 'a'"),
    ],
)  # fmt: skip
def test_a_wrong_deprecation_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_old_names_of_arguments_are_looked_up_and_renamed() -> None:
    assert deprecation.deprecated_argument_lookup("new", None, "old", 2) == 2
    assert deprecation.deprecated_argument_lookup("new", 1, "old", None) == 1
    doc = deprecation.rewrite_argument_docstring("`axis` is\n axis: a number", "axis", "dim")
    assert doc == "`dim` is\n dim: a number"
    assert decorator_utils.get_qualified_name(Exception.with_traceback).endswith("with_traceback")


def test_a_notice_names_the_deprecated_arguments_and_values() -> None:
    by_name = deprecation.deprecated_args(None, INSTEAD, "b", "a")(lambda a, b: None)
    assert by_name.__doc__ is not None
    assert by_name.__doc__.startswith(
        "DEPRECATED FUNCTION ARGUMENTS\n\nWarning: SOME ARGUMENTS ARE DEPRECATED: `(a, b)`. They"
    )
    by_value = deprecation.deprecated_arg_values(None, INSTEAD, flag=True)(lambda flag: None)
    assert by_value.__doc__ is not None
    assert "SOME ARGUMENT VALUES ARE DEPRECATED: `(flag=True)`. They" in by_value.__doc__
