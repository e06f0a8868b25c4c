"""TensorFlow 1's functions that shape, join and cut tensors (python/ops/array_ops.py)."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from capstan.api import plain
from capstan.api.scoped import scoped
from capstan.core import dtypes, shapes, tensor_shape
from capstan.framework import convert, sparse_tensor, subscript
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.framework.static_raw import static_raw

__all__ = [
    "concat", "expand_dims", "guarantee_const", "identity", "identity_n", "newaxis", "pad",
    "parallel_stack", "rank", "reshape", "shape", "shape_n", "size", "slice", "split",
    "squeeze", "stack", "stop_gradient", "strided_slice", "tile", "transpose", "unique",
    "unstack",
]  # fmt: skip

newaxis = None


def identity(input: Any, name: str | None = None) -> Any:
    """Return the same values. The parts of a SparseTensor become the outputs of new operations."""
    if isinstance(input, sparse_tensor.SparseTensor):
        parts = (input.indices, input.values, input.dense_shape)
        return sparse_tensor.SparseTensor(*(raw.Identity(part) for part in parts))
    return raw.Identity(input, name=name)


def identity_n(input: Sequence[Any], name: str | None = None) -> Any:
    """Return a list of tensors with the same values. All inputs are ready before any output is."""
    return raw.IdentityN(input, name=name)


guarantee_const = plain.function(
    "guarantee_const",
    "GuaranteeConst",
    "Return the same values, which the program promises never to change.",
)
stop_gradient = plain.function(
    "stop_gradient", "StopGradient", "Return the same values. `gradients` treats them as constants."
)


_SPARSE: Final = (sparse_tensor.SparseTensor, sparse_tensor.SparseTensorValue)


def shape(input: Any, name: str | None = None, out_type: Any = dtypes.int32) -> Any:
    """Return the shape as a vector of `out_type`, or the dense shape of a SparseTensor.

    `out_type` is int32 or int64. The shape of a tensor is a constant if its static shape is fully
    known.
    """
    if isinstance(input, _SPARSE):
        with scoped(name, "Shape", ()) as scope:
            return raw.Cast(input.dense_shape, DstT=out_type, name=scope)
    with scoped(name, "Shape", (input,)) as scope:
        input = convert.convert_to_tensor(input, name="input")
        return static_raw.Shape(input, out_type=out_type, name=scope)


def shape_n(input: Any, out_type: Any = dtypes.int32, name: str | None = None) -> Any:
    """Return a list of the shapes of several tensors, each as a vector."""
    return raw.ShapeN(input, out_type=out_type, name=name)


def size(input: Any, name: str | None = None, out_type: Any = dtypes.int32) -> Any:
    """Return the number of elements, a constant if the static shape is fully known."""
    if isinstance(input, _SPARSE):
        with scoped(name, "Size", ()) as scope:
            return raw.Prod(raw.Cast(input.dense_shape, DstT=out_type), [0], name=scope)
    with scoped(name, "Size", (input,)) as scope:
        input = convert.convert_to_tensor(input, name="input")
        return static_raw.Size(input, out_type=out_type, name=scope)


def rank(input: Any, name: str | None = None) -> Any:
    """Return the number of axes, which is a constant if the static rank is known."""
    if isinstance(input, _SPARSE):
        return size(input.dense_shape, name or "Rank")
    with scoped(name, "Rank", (input,)) as scope:
        input = convert.convert_to_tensor(input, name="input")
        return static_raw.Rank(input, name=scope)


reshape = plain.function(
    "reshape",
    "Reshape",
    "Return the same elements with another shape. One size may be -1 and is then computed.",
)


def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Any:
    """Return `input` with a new axis of size 1, which has the index `axis` in the result.

    Raises:
        ValueError: both `axis` and its older name `dim` are given, or neither is.
    """
    if (axis is None) is (dim is None):
        raise ValueError("tf.expand_dims() takes exactly one of `axis` and its older name `dim`.")
    return raw.ExpandDims(input, dim if axis is None else axis, name=name)


def squeeze(input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None) -> Any:
    """Return `input` without the axes `axis`, which have size 1. The default is all such axes."""
    axis = squeeze_dims if axis is None else axis
    axes = [] if axis is None else [axis] if np.isscalar(axis) else list(axis)
    return raw.Squeeze(input, squeeze_dims=axes, name=name)


def transpose(a: Any, perm: Any = None, name: str = "transpose", conjugate: bool = False) -> Any:
    """Return `a` with its axes in the order `perm`. Without `perm`, reverse the axes.

    With `conjugate`, also take the conjugates of complex numbers.
    """
    with scoped(name, "transpose", (a,)) as scope:
        a = convert.convert_to_tensor(a, name="a")
        turn = raw.ConjugateTranspose if conjugate and a.dtype.is_complex else raw.Transpose
        if perm is not None:
            return turn(a, perm, name=scope)
        if a.shape.ndims is not None:
            return turn(a, np.arange(a.shape.ndims, dtype=np.int32)[::-1], name=scope)
        count = raw.Rank(a)
        order = raw.Range(raw.Sub(count, 1), np.int32(-1), np.int32(-1))
        return turn(a, order, name=scope)


def slice(input_: Any, begin: Any, size: Any, name: str | None = None) -> Any:
    """Return a block of a tensor. A size of -1 reaches to the end of the axis."""
    return raw.Slice(input_, begin, size, name=name)


def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Any:
    """Return a slice, as `x[begin:end:strides, ...]` does.

    Bit i of a mask changes the meaning of entry i of `begin`, `end` and `strides`, as in
    TensorFlow. If `var` is the variable whose value is `input_`, the result has a method
    `assign(value)`, which changes the slice in the variable.
    """
    masks = {
        "begin_mask": begin_mask,
        "end_mask": end_mask,
        "ellipsis_mask": ellipsis_mask,
        "new_axis_mask": new_axis_mask,
        "shrink_axis_mask": shrink_axis_mask,
    }
    with scoped(name, "StridedSlice", (input_, begin, end, strides)) as scope:
        begin = convert.convert_to_tensor(begin, name="begin")
        steps = raw.OnesLike(begin) if strides is None else strides
        part = raw.StridedSlice(input_, begin, end, steps, **masks, name=scope)
    if var is not None:
        default_name = f"{part.op.name if name is None else name}_assign"
        subscript.make_assignable(part, var, (begin, end, steps), masks, default_name)
    return part


def concat(values: Any, axis: Any, name: str = "concat") -> Any:
    """Join tensors along an existing axis.

    Raises:
        TypeError: the axis is not an integer. (Before TensorFlow 1.0 the axis came first.)
        ValueError: the axis is not a scalar.
    """
    is_old = isinstance(values, int) and isinstance(axis, list | tuple)
    if not isinstance(values, list | tuple):
        values = [values]
    if len(values) == 1:
        with scoped(name, "concat", values):
            try:
                axis_tensor = convert.convert_to_tensor(axis, dtypes.int32, "concat_dim")
                axis_tensor.shape.assert_has_rank(0)
            except (TypeError, ValueError) as error:
                if not is_old:
                    raise
                hint = "Pass the tensors before the axis: tf.concat(values, axis)"
                raise type(error)(f"{error}. {hint}") from None
            return raw.Identity(values[0], name=name)
    return raw.ConcatV2(list(values), axis, name=name)


def stack(values: Any, axis: int = 0, name: str = "stack") -> Any:
    """Join tensors of the same shape and dtype along a new axis, which is `axis` of the result.

    With axis 0, `values` may also be a tensor, which is then the result.

    Raises:
        ValueError: the shapes differ, or the result has no such axis.
        TypeError: the dtypes differ.
    """
    if axis == 0 and isinstance(values, graphs.Tensor):
        return values
    # As in TensorFlow, NumPy's usual numbers take the type of the tensors, as those of Python do.
    usual = np.int64, np.float64
    parts = [each.item() if isinstance(each, usual) else each for each in values]
    return raw.Pack(parts, axis=axis, name=name)


def parallel_stack(values: Any, name: str = "parallel_stack") -> Any:
    """Join tensors of the same known shape along a new first axis. There is no gradient.

    Raises:
        ValueError: the shape of the first tensor is not known, or another tensor does not have it.
    """
    tensors = [convert.convert_to_tensor(value) for value in values]
    with tensors[0].graph.as_default() as graph, graph.name_scope(name):
        shape = tensor_shape.TensorShape([len(tensors)]).concatenate(tensors[0].shape)
        return raw.ParallelConcat([raw.ExpandDims(each, 0) for each in tensors], shape=shape)


def unstack(value: Any, num: int | None = None, axis: int = 0, name: str = "unstack") -> Any:
    """Return the list of a tensor's slices along `axis`. The slices do not have that axis.

    Raises:
        ValueError: the size of the axis is neither known nor given as `num`.
    """
    value = convert.convert_to_tensor(value)
    if num is None:
        static = value.shape.internal
        num = None if static is None else static[shapes.axis_index(axis, len(static))]
    if num is None:
        raise ValueError(f"Cannot infer num from shape {value.shape}")
    return raw.Unpack(value, num=num, axis=axis, name=name)


def split(
    value: Any, num_or_size_splits: Any, axis: Any = 0, num: int | None = None, name: str = "split"
) -> Any:
    """Return the list of the parts into which `value` is split along `axis`.

    `num_or_size_splits` is the number of equal parts, or a list of the sizes of the parts.

    Raises:
        ValueError: the number of parts is unknown, or the axis cannot be split into equal parts.
    """
    sizes = convert.convert_to_tensor(num_or_size_splits)
    numbers = int | np.integer | tensor_shape.Dimension
    if sizes.shape.ndims == 0 and isinstance(num_or_size_splits, numbers):
        return raw.Split(axis, value, num_split=int(num_or_size_splits), name=name)
    if num is None:
        static = sizes.shape.internal
        num = static[0] if static else None
    if num is None:
        raise ValueError("Cannot infer num from shape of num_or_size_splits")
    return raw.SplitV(value, sizes, axis, num_split=num, name=name)


tile = plain.function("tile", "Tile", "Repeat a tensor `multiples[i]` times along each axis i.")


def pad(
    tensor: Any,
    paddings: Any,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: Any = 0,
) -> Any:
    """Add margins. `paddings` has one row (size before, size after) for each axis.

    In mode "CONSTANT", the margins have the value `constant_values`. In mode "REFLECT" they mirror
    the tensor without its outermost elements, and in mode "SYMMETRIC" with them.

    Raises:
        ValueError: `mode` is none of these.
    """
    kind = mode.upper()
    if kind == "CONSTANT":
        if isinstance(constant_values, graphs.Tensor) or constant_values != 0:
            return raw.PadV2(tensor, paddings, constant_values, name=name)
        return raw.Pad(tensor, paddings, name=name)
    if kind not in ("REFLECT", "SYMMETRIC"):
        raise ValueError(
            f"Unknown padding mode: {mode}. The modes are CONSTANT, REFLECT and SYMMETRIC."
        )
    return raw.MirrorPad(tensor, paddings, mode=kind, name=name)


def unique(x: Any, out_idx: Any = dtypes.int32, name: str | None = None) -> Any:
    """Return `Unique(y, idx)` for a vector `x`.

    `y` holds the distinct elements of `x` in the order of their first appearance. Each element
    `x[i]` is equal to `y[idx[i]]`.
    """
    return raw.Unique(x, out_idx=out_idx, name=name)
