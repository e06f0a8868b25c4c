"""The functions of `tf` that also take ragged tensors (python/ops/ragged/ragged_dispatch.py).

`tf` has these functions in the place of those that they call for tensors. Other modules of
`capstan.api` call the functions for tensors.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from capstan.api import (
    arrangement_ops,
    array_ops,
    bitwise_ops,
    check_ops,
    clip_ops,
    complex_ops,
    creation_ops,
    deprecation,
    functional_ops,
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
    choice,
    gather,
    joining,
    lifting,
    map_rows,
    masking,
    operand,
    row_types,
    segments,
    subscript,
    tensor,
)
from capstan.api.ragged.spec import RaggedTensorSpec
from capstan.api.ragged.value import RaggedTensorValue
from capstan.core import dtypes
from capstan.framework import nest

Function = Callable[..., Any]


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

    return lifting.with_ragged(function, reduced, "input_tensor")


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


def _map_fn() -> Function:
    """Return `map_fn` of tensors, which calls that of ragged tensors if one is given or made."""
    signature = inspect.signature(functional_ops.map_fn)
    kinds = tensor.RaggedTensor, RaggedTensorValue, RaggedTensorSpec, row_types.RaggedTensorType

    @functools.wraps(functional_ops.map_fn)
    def map_fn(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        leaves = [*nest.flatten(given["elems"]), *nest.flatten(given.get("dtype"))]
        is_ragged = any(isinstance(leaf, kinds) for leaf in leaves)
        return (map_rows.like_rows if is_ragged else functional_ops.map_fn)(*args, **kwargs)

    return map_fn


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
        **{function: lifting.unary(function) for function in _UNARY},
        **{function: lifting.of_list(function) for function in _LISTS},
        **{function: lifting.binary(function) for function in _BINARY},
        **{
            function: lifting.with_ragged(function, ragged, "data", "segment_ids")
            for function, ragged in _SEGMENTS
        },
        **{function: _reduction(function, ragged) for function, ragged in _REDUCTIONS},
        **{
            function: lifting.with_ragged(function, ragged, *names)
            for function, ragged, names in _OTHERS
        },
        functional_ops.map_fn: _map_fn(),
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
