"""The public functions that pass their arguments on to one op take TensorFlow's parameters."""

import inspect
from typing import Any

import genuine
import pytest

import capstan
from capstan.api import array_ops, creation_ops, gather_ops, logic_ops, math_ops, nn

pytestmark = genuine.MARKS

PLAIN = sorted(
    name
    for module in (array_ops, creation_ops, gather_ops, logic_ops, math_ops, nn)
    for name in module.__all__
    if getattr(getattr(module, name), "__module__", None) == "capstan.api.plain"
)


def parameters(function: Any) -> list[tuple[str, bool]]:
    """Return the name of each parameter, and whether it has a default.

    TensorFlow 1 has no parameter `layout`.
    """
    signature = inspect.signature(function)
    return [
        (name, parameter.default is not inspect.Parameter.empty)
        for name, parameter in signature.parameters.items()
        if name != "layout"
    ]


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_function_has_tensorflows_parameters(v1: Any, name: str) -> None:
    function = getattr(capstan, name, None) or getattr(capstan.nn, name)
    expected = getattr(v1, name, None) or getattr(v1.math, name, None) or getattr(v1.nn, name)
    assert parameters(function) == parameters(expected)


def test_there_are_plain_functions() -> None:
    assert {"add", "tanh", "logical_not"} <= set(PLAIN)


def test_no_name_of_tensorflow_is_taken_for_a_misspelling(v1: Any) -> None:
    """If a new name of Capstan resembles a missing name, add the latter to `absent._LACKED`."""
    for part in ("", "nn", "train", "losses", "metrics", "image", "summary", "io", "data", "test"):
        genuine_module = getattr(v1, part) if part else v1
        module = getattr(capstan, part) if part else capstan
        for name in dir(genuine_module):
            try:
                getattr(module, name)
            except AttributeError as error:
                assert "Did you mean" not in str(error), f"{part}.{name}"  # noqa: PT017
