"""Kernels of `PyFunc` and `EagerPyFunc`: they call a Python function of this process.

Sources: python/lib/core/py_func.cc, python/ops/script_ops.py.
"""

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import attr_value, dtypes
from capstan.core.arrays import Array
from capstan.framework import graph, literals
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import python_functions

Results = Callable[[str, Any, list[dtypes.DType]], tuple[Array, ...]]
"""Takes the token of a function, what it returned, and the expected types. Returns arrays."""

_ERRORS: tuple[tuple[type[BaseException], type[errors.OpError]], ...] = (
    (ValueError, errors.InvalidArgumentError),
    (TypeError, errors.InvalidArgumentError),
    (StopIteration, errors.OutOfRangeError),
    (MemoryError, errors.ResourceExhaustedError),
    (NotImplementedError, errors.UnimplementedError),
)


class EagerArray(np.ndarray[Any, Any]):
    """An array as a function of `py_function` gets it. It has the method of an eager tensor."""

    def numpy(self) -> Any:
        """Return the value as an array of NumPy, or as a scalar of NumPy, or as bytes."""
        return np.asarray(self)[()]


def _python_function(node: NodeContext) -> Function:
    return _caller(node, _argument, _results)


def _eager_function(node: NodeContext) -> Function:
    return _caller(node, _eager_argument, _converted)


def _caller(node: NodeContext, argument: Callable[[Any], Any], results: Results) -> Function:
    """Return the function that calls the Python function of a node.

    `argument` returns an input as the function gets it, and `results` returns its results as
    arrays.
    """
    token = attr_value.text(node.attrs["token"])
    expected = list(node.output_dtypes)

    def call(*inputs: Array) -> Any:
        registered = python_functions.FUNCTIONS.find(token)
        if registered is None:
            raise invalid(
                f"ValueError: Could not find callback with key={token} in the registry. A Python "
                "function runs only in the process that built the graph: place its node on the "
                "task of that process"
            )
        try:
            returned = registered.function(*map(argument, inputs))
        except Exception as fault:
            raise _error(fault) from fault
        try:
            arrays = results(token, returned, expected)
        except (TypeError, ValueError, IndexError) as fault:
            raise _error(fault) from fault
        return arrays[0] if len(arrays) == 1 else arrays

    return call


def _argument(value: Any) -> Any:
    """Return an input as the function gets it: a copy of an array, or a NumPy scalar."""
    array = np.asarray(value)
    return array[()] if array.ndim == 0 else array.copy()


def _eager_argument(value: Any) -> Any:
    return np.array(value).view(EagerArray)


def _error(fault: Exception) -> errors.OpError:
    """Return the error of a step whose function raised `fault`."""
    kind = next((ours for theirs, ours in _ERRORS if isinstance(fault, theirs)), None)
    lines = "".join(traceback.format_tb(fault.__traceback__))
    text = f"{type(fault).__name__}: {fault}\nTraceback (most recent call last):\n\n{lines}\n"
    return (kind or errors.UnknownError)(None, None, text)


def _results(token: str, returned: Any, expected: list[dtypes.DType]) -> tuple[Array, ...]:
    """Return the results of a function as arrays.

    Raises:
        InvalidArgumentError: the number of values or the type of a value is wrong.
        InternalError: a value is not an array.
    """
    if returned is None:
        returned = ()
    values = list(returned) if isinstance(returned, list | tuple) else [returned]
    if len(values) != len(expected):
        raise invalid(
            f"{token} returns {len(values)} values, but expects to see {len(expected)} values."
        )
    arrays = []
    for place, (value, dtype) in enumerate(zip(values, expected, strict=True)):
        array = _array(value)
        returned_dtype = dtypes.as_dtype(array.dtype)
        if returned_dtype is not dtype:
            raise invalid(
                f"{place}-th value returned by {token} is {dtypes.cpp_name(returned_dtype)}, but "
                f"expects {dtypes.cpp_name(dtype)}"
            )
        arrays.append(array)
    return tuple(arrays)


def _converted(token: str, returned: Any, expected: list[dtypes.DType]) -> tuple[Array, ...]:
    """Return the results of a function of `py_function` as new arrays of the expected types.

    Raises:
        InvalidArgumentError: a value is missing.
        IndexError: there is a value, and no type.
        TypeError, ValueError: a value does not fit its type, or is a tensor of a graph.
    """
    if returned is None:
        values = []
    elif isinstance(returned, list | tuple):
        values = list(returned)[: len(expected)]
    else:
        values, expected = [returned], [expected[0], *expected[1:]]
    if len(values) != len(expected):
        raise invalid(
            f"{token} returns {len(values)} values, but expects to see {len(expected)} values."
        )
    for value in values:
        if isinstance(value, graph.Tensor):
            raise TypeError(
                f"the function of py_function returned the tensor {value.name} of a graph. Return "
                "arrays: compute with NumPy, as Capstan has no eager operations"
            )
    # The function may write into its array again, for the next step.
    return tuple(array.copy() for array in map(literals.to_array, values, expected))


def _array(value: Any) -> Array:
    """Return a copy of a value, with text as bytes."""
    array = literals.native(np.array(value))
    if array.dtype.kind in "SU" or (array.dtype == object and _is_text(array)):
        encoded = [
            element.encode() if isinstance(element, str) else bytes(element)
            for element in np.array(value, object).ravel().tolist()
        ]
        strings = np.empty(len(encoded), object)
        strings[:] = encoded
        return strings.reshape(array.shape)
    if array.dtype.kind not in "biufcV":
        raise errors.InternalError(None, None, f"Unsupported object type {type(value).__name__}")
    return array


def _is_text(array: Array) -> bool:
    return all(isinstance(element, str | bytes) for element in array.ravel().tolist())


for _op in ("PyFunc", "PyFuncStateless"):
    register(Kernel(_op, _python_function, holds_thread=True))
register(Kernel("EagerPyFunc", _eager_function, holds_thread=True))
