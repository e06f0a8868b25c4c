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
    axis: Any = -1,
    name: str | None = None,
) -> Any:
    """Return frames of `frame_length` elements along `axis`, each `frame_step` after the last.

    The frames replace the axis by two: their number, and their length. Elements behind the last
    frame are left out. With `pad_end`, the end is padded with `pad_value`, and a frame starts at
    each `frame_step` within the signal. The lengths and the axis are scalar integers, also tensors.

    Raises:
        ValueError: a length or the axis is not a scalar, or the rank of the signal is 0.
    """
    with scoped(name, "frame", (signal, frame_length, frame_step, pad_value)) as scope:
        signal = convert.convert_to_tensor(signal, name="signal")
        length, step = scalar(frame_length, "frame_length"), scalar(frame_step, "frame_step")
        signal.shape.with_rank_at_least(1)
        known_axis = convert.constant_value(scalar(axis, "axis"))
        if signal.shape.ndims is None or known_axis is None:
            return _of_unknown_rank(signal, length, step, pad_end, pad_value, axis, scope)
        place = int(known_axis) % signal.shape.ndims
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


def _of_unknown_rank(
    signal: Any, length: Any, step: Any, pad_end: bool, pad_value: Any, axis: Any, scope: str
) -> Any:
    """Return frames of a signal whose rank or axis only the step knows."""
    sizes = array_ops.shape(signal)
    place = math_ops.range(raw.Size(sizes))[axis]
    before, size, after = sizes[:place], sizes[place], sizes[place + 1 :]
    three = [reduce_ops.reduce_prod(before), size, reduce_ops.reduce_prod(after)]
    frames = frame(array_ops.reshape(signal, array_ops.stack(three)), length, step, pad_end,
                   pad_value, axis=1)  # fmt: skip
    extents = [before, array_ops.shape(frames)[1:3], after]
    result = array_ops.reshape(frames, array_ops.concat(extents, 0), name=scope)
    if signal.shape.ndims is not None:
        result.set_shape([None] * (signal.shape.ndims + 1))
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

    The result has the shape [..., (frames - 1) * frame_step + length].

    Raises:
        ValueError: `frame_step` is not an integer scalar, or the rank is less than 2.
    """
    with scoped(name, "overlap_and_add", (signal, frame_step)) as scope:
        signal = convert.convert_to_tensor(signal, name="signal")
        signal.shape.with_rank_at_least(2)
        step = scalar(frame_step, "frame_step")
        if not step.dtype.is_integer:
            raise ValueError(f"frame_step must be an integer. Got {step.dtype}")
        rank = signal.shape.ndims
        sizes = array_ops.shape(signal)
        if rank is None:
            before, last = sizes[:-2], sizes[-2:]
            number = reduce_ops.reduce_prod(before, keepdims=True)
            three = array_ops.reshape(signal, array_ops.concat([number, last], 0))
            three.set_shape([None, None, None])
            added = overlap_and_add(three, step)
            extents = [before, array_ops.shape(added)[1:]]
            return array_ops.reshape(added, array_ops.concat(extents, 0), name=scope)
        frames, length = sizes[rank - 2], sizes[rank - 1]
        places = array_ops.expand_dims(math_ops.range(frames) * step, 1) + math_ops.range(length)
        total = length + step * (frames - 1)
        # Sum along the first axes, as segments do.
        first = [rank - 2, rank - 1, *range(rank - 2)]
        summed = raw.UnsortedSegmentSum(array_ops.transpose(signal, first), places, total)
        result = array_ops.transpose(summed, [*range(1, rank - 1), 0], name=scope)
        numbers = *signal.shape.as_list()[-2:], convert.constant_value(step)
        known = None if None in numbers else (numbers[0] - 1) * int(numbers[2]) + numbers[1]
        result.set_shape(signal.shape[:-2].concatenate([known]))
        return result


def enclosing_power_of_two(value: Any) -> Any:
    """Return the least power of 2 that is not less than a positive integer scalar."""
    known = convert.constant_value(value)
    if known is not None:
        return convert.constant(1 << (int(known) - 1).bit_length(), value.dtype)
    powers = convert.constant([1 << exponent for exponent in range(31)], value.dtype)
    return gather_ops.gather(
        powers, reduce_ops.reduce_sum(math_ops.cast(powers < value, dtypes.int32))
    )
