"""The public functions that pass their arguments on to one op take TensorFlow's parameters."""

import inspect
import types
from collections.abc import Iterator
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


SKIPPED = ("app", "compat", "estimator", "flags", "keras", "logging", "raw_ops")
"""Modules of other packages, and those that other tests compare."""

CHANGED = frozenset(
    (
        "config.experimental.set_virtual_device_configuration",
        "DType", "OptionalSpec", "RaggedTensor", "TensorArraySpec.is_compatible_with",
        "TensorSpec.is_compatible_with", "VariableScope.get_variable", "function",
        "distribute.experimental.MultiWorkerMirroredStrategy", "image.adjust_jpeg_quality",
        "linalg.LinearOperatorIdentity.add_to_tensor", "linalg.LinearOperatorZeros.add_to_tensor",
        "linalg.LinearOperatorScaledIdentity.add_to_tensor", "linalg.matmul", "matmul",
        "lookup.experimental.MutableHashTable.lookup", "manip.scatter_nd", "scatter_nd",
        "math.top_k", "nn.top_k", "nn.sigmoid_cross_entropy_with_logits",
        "nn.softmax_cross_entropy_with_logits", "nn.sparse_softmax_cross_entropy_with_logits",
        "no_regularizer", "numpy_function", "random.experimental.create_rng_state",
        "tensor_scatter_add", "tensor_scatter_nd_add", "tensor_scatter_nd_sub",
        "tensor_scatter_sub", "test.Benchmark.run_op_benchmark", "test.TestCase.assertProtoEquals",
        "test.TestCase.assertShapeEqual", "train.MonitoredSession.StepContext",
        "train.SingularMonitoredSession.StepContext",
    )
)  # fmt: skip
"""Functions whose parameters TensorFlow 2 has changed, or whose first parameter nobody names."""


def positional(function: Any) -> list[str] | None:
    """Return the parameters that may be given by position, or None if that is not known."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        return None
    if any(each.kind is each.VAR_POSITIONAL for each in parameters):
        return None
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [each.name for each in parameters if each.kind in kinds and each.name != "self"]


def pairs(expected: Any, found: Any, path: str, met: set[int]) -> Iterator[tuple[str, Any, Any]]:
    """Return the functions and methods that two modules both have, with their names."""
    for name, own in sorted(vars(expected).items()):
        other = None if name.startswith("_") or id(own) in met else getattr(found, name, None)
        if other is None or name in SKIPPED:
            continue
        met.add(id(own))
        if isinstance(own, types.ModuleType):
            yield from pairs(own, other, f"{path}{name}.", met)
        elif inspect.isclass(own) and inspect.isclass(other):
            yield path + name, own.__init__, other.__init__
            for method in dir(own):
                if not method.startswith("_") and hasattr(other, method):
                    yield f"{path}{name}.{method}", getattr(own, method), getattr(other, method)
        elif callable(own):
            yield path + name, own, other


def test_arguments_have_tensorflows_places(v1: Any) -> None:
    compared, wrong = 0, set()
    for name, own, other in pairs(v1, capstan, "", set()):
        expected, found = positional(own), positional(other)
        if expected is None or found is None:
            continue
        compared += 1
        count = min(len(expected), len(found))
        if expected[:count] != found[:count]:
            wrong.add(name)
    assert wrong - CHANGED == set()
    assert compared > 2000
