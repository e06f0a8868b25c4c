"""Kernels of `PyFunc`: they call a Python function of this process (py_func.cc)."""

import traceback
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import attr_value, dtypes
from capstan.core.arrays import Array
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import python_functions

_ERRORS: tuple[tuple[type[BaseException], type[errors.OpError]], ...] = (
    (ValueError, errors.InvalidArgumentError),
    (TypeError, errors.InvalidArgumentError),
    (StopIteration, errors.OutOfRangeError),
    (MemoryError, errors.ResourceExhaustedError),
    (NotImplementedError, errors.UnimplementedError),
)


def _python_function(node: NodeContext) -> Function:
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
            returned = registered.function(*map(_argument, inputs))
        except Exception as fault:
            raise _error(fault) from fault
        results = _results(token, returned, expected)
        return results[0] if len(results) == 1 else results

    return call


def _argument(value: Any) -> Any:
    """Return an input as the function gets it: a copy of an array, or a NumPy scalar."""
    array = np.asarray(value)
    return array[()] if array.ndim == 0 else array.copy()


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


def _array(value: Any) -> Array:
    """Return a copy of a value, with text as bytes."""
    array = np.array(value)
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
