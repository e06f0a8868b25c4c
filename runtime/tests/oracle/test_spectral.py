"""Discrete Fourier transforms and their gradients are TensorFlow's."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest
from oracle_tables import outcome

import capstan

pytestmark = genuine.MARKS

RANKS = ("", "2d", "3d")
KINDS = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def numbers(*shape: int, dtype: Any, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def complex_numbers(*shape: int, dtype: Any, seed: int = 0) -> Any:
    parts = numbers(2, *shape, dtype=dtype, seed=seed)
    return parts[0] + dtype(1) * parts[1] * np.array(1j, np.result_type(dtype, np.complex64))


def assert_alike(v1: Any, function: Callable[..., Any], *arrays: Any) -> None:
    found = []
    for tf in (capstan, v1):
        with tf.Graph().as_default(), tf.Session() as session:
            found.append(session.run(function(tf, *map(tf.constant, arrays))))
    for mine, expected in zip(*found, strict=True):
        assert mine.dtype == expected.dtype
        is_single = arrays[0].dtype in (np.float32, np.complex64)
        np.testing.assert_allclose(mine, expected, rtol=1e-4, atol=1e-5 if is_single else 1e-9)


@KINDS
@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize("name", ["fft", "ifft"])
def test_complex_transforms_and_gradients(v1: object, name: str, rank: str, dtype: Any) -> None:
    z = complex_numbers(2, 3, 4, 5, dtype=dtype)
    weights = complex_numbers(2, 3, 4, 5, dtype=dtype, seed=1)

    def transformed(tf: Any, z: Any, weights: Any) -> Any:
        y = getattr(tf.signal, name + rank)(z)
        return [y, *tf.gradients(y, [z], grad_ys=weights)]

    assert_alike(v1, transformed, z, weights)


@KINDS
@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize("length", [None, 3, 4, 5, 8])
def test_transforms_of_real_numbers(v1: object, rank: str, length: int | None, dtype: Any) -> None:
    x = numbers(2, 4, 5, 6, dtype=dtype)
    lengths = None if length is None else [length] * (RANKS.index(rank) + 1)
    assert_alike(v1, lambda tf, x: [getattr(tf.signal, f"rfft{rank}")(x, lengths)], x)


@KINDS
@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize("length", [None, 3, 4, 5, 8])
def test_transforms_to_real_numbers(v1: object, rank: str, length: int | None, dtype: Any) -> None:
    z = complex_numbers(2, 4, 5, 4, dtype=dtype)
    lengths = None if length is None else [length] * (RANKS.index(rank) + 1)
    assert_alike(v1, lambda tf, z: [getattr(tf.signal, f"irfft{rank}")(z, lengths)], z)


@KINDS
@pytest.mark.parametrize("rank", RANKS[:2])
@pytest.mark.parametrize("size", [5, 6])
def test_gradients_of_real_transforms(v1: object, rank: str, size: int, dtype: Any) -> None:
    x, z = numbers(2, 4, size, dtype=dtype), complex_numbers(2, 4, size // 2 + 1, dtype=dtype)

    def gradients(tf: Any, x: Any, z: Any) -> Any:
        lengths = [size] if not rank else [4, size]
        forward = getattr(tf.signal, f"rfft{rank}")(x)
        back = getattr(tf.signal, f"irfft{rank}")(z, lengths)
        return [*tf.gradients(forward, [x], grad_ys=z), *tf.gradients(back, [z], grad_ys=x)]

    assert_alike(v1, gradients, x, z)


@pytest.mark.parametrize("length", [3, 4, 6, 7])
def test_gradients_agree_with_difference_quotients_if_numbers_are_cut_or_added(
    length: int,
) -> None:
    with capstan.Graph().as_default(), capstan.Session():
        x = capstan.constant(numbers(2, 3, 5, dtype=np.float64))
        z = capstan.constant(complex_numbers(2, 3, 4, dtype=np.float64))
        for source, y in (
            (x, capstan.signal.rfft(x, [length])),
            (x, capstan.signal.rfft3d(x, [2, 3, length])),
            (z, capstan.signal.irfft(z, [length])),
            (z, capstan.signal.irfft3d(z, [2, 3, length])),
        ):
            shapes = source.shape.as_list(), y.shape.as_list()
            error = capstan.test.compute_gradient_error(source, shapes[0], y, shapes[1])
            assert error < 1e-6


def test_shapes_that_are_known_late(v1: object) -> None:
    def transformed(tf: Any, x: Any, z: Any) -> Any:
        x, z = (tf.placeholder_with_default(each, None) for each in (x, z))
        x.set_shape([None, None, None])
        z.set_shape([None, None, None])
        return [tf.signal.rfft(x), tf.signal.rfft2d(x, [2, 9]), tf.signal.irfft2d(z)]

    assert_alike(
        v1,
        transformed,
        numbers(2, 3, 4, dtype=np.float32),
        complex_numbers(2, 3, 4, dtype=np.float32),
    )


def test_empty_transforms(v1: object) -> None:
    x, z = np.zeros([2, 0], np.float32), np.zeros([0, 3], np.complex64)
    assert_alike(
        v1,
        lambda tf, x, z: [
            tf.signal.rfft(x),
            tf.signal.fft(z),
            tf.signal.rfft(x, [0]),
            tf.signal.irfft(z),
        ],
        x,
        z,
    )


def test_inputs_that_do_not_fit(v1: object) -> None:
    def without_padding(tf: Any) -> Any:
        module = tf.raw_ops if tf is not capstan else capstan.raw_ops
        return module.RFFT(input=np.zeros([2, 3], np.float32), fft_length=[4])

    for case in (
        without_padding,
        lambda tf: tf.raw_ops.RFFT(input=np.zeros([2, 3], np.float32), fft_length=[-1]),
        lambda tf: tf.signal.fft2d(np.zeros([2], np.complex64)),
    ):
        assert outcome(capstan, case)[0] == outcome(v1, case)[0]


def test_spectral_has_the_same_functions() -> None:
    for name in ("fft", "ifft2d", "rfft", "irfft3d"):
        assert getattr(capstan.spectral, name) is getattr(capstan.signal, name)
    assert capstan.fft is capstan.spectral.fft
    assert not hasattr(capstan, "rfft")
