"""Rows of discrete Fourier transforms along any axes (core/ops/spectral_ops.cc)."""

from capstan.core import dtypes, shapes
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules, typesets


def _resized(ctx: ShapeContext) -> rules.Shapes:
    return _transformed(ctx, is_halved=False)


def _halved(ctx: ShapeContext) -> rules.Shapes:
    return _transformed(ctx, is_halved=True)


def _transformed(ctx: ShapeContext, *, is_halved: bool) -> rules.Shapes:
    shape, lengths, axes = ctx.inputs[0], ctx.constant(1), ctx.constant(2)
    shapes.merge(rules.with_rank(ctx.inputs[1], 1), rules.with_rank(ctx.inputs[2], 1))
    if shape is None or lengths is None or axes is None:
        return (shapes.unknown(shapes.rank(shape)),)
    sizes = list(shape)
    for length, axis in zip(lengths.tolist(), axes.tolist(), strict=True):
        sizes[shapes.axis_index(axis, len(sizes))] = length
    if is_halved and len(axes):
        at = shapes.axis_index(int(axes[-1]), len(sizes))
        sizes[at] = (sizes[at] or 0) // 2 + 1
    return (tuple(sizes),)


for _name, _input, _output in (
    ("FFTND", "Tcomplex", "Tcomplex"),
    ("IFFTND", "Tcomplex", "Tcomplex"),
    ("RFFTND", "Treal", "Tcomplex"),
    ("IRFFTND", "Tcomplex", "Treal"),
):
    _has_real = "Treal" in (_input, _output)
    define(
        OpDef(
            _name,
            (f"input: {_input}", "fft_length: int32", "axes: int32"),
            (f"output: {_output}",),
            attrs={
                **({"Treal": dtypes.float32} if _has_real else {}),
                "Tcomplex": dtypes.complex64,
            },
            shape=_halved if _name == "RFFTND" else _resized,
            types={
                **({"Treal": typesets.WIDE} if _has_real else {}),
                "Tcomplex": typesets.COMPLEX,
            },
            host=("fft_length", "axes"),
        )
    )
