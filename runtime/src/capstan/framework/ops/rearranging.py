"""Rows of ops that shuffle rows, cut images at random places, or find the nearly largest elements.

Sources: core/ops/{stateless_random_ops_v2,image_ops,nn_ops}.cc.
"""

from capstan.core import dtypes, shapes
from capstan.framework import facts
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import activations, rules, typesets


def _shuffled(ctx: ShapeContext) -> rules.Shapes:
    for vector in ctx.inputs[1:3]:
        shapes.with_rank(vector, 1)
    shapes.with_rank(ctx.inputs[3], 0)
    return rules.unchanged(ctx)


def _cropped(ctx: ShapeContext) -> rules.Shapes:
    channels = rules.with_rank(ctx.inputs[0], 3)[2]
    (count,) = rules.with_rank(ctx.inputs[1], 1)
    shapes.merge_dimension(count, 2)
    size = ctx.constant(1)
    known = (None, None) if size is None else tuple(size.tolist())
    return ((*known, channels),)


def _largest(ctx: ShapeContext) -> rules.Shapes:
    shape, count = shapes.with_rank_at_least(ctx.inputs[0], 1), int(ctx.attrs["k"])
    if shape is None:
        return None, None
    at = shapes.axis_index(int(ctx.attrs["reduction_dimension"]), len(shape))
    size = shape[at]
    if size is not None and size < count:
        raise ValueError(f"input must have last dimension >= k = {count} but was {size}")
    found = (*shape[:at], count, *shape[at + 1 :])
    return found, found


def _from_largest(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """Put the gradient of each element where the element was.

    Raises:
        NotImplementedError: the axis is not the last one, and the rank is not known.
    """
    axis, rank = int(op.get_attr("reduction_dimension")), op.inputs[0].shape.ndims
    operands = op.inputs[0], op.outputs[1], grads[0]
    if axis == -1:
        return (activations.from_largest(*operands, raw),)
    if rank is None:
        raise NotImplementedError(
            f"The gradient of ApproxTopK along axis {axis} needs an input of known rank. Set its "
            "shape with set_shape"
        )
    # This exchange of two axes is its own inverse.
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    x, places, grad = (raw.Transpose(each, order) for each in operands)
    turned = activations.from_largest(x, places, grad, raw)
    return (raw.Transpose(turned, order),)


define(
    OpDef(
        "StatelessShuffle",
        ("value: T", "key: uint64", "counter: uint64", "alg: int32"),
        ("output: T",),
        shape=_shuffled,
        not_differentiable=True,
        host=("key", "counter", "alg"),
    )
)
define(
    OpDef(
        "RandomCrop",
        ("image: T", "size: int64"),
        ("output: T",),
        attrs={"seed": 0, "seed2": 0},
        shape=_cropped,
        not_differentiable=True,
        effect=facts.RANDOM,
        types={
            "T": (
                *(dtypes.uint8, dtypes.int8, dtypes.int16, *typesets.INDEX),
                *typesets.WIDE,
            )
        },
        host=("size",),
    )
)
define(
    OpDef(
        "ApproxTopK",
        ("input: T",),
        ("values: T", "indices: int32"),
        attrs={
            "k": int,
            "reduction_dimension": -1,
            "recall_target": 0.95,
            "is_max_k": True,
            "reduction_input_size_override": -1,
            "aggregate_to_topk": True,
        },
        shape=_largest,
        gradient=_from_largest,
        types={"T": (dtypes.float16, dtypes.bfloat16, dtypes.float32)},
        minima={"k": 0},
    )
)
