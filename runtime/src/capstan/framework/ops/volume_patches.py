"""The row of the op that takes volumes apart in patches (core/ops/array_ops.cc,
python/ops/array_grad.py).
"""

import numpy as np

from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules, typesets, window_rules


def _patched(ctx: ShapeContext) -> rules.Shapes:
    value = rules.with_rank(ctx.inputs[0], 5)
    window_rules.check_lists(ctx, "ExtractVolumePatches requires", 5, "ksizes", "strides")
    sizes, strides = ctx.attrs["ksizes"], ctx.attrs["strides"]
    counts = (
        window_rules.count(value[axis], sizes[axis], strides[axis], 1, ctx.attrs["padding"])
        for axis in (1, 2, 3)
    )
    depth = None if value[4] is None else value[4] * sizes[1] * sizes[2] * sizes[3]
    return ((value[0], *counts, depth),)


def _patches(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """Put the patches together again, by a transposed convolution for each channel.

    Element i of a patch has a filter of its own, which is 1 at the place of the element.
    """
    sizes = op.get_attr("ksizes")[1:4]
    (volumes,), (grad,) = op.inputs, grads
    count = int(np.prod(sizes))
    batch, *sides, depth = raw.Unpack(raw.Shape(volumes), num=5, axis=0)
    _, *counts, _ = raw.Unpack(raw.Shape(grad), num=5, axis=0)
    elements = raw.Reshape(grad, raw.Pack([batch, *counts, np.int32(count), depth]))
    by_channel = raw.Transpose(elements, [0, 5, 1, 2, 3, 4])
    both = raw.Mul(batch, depth)
    filters = np.eye(count).reshape(*sizes, 1, count)
    volumes_by_channel = raw.Conv3DBackpropInputV2(
        raw.Pack([both, *sides, np.int32(1)]),
        filters.astype(volumes.dtype.base_dtype.as_numpy_dtype),
        raw.Reshape(by_channel, raw.Pack([both, *counts, np.int32(count)])),
        strides=op.get_attr("strides"),
        padding=op.get_attr("padding"),
    )
    channels = raw.Reshape(volumes_by_channel, raw.Pack([batch, depth, *sides]))
    return (raw.Transpose(channels, [0, 2, 3, 4, 1]),)


define(
    OpDef(
        "ExtractVolumePatches",
        ("input: T",),
        ("patches: T",),
        attrs={"ksizes": list, "strides": list, "padding": bytes},
        choices={"padding": (b"SAME", b"VALID")},
        shape=_patched,
        gradient=_patches,
        types={"T": typesets.NUMERIC},
    )
)
