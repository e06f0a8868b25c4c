"""Fake quantization gives the numbers of TensorFlow bit by bit, and its gradients."""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan as tf

pytestmark = genuine.MARKS
RANDOM = np.random.default_rng(8)
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-30, 3e38], np.float32)
X = np.concatenate([RANDOM.normal(scale=3, size=4993).astype(np.float32), SPECIAL])
GRAD = RANDOM.normal(size=X.shape).astype(np.float32)
SMALL = X[:96].reshape(4, 6, 4)
LIMITS = [(-6.0, 6.0), (-1.3, 2.7), (0.0, 4.1), (-3.3, 0.0), (1.0, 2.0), (-3.0, -1.0), (-0.1, 7.9)]
CHANNELS = [-1.3, 0.0, -3.3, 1.0], [2.7, 0.0, 0.0, 2.0]


@pytest.mark.parametrize("bits", [2, 3, 8, 16])
@pytest.mark.parametrize("is_narrow", [False, True])
def test_fake_quantization_gives_the_numbers_of_tensorflow(
    v1: Any, bits: int, is_narrow: bool
) -> None:
    def program(tf: Any) -> list[Any]:
        options = {"num_bits": bits, "narrow_range": is_narrow}
        q, found = tf.quantization, []
        for low, high in LIMITS:
            found.append(q.fake_quant_with_min_max_args(X, low, high, **options))
            found.append(q.fake_quant_with_min_max_args_gradient(GRAD, X, low, high, **options))
            found.append(q.fake_quant_with_min_max_vars(X, low, high, **options))
        found.append(q.fake_quant_with_min_max_vars(X, 0.0, 0.0, **options))
        found.append(q.fake_quant_with_min_max_vars_per_channel(SMALL, *CHANNELS, **options))
        return found

    for own, expected in zip(run(tf, program), run(v1, program), strict=True):
        np.testing.assert_array_equal(own, expected)


@pytest.mark.parametrize("is_narrow", [False, True])
def test_the_limits_have_gradients(v1: Any, is_narrow: bool) -> None:
    x = X[:4800].reshape(40, 30, 4)

    def program(tf: Any) -> list[Any]:
        q, slope, found = tf.quantization, tf.constant(GRAD[:4800].reshape(x.shape)), []
        operands = [tf.constant(x)]
        for low, high in [*LIMITS, (0.0, 0.0)]:
            limits = [tf.constant(low), tf.constant(high)]
            y = q.fake_quant_with_min_max_vars(*operands, *limits, narrow_range=is_narrow)
            found += tf.gradients(y, [*operands, *limits], slope)
        limits = [tf.constant(limit) for limit in CHANNELS]
        y = q.fake_quant_with_min_max_vars_per_channel(*operands, *limits, narrow_range=is_narrow)
        found += tf.gradients(y, [*operands, *limits], slope)
        y = q.fake_quant_with_min_max_args(*operands, -1, 2, narrow_range=is_narrow)
        return found + tf.gradients(y, operands, slope)

    for own, expected in zip(run(tf, program), run(v1, program), strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("is_signed", [False, True])
def test_quantized_and_dequantized_numbers_are_those_of_tensorflow(
    v1: Any, dtype: Any, is_signed: bool
) -> None:
    x = np.array([*X[:500], *SPECIAL[1:5], 0.5, 1.5], dtype)
    finite = np.where(np.isfinite(x), x, 0)

    def program(tf: Any) -> list[Any]:
        found = []
        for low, high in [*LIMITS, (0.0, 0.0)]:
            for bits, is_narrow, mode in ((8, False, "HALF_UP"), (3, True, "HALF_TO_EVEN")):
                options = {"signed_input": is_signed, "narrow_range": is_narrow}
                for values, is_given in ((x, True), (finite, False), (x[:0], False)):
                    operands = [tf.constant(each, dtype) for each in (values, low, high)]
                    found.append(
                        tf.quantization.quantize_and_dequantize(
                            *operands,
                            num_bits=bits,
                            range_given=is_given,
                            round_mode=mode,
                            **options,
                        )
                    )
                    found += tf.gradients(tf.square(found[-1]), operands[0])
                    names = dict(zip(("input", "input_min", "input_max"), operands, strict=True))
                    found.append(
                        tf.raw_ops.QuantizeAndDequantizeV3(
                            **names, num_bits=bits, range_given=is_given, **options
                        )
                    )
        return found

    for own, expected in zip(run(tf, program), run(v1, program), strict=True):
        np.testing.assert_array_equal(own, expected)


def run(tf: Any, program: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session, np.errstate(all="ignore"):
        return session.run(program(tf))


WRONG = [
    (lambda q: q.fake_quant_with_min_max_args([1.0], 2, 1), "min has to be smaller than max"),
    (lambda q: q.fake_quant_with_min_max_args([1.0], num_bits=17), "between 2 and 16"),
    (lambda q: q.fake_quant_with_min_max_vars([1.0], -1.0, 1.0, num_bits=1), "between 2 and 16"),
    (lambda q: q.quantize_and_dequantize([1.0], 2.0, 1.0, range_given=True), "Invalid range"),
    (lambda q: q.quantize_and_dequantize([1.0], 0.0, 1.0, num_bits=0), "num_bits is out of range"),
]


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_a_wrong_range_is_refused_as_in_tensorflow(v1: Any, call: Any, message: str) -> None:
    with v1.Graph().as_default(), v1.Session() as session:
        value = call(v1.quantization)
        with pytest.raises(v1.errors.InvalidArgumentError, match=message):
            session.run(value)
    with tf.Graph().as_default(), tf.Session() as session:
        value = call(tf.quantization)
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            session.run(value)


def test_wrong_shapes_are_refused() -> None:
    unknown = tf.placeholder_with_default(np.float32([1, 2]), None)
    quantization = tf.quantization
    calls = [
        (quantization.fake_quant_with_min_max_vars([1.0], unknown, 2.0), "min must be a scalar"),
        (
            quantization.fake_quant_with_min_max_vars_per_channel([1.0], unknown, [2.0]),
            "min has incorrect size, expected 1",
        ),
        (
            quantization.fake_quant_with_min_max_args_gradient([1.0], unknown),
            "must be the same size",
        ),
    ]
    with tf.Session() as session:
        for value, message in calls:
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                session.run(value)
    for limits in ([1.0], [1.0, 2.0]):
        with pytest.raises(ValueError, match="shape"):
            quantization.fake_quant_with_min_max_vars([[1.0]], limits, 2.0)
        with pytest.raises(ValueError, match="shape"):
            quantization.fake_quant_with_min_max_vars_per_channel([[1.0]], [1.0], [*limits, 3.0])
