"""Evaluates tensors of a graph node by node, directly from rows and kernels, without a session.

It also checks every op against its row: each output has the dtype that the row declares, its shape
is compatible with the result of the shape rule, and no kernel writes to its inputs.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import capstan.kernels  # noqa: F401 - registers the kernels
from capstan.api import creation_ops
from capstan.core import dtypes, shapes
from capstan.framework import opdef
from capstan.kernels import registry
from capstan.resources import containers, variable


class Interpreter:
    """The state and the kernels of one task. `with_buffers` calls kernels with `out=` arguments."""

    def __init__(self, *, with_buffers: bool = False) -> None:
        self.resources = containers.ResourceManager()
        self.with_buffers = with_buffers
        self._functions: dict[Any, tuple[registry.Kernel, registry.Function]] = {}

    def run(self, fetches: Any, feeds: Mapping[Any, Any] | None = None) -> Any:
        """Run one step. Return the value of a tensor or operation, or a list of values."""
        known = {
            tensor: np.asarray(value, tensor.dtype.as_numpy_dtype)
            for tensor, value in (feeds or {}).items()
        }
        with np.errstate(all="ignore"):
            if isinstance(fetches, list | tuple):
                return [self._fetch(fetch, known) for fetch in fetches]
            return self._fetch(fetches, known)

    def _fetch(self, fetch: Any, known: dict[Any, Any]) -> Any:
        if not hasattr(fetch, "op"):
            return self._operation(fetch, known)
        value = self._value(fetch, known)
        return value.read().copy() if isinstance(value, variable.Variable) else value

    def _value(self, tensor: Any, known: dict[Any, Any]) -> Any:
        if tensor not in known:
            self._operation(tensor.op, known)
        return known[tensor]

    def _operation(self, op: Any, known: dict[Any, Any]) -> None:
        if op in known:
            return
        for before in op.control_inputs:
            self._operation(before, known)
        inputs = [self._value(tensor, known) for tensor in op.inputs]
        known[op] = True
        if op.type == "Const":
            known[op.outputs[0]] = op.get_attr("value")
            return
        known.update(zip(op.outputs, self._call(op, inputs), strict=True))

    def _call(self, op: Any, inputs: Sequence[Any]) -> Sequence[Any]:
        row = opdef.lookup(op.type)
        declared = opdef.expand(row.input_arguments, op.node.attrs)
        arguments = [
            value.read() if isinstance(value, variable.Variable) and not takes_variable else value
            for value, takes_variable in zip(inputs, map(_takes_a_variable, declared), strict=True)
        ]
        kernel, function = self._functions.get(op) or self._make(op, declared)
        buffers = _buffers(op) if kernel.out and self.with_buffers else ()
        before = [_copy(value) for value in inputs]
        result = function(*arguments, *buffers)
        for value, copy in zip(inputs, before, strict=True):
            if isinstance(value, np.ndarray):
                np.testing.assert_array_equal(value, copy, f"{op.type} wrote to its input")
        results = result if isinstance(result, tuple) else () if result is None else (result,)
        assert len(results) == len(op.outputs), f"{op.type} returned {len(results)} values"
        if not kernel.alias:
            shared = [value for value in results if any(map(_shares(value), arguments))]
            assert not shared, f"{op.type} returned its input, and its row does not say alias"
        for tensor, value, buffer in zip(op.outputs, results, buffers or results, strict=True):
            assert value is buffer, f"{op.type} did not return its buffer"
            _check(op, tensor, value)
        return results

    def _make(self, op: Any, declared: Any) -> tuple[registry.Kernel, registry.Function]:
        kernel = registry.require(op.type, "CPU", op.node.attrs, op.name)
        constants = {
            index: tensor.op.get_attr("value")
            for index, tensor in enumerate(op.inputs)
            if tensor.op.type == "Const"
        }
        context = registry.NodeContext(
            name=op.name,
            op=op.type,
            device="/device:CPU:0",
            attrs=op.node.attrs,
            input_dtypes=[dtype for dtype, _ in declared],
            input_shapes=[tensor.static_shape for tensor in op.inputs],
            output_dtypes=[tensor.dtype.base_dtype for tensor in op.outputs],
            output_shapes=[tensor.static_shape for tensor in op.outputs],
            resources=self.resources.for_session(),
            constants=constants,
        )
        self._functions[op] = kernel, kernel.bind(context)
        return self._functions[op]


def _takes_a_variable(argument: tuple[dtypes.DType, bool]) -> bool:
    dtype, is_ref = argument
    return is_ref or dtype is dtypes.resource


def _shares(value: Any) -> Callable[[Any], bool]:
    """Return a function that returns whether an array shares memory with `value`."""
    return lambda other: (
        isinstance(value, np.ndarray)
        and isinstance(other, np.ndarray)
        and np.may_share_memory(value, other)
    )


def _copy(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else None


def _buffers(op: Any) -> tuple[Any, ...]:
    """Return memory for the outputs, filled with wrong values, or () if a shape is unknown."""
    plannable = all(
        shapes.is_fully_defined(tensor.static_shape)
        and tensor.dtype not in (dtypes.string, dtypes.resource)
        for tensor in op.outputs
    )
    if not plannable:
        return ()
    buffers = [np.empty(tensor.static_shape, tensor.dtype.as_numpy_dtype) for tensor in op.outputs]
    for buffer in buffers:
        buffer.fill(np.nan if buffer.dtype.kind == "f" else 1)
    return tuple(buffers)


def _check(op: Any, tensor: Any, value: Any) -> None:
    if isinstance(value, variable.Variable):
        return
    assert isinstance(value, np.ndarray | np.generic), f"{op.type} returned {type(value)}"
    assert dtypes.as_dtype(value.dtype) is tensor.dtype.base_dtype, (
        f"{op.type} returned {value.dtype}"
    )
    assert shapes.is_compatible(tensor.static_shape, value.shape), (
        f"{op.type} returned {value.shape}, not {tensor.shape}"
    )


def run(fetches: Any, feeds: Any = None) -> Any:
    """Return the values of `fetches` in a new Interpreter."""
    return Interpreter().run(fetches, feeds)


def unknown(value: Any, shape: Any = None) -> tuple[Any, dict[Any, Any]]:
    """Return a placeholder with `shape`, and the feed that gives it `value`."""
    array = np.asarray(value)
    tensor = creation_ops.placeholder(dtypes.as_dtype(array.dtype), shape)
    return tensor, {tensor: array}
