"""Frames of a signal, and signals from overlapping frames (python/ops/signal/shape_ops.py,
reconstruction_ops.py).
"""

from typing import Any

from capstan.api import array_ops, gather_ops, math_ops, reduce_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework.raw import raw


def frame(
    signal: Any,
    frame_length: Any,
    frame_step: Any,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: int = -1,
    name: str | None = None,
) -> Any:
    """Return frames of `frame_length` elements along `axis`, each `frame_step` after the last.

    The frames replace the axis by two: their number, and their length. Elements behind the last
    frame are left out. With `pad_end`, the end is padded with `pad_value`, and a frame starts at
    each `frame_step` within the signal. The lengths are scalar integers, also tensors. The rank of
    the signal is known.

    Raises:
        ValueError: a length is not a scalar, or the rank of the signal is 0 or unknown.
    """
    with scoped(name, "frame", (signal, frame_length, frame_step, pad_value)) as scope:
        signal = convert.convert_to_tensor(signal, name="signal")
        length, step = scalar(frame_length, "frame_length"), scalar(frame_step, "frame_step")
        signal.shape.with_rank_at_least(1)
        if signal.shape.ndims is None:
            raise ValueError("tf.signal.frame needs a signal of known rank; call set_shape")
        place = axis % signal.shape.ndims
        known_size = tensor_shape.dimension_value(signal.shape[place])
        size = array_ops.shape(signal)[place]
        if pad_end:
            frames = -(-size // step)
            more = math_ops.maximum(0, length + step * (frames - 1) - size)
            margins: Any = [[0, 0]] * signal.shape.ndims
            margins[place] = [0, more]
            signal = array_ops.pad(signal, margins, constant_values=pad_value)
        else:
            frames = math_ops.maximum(0, 1 + (size - length) // step)
        places = array_ops.expand_dims(math_ops.range(frames) * step, 1) + math_ops.range(length)
        result = gather_ops.gather(signal, places, axis=place, name=scope)
        result.set_shape(_static_shape(signal.shape, place, (known_size, length, step), pad_end))
        return result


def _static_shape(
    signal: Any, place: int, numbers: tuple[int | None, Any, Any], pad_end: bool
) -> Any:
    """Return the known sizes of frames. `numbers` are the size of the signal, length and step."""
    size = numbers[0]
    length, step = (
        None if value is None else int(value) for value in map(convert.constant_value, numbers[1:])
    )
    frames = None
    if size is not None and step is not None:
        if pad_end:
            frames = -(-size // step)
        elif length is not None:
            frames = max(0, 1 + (size - length) // step)
    return signal[:place].concatenate([frames, length]).concatenate(signal[place + 1 :])


def scalar(value: Any, name: str) -> Any:
    """Return a tensor that is a scalar.

    Raises:
        ValueError: `value` has another rank.
    """
    tensor = convert.convert_to_tensor(value, name=name)
    tensor.shape.assert_has_rank(0)
    return tensor


def overlap_and_add(signal: Any, frame_step: Any, name: str | None = None) -> Any:
    """Return the sum of frames [..., frames, length], each `frame_step` after the last.

    The result has the shape [..., (frames - 1) * frame_step + length]. The rank is known.

    Raises:
        ValueError: `frame_step` is not an integer scalar, or the rank is unknown or less than 2.
    """
    with scoped(name, "overlap_and_add", (signal, frame_step)) as scope:
        signal = convert.convert_to_tensor(signal, name="signal")
        signal.shape.with_rank_at_least(2)
        step = scalar(frame_step, "frame_step")
        if not step.dtype.is_integer:
            raise ValueError(f"frame_step must be an integer. Got {step.dtype}")
        rank = signal.shape.ndims
        if rank is None:
            raise ValueError("tf.signal.overlap_and_add needs frames of known rank; call set_shape")
        sizes = array_ops.shape(signal)
        frames, length = sizes[rank - 2], sizes[rank - 1]
        places = array_ops.expand_dims(math_ops.range(frames) * step, 1) + math_ops.range(length)
        total = length + step * (frames - 1)
        # Sum along the first axes, as segments do.
        first = [rank - 2, rank - 1, *range(rank - 2)]
        summed = raw.UnsortedSegmentSum(array_ops.transpose(signal, first), places, total)
        return array_ops.transpose(summed, [*range(1, rank - 1), 0], name=scope)


def enclosing_power_of_two(value: Any) -> Any:
    """Return the least power of 2 that is not less than a positive integer scalar."""
    known = convert.constant_value(value)
    if known is not None:
        return convert.constant(1 << (int(known) - 1).bit_length(), value.dtype)
    powers = convert.constant([1 << exponent for exponent in range(31)], value.dtype)
    return gather_ops.gather(
        powers, reduce_ops.reduce_sum(math_ops.cast(powers < value, dtypes.int32))
    )
