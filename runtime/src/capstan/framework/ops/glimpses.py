"""The row of windows of images (core/ops/image_ops.cc)."""

from capstan.core import shapes
from capstan.framework import facts
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules


def _glimpse(ctx: ShapeContext) -> rules.Shapes:
    batch, _, _, channels = rules.with_rank(ctx.inputs[0], 4)
    count, axes = rules.with_rank(ctx.inputs[2], 2)
    shapes.merge_dimension(axes, 2)
    if ctx.attrs["uniform_noise"] and ctx.attrs["noise"] not in (b"", b"uniform"):
        raise ValueError("The uniform_noise and noise should not be specified at the same time")
    size = rules.shape_in(ctx, 1)
    height, width = (None, None) if size is None else size
    return ((shapes.merge_dimension(batch, count), height, width, channels),)


for _version in ("", "V2"):
    define(
        OpDef(
            f"ExtractGlimpse{_version}",
            ("input: float32", "size: int32", "offsets: float32"),
            ("glimpse: float32",),
            attrs={
                "centered": True,
                "normalized": True,
                "uniform_noise": True,
                "noise": b"uniform",
            },
            shape=_glimpse,
            not_differentiable=True,
            effect=facts.RANDOM,
            host=("size",),
        )
    )
