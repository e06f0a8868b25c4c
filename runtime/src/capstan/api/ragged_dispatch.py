"""The functions of `tf` that also take ragged tensors (python/ops/ragged/ragged_dispatch.py).

`tf` has these functions in the place of those that they call for tensors. Other modules of
`capstan.api` call the functions for tensors.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from capstan import errors
from capstan.api import (
    arrangement_ops,
    array_ops,
    bitwise_ops,
    check_ops,
    clip_ops,
    complex_ops,
    creation_ops,
    deprecation,
    gather_ops,
    logic_ops,
    math_ops,
    nd_ops,
    parsing_ops,
    reduce_ops,
    segment_ops,
    special_ops,
    string_ops,
)
from capstan.api.ragged import (
    arrays,
    broadcast,
    choice,
    gather,
    joining,
    masking,
    operand,
    partition,
    segments,
    shape,
    subscript,
    tensor,
    value,
)
from capstan.core import dtypes
from capstan.framework import graph as graphs

Function = Callable[..., Any]
_RAGGED: Final = (tensor.RaggedTensor, value.RaggedTensorValue)


def _is_ragged(given: Any) -> bool:
    """Return whether an argument is ragged, or is a list with a ragged element."""
    if isinstance(given, list | tuple):
        return any(isinstance(each, _RAGGED) for each in given)
    return isinstance(given, _RAGGED)


def _with(function: Function, ragged: Function, *names: str) -> Function:
    """Return a function that calls `ragged` if one of the named arguments is ragged.

    Both functions have the same arguments.
    """
    places = {name: index for index, name in enumerate(inspect.signature(function).parameters)}
    indices = [(places[name], name) for name in names]

    @functools.wraps(function)
    def dispatched(*args: Any, **kwargs: Any) -> Any:
        for index, name in indices:
            given = args[index] if index < len(args) else kwargs.get(name)
            if _is_ragged(given):
                return ragged(*args, **kwargs)
        return function(*args, **kwargs)

    return dispatched


def _split(
    names: tuple[str, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[list[Any], tuple[Any, ...], dict[str, Any]]:
    """Return the values of the first arguments, and the other arguments."""
    rest = dict(kwargs)
    first = [
        args[index] if index < len(args) else rest.pop(name, None)
        for index, name in enumerate(names)
    ]
    return first, args[len(names) :], rest


def _unary(function: Function) -> Function:
    """Return a function that maps the flat values of its first argument."""
    (name, *_) = inspect.signature(function).parameters

    def mapped(*args: Any, **kwargs: Any) -> Any:
        (x,), more, named = _split((name,), args, kwargs)
        x = tensor.converted(x)
        return x.with_flat_values(function(x.flat_values, *more, **named))

    return _with(function, mapped, name)


def _of_list(function: Function) -> Function:
    """Return a function that maps the flat values of the tensors in its first argument."""
    (name, *_) = inspect.signature(function).parameters

    def mapped(*args: Any, **kwargs: Any) -> Any:
        (given,), more, named = _split((name,), args, kwargs)
        parts = [tensor.converted(each) if _is_ragged(each) else each for each in given]
        ragged = [each for each in parts if isinstance(each, tensor.RaggedTensor)]
        tensor.matched(*ragged)
        nested = [each.nested_row_splits for each in ragged]
        flat = [getattr(each, "flat_values", each) for each in parts]
        with graphs.get_default_graph().control_dependencies(partition.assert_equal_splits(nested)):
            return tensor.rows_of(function(flat, *more, **named), *nested[0])

    return _with(function, mapped, name)


def _binary(function: Function) -> Function:
    """Return a function that maps the flat values of its first two arguments, which broadcast."""
    first, second, *_ = inspect.signature(function).parameters

    def mapped(*args: Any, **kwargs: Any) -> Any:
        (x, y), more, named = _split((first, second), args, kwargs)
        x, y = _pair(x, y, first, second)
        if all(isinstance(each, tensor.RaggedTensor) for each in (x, y)):
            _check_counts(x, y)
        flat = [getattr(each, "flat_values", each) for each in (x, y)]
        rows = x if isinstance(x, tensor.RaggedTensor) else y
        return rows.with_flat_values(function(*flat, *more, **named))

    return _with(function, mapped, first, second)


def _check_counts(x: tensor.RaggedTensor, y: tensor.RaggedTensor) -> None:
    """Raise the error of the step, if it is known already that the rows differ."""
    counts = [each.flat_values.shape[:1] for each in (x, y)]
    if not counts[0].is_compatible_with(counts[1]):
        raise errors.InvalidArgumentError(
            None,
            None,
            "Unable to broadcast: the rows of the ragged tensors have different lengths, "
            f"{counts[0][0]} and {counts[1][0]} elements in all",
        )


def _pair(x: Any, y: Any, x_name: str, y_name: str) -> tuple[Any, Any]:
    """Return two arguments as tensors whose ragged axes have the same rows."""
    x_is_ragged, y_is_ragged = _is_ragged(x), _is_ragged(y)
    kind = dtypes.as_dtype((x if x_is_ragged else y).dtype)
    x = tensor.converted(x, preferred_dtype=kind, name=x_name)
    y = tensor.converted(y, preferred_dtype=kind, name=y_name)
    tensor.matched(x, y)
    if x_is_ragged and y_is_ragged:
        if _have_same_rows(x, y):
            return x, y
    elif _fits_values(*(x, y) if x_is_ragged else (y, x)):
        return x, y
    sizes = shape.RaggedTensorDynamicShape.from_tensor
    both = shape.broadcast_dynamic_shape(sizes(x), sizes(y))
    x = broadcast.broadcast_to(x, both, broadcast_inner_dimensions=False)
    return x, broadcast.broadcast_to(y, both, broadcast_inner_dimensions=False)


def _fits_values(ragged: tensor.RaggedTensor, other: Any) -> bool:
    """Return whether a tensor broadcasts to each flat value, and need not be divided into rows."""
    rank, flat_rank = other.shape.ndims, ragged.flat_values.shape.ndims
    return rank == 0 or (None not in (rank, flat_rank) and rank < flat_rank)


def _have_same_rows(x: tensor.RaggedTensor, y: tensor.RaggedTensor) -> bool:
    """Return whether two ragged tensors are known to have the same rows, as `rt * 2 + rt` has."""
    one, other = x.nested_row_splits, y.nested_row_splits
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


def _reduction(function: Function, ragged: Function) -> Function:
    def reduced(
        input_tensor: Any,
        axis: Any = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: bool | None = None,
    ) -> Any:
        lookup = deprecation.deprecated_argument_lookup
        axis = lookup("axis", axis, "reduction_indices", reduction_indices)
        keeps = lookup("keepdims", keepdims, "keep_dims", keep_dims)
        return ragged(input_tensor, axis, keeps, name)

    return _with(function, reduced, "input_tensor")


def _reduce_join(
    inputs: Any,
    axis: Any = None,
    keep_dims: bool | None = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: Any = None,
    keepdims: bool | None = None,
) -> Any:
    def joined(data: Any, axis: Any, name: str | None = None) -> Any:
        return string_ops.reduce_join(data, axis, separator=separator, name=name)

    def joined_segments(data: Any, segment_ids: Any, num_segments: Any) -> Any:
        return string_ops.unsorted_segment_join(data, segment_ids, num_segments, separator)

    keeps = keep_dims if keepdims is None else keepdims
    axis = reduction_indices if axis is None else axis
    name = name or "RaggedSegmentJoin"
    return segments.reduced(joined, joined_segments, inputs, axis, keeps, name)


def _expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Any:
    return arrays.expand_dims(input, axis if dim is None else dim, name)


def _size(input: Any, name: str | None = None, out_type: Any = dtypes.int32) -> Any:
    return arrays.size(input, out_type, name)


_UNARY: Final = (
    *(array_ops.identity, creation_ops.ones_like, creation_ops.zeros_like),
    *(check_ops.check_numerics, clip_ops.clip_by_value, bitwise_ops.invert),
    *(complex_ops.angle, complex_ops.conj, complex_ops.imag, complex_ops.real),
    *(logic_ops.is_finite, logic_ops.is_inf, logic_ops.is_nan, logic_ops.logical_not),
    *(math_ops.abs, math_ops.cast, math_ops.ceil, math_ops.cos, math_ops.exp, math_ops.floor),
    *(math_ops.log, math_ops.log1p, math_ops.log_sigmoid, math_ops.negative, math_ops.reciprocal),
    *(math_ops.round, math_ops.rsqrt, math_ops.saturate_cast, math_ops.sign, math_ops.sin),
    *(math_ops.sqrt, math_ops.square, special_ops.acos, special_ops.acosh, special_ops.asin),
    *(special_ops.asinh, special_ops.atan, special_ops.atanh, special_ops.cosh),
    *(special_ops.digamma, special_ops.erf, special_ops.erfc, special_ops.expm1),
    *(special_ops.lgamma, special_ops.rint, special_ops.sinh, special_ops.tan),
    *(complex_ops.to_complex64, complex_ops.to_complex128, math_ops.to_bfloat16),
    *(math_ops.to_double, math_ops.to_float, math_ops.to_int32, math_ops.to_int64),
    *(parsing_ops.decode_base64, parsing_ops.decode_compressed, parsing_ops.encode_base64),
    *(parsing_ops.string_to_number, string_ops.as_string, string_ops.regex_full_match),
    *(string_ops.regex_replace, string_ops.string_length, string_ops.string_strip),
    *(string_ops.string_to_hash_bucket, string_ops.string_to_hash_bucket_fast),
    *(string_ops.string_to_hash_bucket_strong, string_ops.substr),
)
_LISTS: Final = (math_ops.add_n, string_ops.string_join)
_BINARY: Final = (
    *(bitwise_ops.bitwise_and, bitwise_ops.bitwise_or, bitwise_ops.bitwise_xor),
    *(bitwise_ops.left_shift, bitwise_ops.right_shift, complex_ops.complex),
    *(logic_ops.equal, logic_ops.greater, logic_ops.greater_equal, logic_ops.less),
    *(logic_ops.less_equal, logic_ops.logical_and, logic_ops.logical_or, logic_ops.logical_xor),
    *(logic_ops.not_equal, math_ops.add, math_ops.div_no_nan, math_ops.divide, math_ops.floordiv),
    *(math_ops.floormod, math_ops.maximum, math_ops.minimum, math_ops.multiply, math_ops.pow),
    *(math_ops.realdiv, math_ops.squared_difference, math_ops.subtract, math_ops.truediv),
    *(math_ops.truncatediv, math_ops.truncatemod, special_ops.atan2),
)
_SEGMENTS: Final = (
    (gather_ops.unsorted_segment_sum, segments.segment_sum),
    (segment_ops.unsorted_segment_max, segments.segment_max),
    (segment_ops.unsorted_segment_mean, segments.segment_mean),
    (segment_ops.unsorted_segment_min, segments.segment_min),
    (segment_ops.unsorted_segment_prod, segments.segment_prod),
    (segment_ops.unsorted_segment_sqrt_n, segments.segment_sqrt_n),
)
_REDUCTIONS: Final = (
    (reduce_ops.reduce_all, segments.reduce_all),
    (reduce_ops.reduce_any, segments.reduce_any),
    (reduce_ops.reduce_max, segments.reduce_max),
    (reduce_ops.reduce_mean, segments.reduce_mean),
    (reduce_ops.reduce_min, segments.reduce_min),
    (reduce_ops.reduce_prod, segments.reduce_prod),
    (reduce_ops.reduce_sum, segments.reduce_sum),
)
_OTHERS: Final = (
    (arrangement_ops.batch_gather, gather.batch_gather, ("params", "indices")),
    (array_ops.concat, joining.concat, ("values",)),
    (array_ops.expand_dims, _expand_dims, ("input",)),
    (array_ops.rank, arrays.rank, ("input",)),
    (array_ops.size, _size, ("input",)),
    (array_ops.squeeze, arrays.squeeze, ("input",)),
    (array_ops.stack, joining.stack, ("values",)),
    (array_ops.tile, arrays.tile, ("input",)),
    (creation_ops.one_hot, arrays.one_hot, ("indices",)),
    (gather_ops.gather, gather.gather, ("params", "indices")),
    (gather_ops.where, choice.where, ("condition", "x", "y")),
    (nd_ops.gather_nd, gather.gather_nd, ("params", "indices")),
    (segment_ops.dynamic_partition, masking.dynamic_partition, ("data", "partitions")),
    (string_ops.reduce_join, _reduce_join, ("inputs",)),
)
_FUNCTIONS: Final[Mapping[Function, Function]] = MappingProxyType(
    {
        **{function: _unary(function) for function in _UNARY},
        **{function: _of_list(function) for function in _LISTS},
        **{function: _binary(function) for function in _BINARY},
        **{
            function: _with(function, ragged, "data", "segment_ids")
            for function, ragged in _SEGMENTS
        },
        **{function: _reduction(function, ragged) for function, ragged in _REDUCTIONS},
        **{function: _with(function, ragged, *names) for function, ragged, names in _OTHERS},
    }
)
"""The functions for tensors, with those that also take ragged tensors."""


def of(function: Function) -> Function:
    """Return the function that also takes ragged tensors, and is `function` for tensors."""
    return _FUNCTIONS[function]


def overrides(namespace: Mapping[str, Any]) -> dict[str, Function]:
    """Return the names whose functions also take ragged tensors, with these functions."""
    functions = {name: each for name, each in namespace.items() if inspect.isfunction(each)}
    return {name: of(each) for name, each in functions.items() if each in _FUNCTIONS}


regex_full_match = of(string_ops.regex_full_match)

operand.bind(
    {
        **{
            function.__name__: of(function)
            for function in (
                *(math_ops.abs, math_ops.add, math_ops.floordiv, math_ops.floormod),
                *(math_ops.multiply, math_ops.negative, math_ops.pow, math_ops.subtract),
                *(math_ops.truediv, logic_ops.greater, logic_ops.greater_equal, logic_ops.less),
                *(logic_ops.less_equal, logic_ops.logical_and, logic_ops.logical_not),
                *(logic_ops.logical_or, logic_ops.logical_xor),
            )
        },
        "item": subscript.item,
    }
)
