"""Rows of ops on sound (tensorflow/core/ops/audio_ops.cc)."""

from capstan.core import shapes
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules


def _decode_shape(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[0], 0)
    sizes = []
    for name in ("desired_samples", "desired_channels"):
        size = ctx.attrs[name]
        if size < -1:
            raise ValueError(f"{name} must be non-negative or -1, got {size}")
        sizes.append(None if size == -1 else size)
    return (tuple(sizes), ())


def _encode_shape(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[0], 2)
    shapes.with_rank(ctx.inputs[1], 0)
    return ((),)


def _spectrogram_shape(ctx: ShapeContext) -> rules.Shapes:
    samples, channels = rules.with_rank(ctx.inputs[0], 2)
    width, stride = ctx.attrs["window_size"], ctx.attrs["stride"]
    if width < 2 or stride < 1:
        raise ValueError(
            f"A spectrogram needs a window of at least 2 samples and a positive stride, not "
            f"{width} and {stride}"
        )
    count = None if samples is None else max(0, 1 + (samples - width) // stride)
    return ((channels, count, 1 + (1 << (width - 1).bit_length()) // 2),)


def _mfcc_shape(ctx: ShapeContext) -> rules.Shapes:
    channels, samples, _ = rules.with_rank(ctx.inputs[0], 3)
    shapes.with_rank(ctx.inputs[1], 0)
    return ((channels, samples, ctx.attrs["dct_coefficient_count"]),)


define(
    OpDef(
        "DecodeWav",
        ("contents: string",),
        ("audio: float32", "sample_rate: int32"),
        attrs={"desired_channels": -1, "desired_samples": -1},
        shape=_decode_shape,
    )
)
define(
    OpDef(
        "EncodeWav",
        ("audio: float32", "sample_rate: int32"),
        ("contents: string",),
        shape=_encode_shape,
    )
)
define(
    OpDef(
        "AudioSpectrogram",
        ("input: float32",),
        ("spectrogram: float32",),
        attrs={"window_size": int, "stride": int, "magnitude_squared": False},
        shape=_spectrogram_shape,
    )
)
define(
    OpDef(
        "Mfcc",
        ("spectrogram: float32", "sample_rate: int32"),
        ("output: float32",),
        attrs={
            "upper_frequency_limit": 4000.0,
            "lower_frequency_limit": 20.0,
            "filterbank_channel_count": 40,
            "dct_coefficient_count": 13,
        },
        shape=_mfcc_shape,
    )
)
