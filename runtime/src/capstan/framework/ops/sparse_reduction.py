"""Rows of the ops that reduce sparse tensors along axes (core/ops/sparse_ops.cc)."""

import numpy as np

from capstan.core import dtypes
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules, typesets


def _dense(ctx: ShapeContext) -> rules.Shapes:
    shape, axes = rules.shape_in(ctx, 2), ctx.constant(3)
    if shape is None or axes is None:
        return (None,)
    removed = set()
    for axis in axes.ravel().tolist():
        if not -len(shape) <= axis < len(shape):
            raise ValueError(
                f"Invalid reduction dimension {axis} for input with {len(shape)} dimensions"
            )
        removed.add(axis % len(shape))
    if ctx.attrs["keep_dims"]:
        return (tuple(1 if axis in removed else size for axis, size in enumerate(shape)),)
    return (tuple(size for axis, size in enumerate(shape) if axis not in removed),)


def _sparse(ctx: ShapeContext) -> rules.Shapes:
    return ((None, None), (None,), (None,))


def _sum(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """Give each value the gradient of its sum (python/ops/sparse_grad.py)."""
    indices, _, shape, axes = op.inputs
    axes = raw.Reshape(axes, [-1])
    rank = raw.Size(shape)
    every = raw.Range(np.int32(0), rank, np.int32(1))
    places = raw.FloorMod(raw.Add(axes, rank), rank)
    ones = raw.Cast(raw.OnesLike(places), DstT=dtypes.int64)
    kept = raw.DynamicStitch([every, places], [shape, ones])
    # An index along a reduced axis becomes 0, and all others stay.
    is_kept = raw.DynamicStitch(
        [every, places], [raw.OnesLike(shape), raw.Sub(ones, raw.OnesLike(ones))]
    )
    values = raw.GatherNd(raw.Reshape(grads[0], kept), raw.Mul(indices, is_kept))
    return None, values, None, None


for _kind in ("Sum", "Max"):
    for _form in ("", "Sparse"):
        define(
            OpDef(
                f"SparseReduce{_kind}{_form}",
                (
                    "input_indices: int64", "input_values: T", "input_shape: int64",
                    "reduction_axes: int32",
                ),
                (
                    ("output_indices: int64", "output_values: T", "output_shape: int64")
                    if _form
                    else ("output: T",)
                ),
                attrs={"keep_dims": False},
                shape=_sparse if _form else _dense,
                gradient=_sum if (_kind, _form) == ("Sum", "") else None,
                types={"T": typesets.NUMERIC},
                host=("input_shape", "reduction_axes"),
            )
        )  # fmt: skip
