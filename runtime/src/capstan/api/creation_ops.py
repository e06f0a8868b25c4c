"""TensorFlow 1's functions that create tensors: placeholders, filled tensors and one-hot."""

from typing import Any

from capstan.api import array_ops, plain
from capstan.api.scoped import scoped
from capstan.core import dtypes, shapes, tensor_shape
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = [
    "fill", "one_hot", "ones", "ones_like", "placeholder", "placeholder_with_default", "zeros",
    "zeros_like",
]  # fmt: skip


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Any:
    """Return a tensor of `dtype` whose value every step must feed.

    `shape` may have unknown sizes. A `shape` of None accepts every shape. A feed is converted to
    `dtype`. `Session.run` raises ValueError if a feed has another shape. A step that needs the
    tensor and does not feed it raises InvalidArgumentError.

    Raises:
        TypeError, ValueError: `dtype` is not a dtype, or `shape` is not a shape.
    """
    return raw.Placeholder(
        dtype=dtypes.as_dtype(dtype).base_dtype, shape=tensor_shape.as_shape(shape), name=name
    )


def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Any:
    """Return a tensor with the value of `input`, unless the step feeds another value.

    The tensor has the dtype of `input` and the static shape `shape`, which `input` and each fed
    value must have.

    Raises:
        ValueError: the static shape of `input` does not fit `shape`.
    """
    return raw.PlaceholderWithDefault(input, shape=tensor_shape.as_shape(shape), name=name)


fill = plain.function(
    "fill", "Fill", "Return a tensor of shape `dims` whose elements are all `value`."
)


def zeros(shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> Any:
    """Return a tensor of zeros. Elements are False for bool and empty for string."""
    return _filled(0, shape, dtype, name, "zeros")


def ones(shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> Any:
    return _filled(1, shape, dtype, name, "ones")


_SMALL = 1000
"""A tensor of known shape with fewer elements than this is a constant, as in TensorFlow."""


def _filled(value: int, shape: Any, dtype: Any, name: str | None, default: str) -> Any:
    kind = dtypes.as_dtype(dtype).base_dtype
    content: Any = value
    if kind is dtypes.string:
        content = b"" if value == 0 else b"1"
    elif kind is dtypes.bool_:
        content = bool(value)
    with scoped(name, default, (shape,)) as scope:
        known = _static_shape(shape)
        if known is not None and (shapes.num_elements(known) or 0) < _SMALL:
            return convert.constant(content, kind, known, name=scope)
        if known is not None:
            shape = tensor_shape.TensorShape(known)
        sizes = convert.convert_to_tensor(shape, preferred_dtype=dtypes.int32, name="shape")
        return raw.Fill(sizes, convert.constant(content, kind), name=scope)


def _static_shape(shape: Any) -> shapes.Shape:
    if isinstance(shape, graphs.Tensor):
        return None
    try:
        known = tensor_shape.to_shape(shape)
    except TypeError:
        return None
    return known if shapes.is_fully_defined(known) else None


def zeros_like(
    tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True
) -> Any:
    """Return zeros with the shape of `tensor` and with its dtype, or with `dtype` if given.

    With `optimize`, a step does not compute `tensor` if its static shape is fully known.
    """
    return _like("ZerosLike", "zeros_like", zeros, tensor, dtype, name, optimize)


def ones_like(
    tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True
) -> Any:
    """Return ones with the shape of `tensor` and with its dtype, or with `dtype` if given.

    With `optimize`, a step does not compute `tensor` if its static shape is fully known.
    """
    return _like("OnesLike", "ones_like", ones, tensor, dtype, name, optimize)


def _like(
    op: str,
    default: str,
    other: Any,
    tensor: Any,
    dtype: Any,
    name: str | None,
    is_shape_enough: bool,
) -> Any:
    with scoped(name, default, (tensor,)) as scope:
        tensor = convert.convert_to_tensor(tensor, name="tensor")
        own = tensor.dtype.base_dtype
        kind = own if dtype is None else dtypes.as_dtype(dtype).base_dtype
        if is_shape_enough and own is not dtypes.variant and tensor.shape.is_fully_defined():
            return other(tensor.shape, kind, name=scope)
        if kind is own:
            return getattr(raw, op)(tensor, name=scope)
        return other(array_ops.shape(tensor), kind, name=scope)


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Any:
    """Return `depth` values for each index, along a new axis.

    The value at the index is `on_value` (default: 1). The other values are `off_value`
    (default: 0). The new axis is `axis`, by default the last one.

    Raises:
        TypeError: `on_value`, `off_value` and `dtype` have different dtypes.
    """
    with scoped(name, "one_hot", (indices, depth, on_value, off_value)) as scope:
        kind = None if dtype is None else dtypes.as_dtype(dtype)
        given = [
            convert.convert_to_tensor(value, preferred_dtype=kind).dtype.base_dtype
            for value in (on_value, off_value)
            if value is not None
        ]
        if len({*given, *(() if kind is None else (kind,))}) > 1:
            raise TypeError(
                f"dtypes of on_value, off_value and dtype do not match: {given}, dtype {dtype}"
            )
        kind = kind or (given[0] if given else dtypes.float32)
        on = convert.convert_to_tensor(1 if on_value is None else on_value, kind, "on_value")
        off = convert.convert_to_tensor(0 if off_value is None else off_value, kind, "off_value")
        return raw.OneHot(indices, depth, on, off, axis=-1 if axis is None else axis, name=scope)
