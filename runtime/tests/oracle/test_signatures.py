"""The public functions that pass their arguments on take TensorFlow's parameters."""

import inspect
from typing import Any

import genuine
import pytest

import capstan
from capstan.api import logic_ops, math_ops

pytestmark = genuine.MARKS

PLAIN = sorted(
    name
    for module in (math_ops, logic_ops)
    for name in module.__all__
    if getattr(module, name).__module__ == "capstan.api.plain"
)


def parameters(function: Any) -> list[tuple[str, bool]]:
    """Return the name of each parameter, and whether it has a default."""
    signature = inspect.signature(function)
    return [
        (name, parameter.default is not inspect.Parameter.empty)
        for name, parameter in signature.parameters.items()
    ]


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_function_has_tensorflows_parameters(v1: Any, name: str) -> None:
    function = getattr(capstan, name, None) or getattr(capstan.nn, name)
    expected = getattr(v1, name, None) or getattr(v1.math, name)
    assert parameters(function) == parameters(expected)


def test_there_are_plain_functions() -> None:
    assert {"add", "tanh", "logical_not"} <= set(PLAIN)
