"""The functions of `tf.signal` give TensorFlow's numbers, shapes, gradients and errors."""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan as tf

pytestmark = genuine.MARKS
ONE = np.ones([1], np.float32)
X = np.random.default_rng(4).standard_normal((2, 50)).astype(np.float32)


def run(tf: Any, program: Any, feeds: Any = None) -> tuple[list[Any], list[Any]]:
    with tf.Graph().as_default(), tf.Session() as session:
        placeholder = tf.placeholder(tf.int32, [], name="size")
        tensors = [tensor for tensor in program(tf, placeholder) if tensor is not None]
        values = session.run(tensors, {placeholder: 8 if feeds is None else feeds})
        return values, [
            None if tensor.shape.ndims is None else tensor.shape.as_list() for tensor in tensors
        ]


def check(v1: Any, program: Any, feeds: Any = None, tolerance: float = 1e-5) -> None:
    (own, shapes), (expected, known) = (run(module, program, feeds) for module in (tf, v1))
    for one, other in zip(own, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=tolerance)
    for one, other in zip(shapes, known, strict=True):
        if other is not None:
            assert one is not None
            assert len(one) == len(other)
            assert all(a == b or b is None for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("pad_end", [False, True])
@pytest.mark.parametrize(("length", "step"), [(8, 4), (8, 3), (5, 7), (60, 10), (1, 1)])
def test_a_signal_has_tensorflows_frames(v1: Any, length: int, step: int, pad_end: bool) -> None:
    def program(tf: Any, size: Any) -> Any:
        x = tf.constant(X)
        frames = tf.signal.frame(x, length, step, pad_end, 2.5)
        yield frames
        yield tf.gradients(frames * frames, x)[0]
        yield tf.signal.frame(tf.constant(X.T), length, step, pad_end, axis=0)
        yield tf.signal.frame(x, size, step, pad_end)

    check(v1, program)


@pytest.mark.parametrize(("length", "step"), [(8, 4), (8, 3), (5, 5), (3, 7)])
def test_frames_are_added(v1: Any, length: int, step: int) -> None:
    frames = np.random.default_rng(1).standard_normal((2, 3, 6, length)).astype(np.float32)

    def program(tf: Any, size: Any) -> Any:
        x = tf.constant(frames)
        signal = tf.signal.overlap_and_add(x, step)
        yield signal
        yield tf.gradients(signal * signal, x)[0]
        yield tf.signal.overlap_and_add(x, size)

    check(v1, program)


@pytest.mark.parametrize("length", [1, 2, 7, 8])
@pytest.mark.parametrize("periodic", [True, False])
def test_windows_are_tensorflows(v1: Any, length: int, periodic: bool) -> None:
    def program(tf: Any, size: Any) -> Any:
        for window in (tf.signal.hann_window, tf.signal.hamming_window):
            yield window(length, periodic)
            yield window(length, periodic, dtype=tf.float64)
            yield window(size, periodic)

    check(v1, program, feeds=length)


@pytest.mark.parametrize(
    "options", [{}, {"fft_length": 32}, {"window_fn": None}, {"pad_end": True}]
)
def test_short_transforms_are_tensorflows(v1: Any, options: Any) -> None:
    def program(tf: Any, size: Any) -> Any:
        x = tf.constant(X)
        spectra = tf.signal.stft(x, 12, 5, **options)
        yield spectra
        yield tf.gradients(tf.abs(spectra), x)[0]
        yield tf.signal.stft(x, size, 4, **options)
        back = {key: value for key, value in options.items() if key != "pad_end"}
        yield tf.signal.inverse_stft(spectra, 12, 5, **back)

    check(v1, program, tolerance=1e-4)


def test_a_signal_comes_back(v1: Any) -> None:
    def program(tf: Any, size: Any) -> Any:
        spectra = tf.signal.stft(tf.constant(X), 16, 4)
        window = tf.signal.inverse_stft_window_fn(4)
        yield tf.signal.inverse_stft(spectra, 16, 4, window_fn=window)
        yield window(16, dtype=tf.float32)

    check(v1, program)
    np.testing.assert_allclose(run(tf, program)[0][0][:, 16:32], X[:, 16:32], atol=1e-5)


@pytest.mark.parametrize("sizes", [None, [None, None], [2, None], [None, 50]])
def test_signals_of_unknown_shapes_are_transformed(v1: Any, sizes: Any) -> None:
    def program(tf: Any, size: Any) -> Any:
        x = tf.placeholder_with_default(X, sizes)
        for pad_end in (False, True):
            frames = tf.signal.frame(x, 8, 3, pad_end, 2.5)
            yield frames
            yield tf.gradients(frames * frames, x)[0]
            yield tf.signal.frame(x, 2, 1, pad_end, axis=0)
            yield tf.signal.frame(x, 8, 3, pad_end, axis=tf.placeholder_with_default(1, []))
        spectra = tf.signal.stft(x, 12, 5)
        yield spectra
        yield tf.gradients(tf.abs(spectra), x)[0]
        for transform in (16, 32):
            for length in (12, 20, size):
                yield tf.signal.inverse_stft(tf.signal.stft(x, 12, 5, 32), length, 5, transform)
        signal = tf.signal.overlap_and_add(frames, 3)
        yield signal
        yield tf.gradients(signal * signal, x)[0]
        yield tf.signal.overlap_and_add(x, size)

    check(v1, program, tolerance=1e-4)


@pytest.mark.parametrize(
    ("kind", "norm"), [(1, None), (2, None), (2, "ortho"), (3, None), (3, "ortho")]
)
def test_cosine_transforms_are_tensorflows(v1: Any, kind: int, norm: Any) -> None:
    def program(tf: Any, size: Any) -> Any:
        x = tf.constant(X)
        for n in (None, 20, 64):
            result = tf.signal.dct(x, kind, n=n, norm=norm)
            yield result
            yield tf.gradients(result * result, x)[0]
            yield tf.spectral.idct(x, kind, n=n, norm=norm)

    check(v1, program, tolerance=2e-2)


def test_mel_spectrograms_are_tensorflows(v1: Any) -> None:
    def program(tf: Any, size: Any) -> Any:
        yield tf.signal.linear_to_mel_weight_matrix()
        weights = tf.signal.linear_to_mel_weight_matrix(30, 65, 16000, 80.0, 7600.0)
        yield weights
        yield tf.signal.linear_to_mel_weight_matrix(
            30, tf.placeholder_with_default(65, []), 16000, 80.0, 7600.0
        )
        spectra = tf.abs(tf.signal.stft(tf.constant(X), 25, 10, 128))
        logarithms = tf.log(tf.tensordot(spectra, weights, 1) + 1e-3)
        yield tf.signal.mfccs_from_log_mel_spectrograms(logarithms)[..., :13]

    check(v1, program, tolerance=1e-3)


def test_spectra_are_shifted(v1: Any) -> None:
    def program(tf: Any, size: Any) -> Any:
        x = tf.constant(np.arange(60.0).reshape(3, 4, 5))
        for axes in (None, 1, [0, 2], -1):
            yield tf.signal.fftshift(x, axes)
            yield tf.signal.ifftshift(x, axes)

    check(v1, program)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda s: s.frame(1.0, 2, 1), ValueError),
        (lambda s: s.frame([1.0], [2], 1), ValueError),
        (lambda s: s.overlap_and_add([[1.0]], 1.5), ValueError),
        (lambda s: s.dct(ONE, 5), ValueError),
        (lambda s: s.dct(ONE, 1), ValueError),
        (lambda s: s.dct(X, 1, norm="ortho"), ValueError),
        (lambda s: s.dct(ONE, axis=0), NotImplementedError),
        (lambda s: s.dct(ONE, n=0), ValueError),
        (lambda s: s.linear_to_mel_weight_matrix(0), ValueError),
        (lambda s: s.linear_to_mel_weight_matrix(lower_edge_hertz=5000.0), ValueError),
        (lambda s: s.linear_to_mel_weight_matrix(upper_edge_hertz=5000.0), ValueError),
    ],
)
def test_wrong_arguments_are_refused(v1: Any, call: Any, error: Any) -> None:
    for module in (v1, tf):
        with module.Graph().as_default(), pytest.raises(error):
            call(module.signal)


def test_a_window_has_floats() -> None:
    with pytest.raises(ValueError, match="must be a floating point type"):
        tf.signal.hann_window(3, dtype=tf.int32)
