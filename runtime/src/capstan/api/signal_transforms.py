"""Transforms of frames of a signal (python/ops/signal/spectral_ops.py, fft_ops.py)."""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import array_ops, math_ops, reduce_ops, spectral_ops
from capstan.api.scoped import scoped
from capstan.api.signal_frames import enclosing_power_of_two, frame, overlap_and_add, scalar
from capstan.api.signal_windows import hann_window
from capstan.framework import convert
from capstan.framework.ops import last_axes
from capstan.framework.raw import raw

Window = Callable[..., Any]
"""Returns the window of a length, with the keyword `dtype`."""


def stft(
    signals: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Window | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Any:
    """Return the Fourier transforms of the frames of real signals [..., samples].

    `tf.signal.frame` explains `frame_step` and `pad_end`. `window_fn(frame_length, dtype=...)`
    returns the weights of a frame, or is None. `fft_length` is by default the least power of two
    from `frame_length` on.

    Returns:
        Complex numbers [..., frames, fft_length // 2 + 1].
    """
    with scoped(name, "stft", (signals, frame_length, frame_step)):
        signals = convert.convert_to_tensor(signals, name="signals")
        signals.shape.with_rank_at_least(1)
        length = scalar(frame_length, "frame_length")
        transform = _fft_length(fft_length, length)
        frames = frame(signals, length, scalar(frame_step, "frame_step"), pad_end)
        if window_fn is not None:
            frames *= window_fn(length, dtype=frames.dtype)
        return spectral_ops.rfft(frames, [transform])


def _fft_length(given: Any, frame_length: Any) -> Any:
    return enclosing_power_of_two(frame_length) if given is None else scalar(given, "fft_length")


def inverse_stft_window_fn(
    frame_step: Any, forward_window_fn: Window = hann_window, name: str | None = None
) -> Window:
    """Return the window with which `inverse_stft` gives back the signal of `stft`.

    `forward_window_fn` is the window of `stft`. Frames must overlap, or have no zero weights.
    """
    with scoped(name, "inverse_stft_window_fn", (forward_window_fn,)):
        step = scalar(frame_step, "frame_step")

    def window(frame_length: Any, dtype: Any) -> Any:
        with scoped(name, "inverse_stft_window_fn", (forward_window_fn,)):
            length = scalar(frame_length, "frame_length")
            forward = forward_window_fn(length, dtype=dtype)
            overlaps = -(-length // step)
            squares = array_ops.pad(math_ops.square(forward), [(0, overlaps * step - length)])
            total = reduce_ops.reduce_sum(
                array_ops.reshape(squares, [overlaps, step]), 0, keepdims=True
            )
            sums = array_ops.reshape(array_ops.tile(total, [overlaps, 1]), [overlaps * step])
            return forward / sums[:length]

    return window


def inverse_stft(
    stfts: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Window | None = hann_window,
    name: str | None = None,
) -> Any:
    """Return the signals [..., samples] of the transforms [..., frames, fft_length // 2 + 1].

    With `inverse_stft_window_fn(frame_step)` as `window_fn`, the signals are those of `stft`,
    except for their ends.
    """
    with scoped(name, "inverse_stft", (stfts,)):
        stfts = convert.convert_to_tensor(stfts, name="stfts")
        stfts.shape.with_rank_at_least(2)
        length, step = scalar(frame_length, "frame_length"), scalar(frame_step, "frame_step")
        transform = _fft_length(fft_length, length)
        frames = spectral_ops.irfft(stfts, [transform])
        lacking = math_ops.maximum(0, length - array_ops.shape(frames)[-1:])
        outer, known = stfts.shape[:-1], convert.constant_value(length)
        frames = last_axes.padded(frames[..., :length], lacking, 1, raw)
        frames.set_shape(outer.concatenate([None if known is None else int(known)]))
        if window_fn is not None:
            frames *= window_fn(length, dtype=stfts.dtype.real_dtype)
        return overlap_and_add(frames, step)


def fftshift(x: Any, axes: int | Sequence[int] | None = None, name: str | None = None) -> Any:
    """Roll the axes (all by default) by half of their sizes: frequency 0 is in the middle then.

    The sizes of the axes are known.
    """
    return _shifted(x, axes, name, "fftshift", lambda size: size // 2)


def ifftshift(x: Any, axes: int | Sequence[int] | None = None, name: str | None = None) -> Any:
    """Undo `fftshift`, also for axes of odd sizes. The sizes of the axes are known."""
    return _shifted(x, axes, name, "ifftshift", lambda size: -(size // 2))


def _shifted(x: Any, axes: Any, name: str | None, default: str, by: Callable[[int], int]) -> Any:
    with scoped(name, default, (x,)) as scope:
        x = convert.convert_to_tensor(x)
        if axes is None:
            axes = range(x.shape.ndims)
        places = [axes] if isinstance(axes, int) else list(axes)
        return raw.Roll(x, [by(int(x.shape[axis])) for axis in places], places, name=scope)
