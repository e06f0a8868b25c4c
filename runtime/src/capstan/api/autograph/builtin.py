"""Python's built-in functions on tensors, for converted functions
(python/autograph/operators/py_builtins.py)."""

import builtins
import sys
from collections.abc import Callable, Mapping
from typing import Any

from capstan.api import control_flow_ops, math_ops, printing
from capstan.api.autograph import state
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw
from capstan.framework.tensor_array import TensorArray


def abs_(x: Any) -> Any:
    return math_ops.abs(x) if state.is_tensor(x) else builtins.abs(x)


def float_(x: Any = 0) -> Any:
    return _number(x, dtypes.float32) if state.is_tensor(x) else builtins.float(x)


def int_(x: Any = 0, *base: Any, **named: Any) -> Any:
    if state.is_tensor(x):
        return _number(x, dtypes.int32)
    return builtins.int(x, *base, **named)


def _number(x: Any, dtype: dtypes.DType) -> Any:
    tensor = convert.convert_to_tensor(x)
    if tensor.dtype.base_dtype is dtypes.string:
        return raw.StringToNumber(tensor, out_type=dtype)
    return math_ops.cast(tensor, dtype)


def bool_(x: Any = False) -> Any:
    return math_ops.cast(x, dtypes.bool_) if state.is_tensor(x) else builtins.bool(x)


def len_(x: Any) -> Any:
    """Return the number of elements along axis 0, as a number of Python if it is known.

    Raises:
        ValueError: `x` is a scalar tensor.
    """
    if isinstance(x, TensorArray):
        return x.size()
    if not state.is_tensor(x):
        return builtins.len(x)
    tensor = convert.convert_to_tensor(x)
    shape = tensor.shape.as_list() if tensor.shape.ndims is not None else None
    if shape == []:
        raise ValueError(f"len requires a non-scalar tensor, got one of shape {tensor.shape}")
    if shape is not None and shape[0] is not None:
        return shape[0]
    return raw.Shape(tensor)[0]


def print_(*values: Any, **options: Any) -> Any:
    """Print tensors in each step, and other values while the graph is built.

    Raises:
        ValueError: an option is unknown.
    """
    if not any(map(_is_symbolic, values)):
        return builtins.print(*values, **options)  # noqa: T201 - the call of the program
    unknown = set(options) - {"sep", "end", "file", "flush"}
    if unknown:
        raise ValueError(f"invalid keyword arguments: {sorted(unknown)}")
    kept: dict[str, Any] = {name: options[name] for name in ("sep", "end") if name in options}
    kept["output_stream"] = options.get("file") or sys.stdout
    return printing.print(*values, **kept)


def _is_symbolic(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_is_symbolic, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_is_symbolic, value))
    return state.is_tensor(value)


def range_(*bounds: Any) -> Any:
    """Return the numbers as a tensor if a bound is a tensor."""
    if not any(map(state.is_tensor, bounds)):
        return builtins.range(*bounds)
    if len(bounds) > 2:
        return math_ops.range(*bounds)
    # As in Python, no numbers are between a bound and a smaller one.
    start, stop = bounds if len(bounds) == 2 else (0, bounds[0])
    return math_ops.range(start, math_ops.maximum(start, stop))


def _is_dataset(value: Any) -> bool:
    return state.has(value, "_dataset_spec")


def enumerate_(iterable: Any, start: Any = 0) -> Any:
    if _is_dataset(iterable):
        return iterable.enumerate(start)
    return builtins.enumerate(iterable, start)


def zip_(*iterated: Any, **options: Any) -> Any:
    if iterated and all(_is_dataset(each) for each in iterated):
        return type(iterated[0]).zip(iterated)
    return builtins.zip(*iterated, **options)  # noqa: B905 - the program chooses


def map_(function: Callable[..., Any], *iterated: Any) -> Any:
    if len(iterated) == 1 and _is_dataset(iterated[0]):
        return iterated[0].map(function)
    return builtins.map(function, *iterated)


def filter_(function: Any, iterated: Any) -> Any:
    if _is_dataset(iterated):
        return iterated.filter(function)
    return builtins.filter(function, iterated)


def any_(iterated: Any) -> Any:
    return raw.Any(iterated, 0) if state.is_tensor(iterated) else builtins.any(iterated)


def all_(iterated: Any) -> Any:
    return raw.All(iterated, 0) if state.is_tensor(iterated) else builtins.all(iterated)


def assert_stmt(test: Any, message: Callable[[], Any]) -> None:
    """Check `test`. If it is a tensor, the step that runs the assertion fails.

    Raises:
        AssertionError: `test` is not a tensor, and is false.
    """
    if not state.is_tensor(test):
        if not test:
            text = message()
            raise AssertionError(*([] if text is None else [text]))
        return
    text = message()
    control_flow_ops.Assert(
        test, [convert.convert_to_tensor("Assertion error" if text is None else text)]
    )


TABLE: dict[Any, Callable[..., Any]] = {
    abs: abs_,
    all: all_,
    any: any_,
    bool: bool_,
    enumerate: enumerate_,
    filter: filter_,
    float: float_,
    int: int_,
    len: len_,
    map: map_,
    print: print_,
    range: range_,
    zip: zip_,
}
"""The function of this module for each built-in function."""
