"""Rows of discrete Fourier transforms along the last axes (core/ops/spectral_ops.cc).

A transform of real numbers keeps only the first half of the frequencies along the last axis. The
others are the conjugates of these.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from capstan.core import dtypes, shapes
from capstan.framework.opdef import GradientRule, Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import last_axes, rules, typesets

_SUFFIXES: Final = {1: "", 2: "2D", 3: "3D"}
_ShapeRule = Callable[[ShapeContext], rules.Shapes]


def _same_shape(rank: int) -> _ShapeRule:
    return lambda ctx: (shapes.with_rank_at_least(ctx.inputs[0], rank),)


def _resized(rank: int, is_halved: bool) -> _ShapeRule:
    """Return the rule of a transform whose last axes get the sizes of input 1."""

    def shape(ctx: ShapeContext) -> rules.Shapes:
        given = shapes.with_rank_at_least(ctx.inputs[0], rank)
        (count,) = rules.with_rank(ctx.inputs[1], 1)
        if count not in (None, rank):
            raise ValueError(f"Dimension must be {rank} but is {count}")
        if given is None:
            return (None,)
        known = ctx.constant(1)
        sizes = [None] * rank if known is None else known.tolist()
        if is_halved and sizes[-1]:
            sizes[-1] = sizes[-1] // 2 + 1
        return ((*given[:-rank], *sizes),)

    return shape


def _count(x: Any, rank: int, kind: dtypes.DType, raw: Raw) -> Any:
    """Return the number of elements of one transform, in a type of numbers."""
    return raw.Cast(raw.Prod(last_axes.sizes(x, rank, raw), [0]), DstT=kind)


def _forward(rank: int) -> GradientRule:
    def gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
        grad: Any = grads[0]
        count = _count(grad, rank, grad.dtype.base_dtype, raw)
        return (raw.Mul(getattr(raw, f"IFFT{_SUFFIXES[rank]}")(grad), count),)

    return gradient


def _inverse(rank: int) -> GradientRule:
    def gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
        grad: Any = grads[0]
        count = _count(grad, rank, grad.dtype.base_dtype, raw)
        return (raw.RealDiv(getattr(raw, f"FFT{_SUFFIXES[rank]}")(grad), count),)

    return gradient


def _real_forward(rank: int) -> GradientRule:
    """Return the rule of a transform of real numbers.

    The frequencies that the transform left out have no gradient. The rule therefore puts zeros in
    their place, and turns all frequencies back.
    """

    def gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
        x, grad = op.inputs[0], _enlarged(grads[0], op.inputs[1], rank, raw)
        kind = x.dtype.base_dtype
        back = raw.Real(getattr(raw, f"IFFT{_SUFFIXES[rank]}")(grad), Tout=kind)
        back = raw.Mul(back, _count(grad, rank, kind, raw))
        return _enlarged(back, last_axes.sizes(x, rank, raw), rank, raw), None

    return gradient


def _real_inverse(rank: int) -> GradientRule:
    """Return the rule of a transform to real numbers.

    Each frequency that has a conjugate twin counts twice: all but the first one and, if the length
    is even, the last one.
    """

    def gradient(op: Op, grads: Gradients, raw: Raw) -> Gradients:
        z, lengths = op.inputs
        grad: Any = grads[0]
        kind = z.dtype.base_dtype
        found = getattr(raw, f"RFFT{_SUFFIXES[rank]}")(grad, lengths, Tcomplex=kind)
        length = raw.Reshape(raw.StridedSlice(lengths, [-1], [0], [1], end_mask=1), [])
        places = raw.Range(np.int32(0), raw.Add(raw.FloorDiv(length, 2), 1), np.int32(1))
        is_single = raw.Equal(raw.FloorMod(raw.Mul(places, 2), length), 0)
        times = raw.SelectV2(is_single, np.float32(1), np.float32(2))
        found = raw.Mul(found, raw.Cast(times, DstT=kind))
        found = raw.RealDiv(found, _count(grad, rank, kind, raw))
        return _enlarged(found, last_axes.sizes(z, rank, raw), rank, raw), None

    return gradient


def _enlarged(value: Any, sizes: Any, rank: int, raw: Raw) -> Any:
    """Put zeros behind the elements of the last axes, which get these sizes."""
    lacking = raw.Sub(sizes, last_axes.sizes(value, rank, raw))
    return last_axes.padded(value, lacking, rank, raw)


def _complex_row(name: str, rank: int, gradient: GradientRule) -> OpDef:
    return OpDef(
        name,
        ("input: Tcomplex",),
        ("output: Tcomplex",),
        attrs={"Tcomplex": dtypes.complex64},
        shape=_same_shape(rank),
        gradient=gradient,
        types={"Tcomplex": typesets.COMPLEX},
    )


def _real_row(name: str, rank: int, gradient: GradientRule) -> OpDef:
    is_forward = name.startswith("R")
    return OpDef(
        name,
        ("input: Treal" if is_forward else "input: Tcomplex", "fft_length: int32"),
        ("output: Tcomplex" if is_forward else "output: Treal",),
        attrs={"Treal": dtypes.float32, "Tcomplex": dtypes.complex64},
        shape=_resized(rank, is_halved=is_forward),
        gradient=gradient,
        types={"Treal": typesets.WIDE, "Tcomplex": typesets.COMPLEX},
        host=("fft_length",),
    )


for _rank, _suffix in _SUFFIXES.items():
    define(_complex_row(f"FFT{_suffix}", _rank, _forward(_rank)))
    define(_complex_row(f"IFFT{_suffix}", _rank, _inverse(_rank)))
    define(_real_row(f"RFFT{_suffix}", _rank, _real_forward(_rank)))
    define(_real_row(f"IRFFT{_suffix}", _rank, _real_inverse(_rank)))
