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


SLICED = np.where(np.isfinite(SMALL), SMALL, 0)


def sliced(tf: Any, name: str, axis: int, **attrs: Any) -> tuple[Any, list[Any]]:
    """Return the result and the operands of a version of the op. Each slice has its own limits."""
    limits = (-1.2, 3.4) if axis == -1 else CHANNELS
    operands = [tf.constant(each, tf.float32) for each in (SLICED, *limits)]
    names = dict(zip(("input", "input_min", "input_max"), operands, strict=True))
    return getattr(tf.raw_ops, name)(**names, axis=axis, **attrs), operands


@pytest.mark.parametrize("axis", [-1, 0, 2])
@pytest.mark.parametrize("is_given", [False, True])
def test_each_slice_is_quantized_between_limits_of_its_own(
    v1: Any, axis: int, is_given: bool
) -> None:
    """TensorFlow 2.21 refuses limits of slices but for the third version and the gradient."""
    slopes = GRAD[: SLICED.size].reshape(SLICED.shape)

    def program(tf: Any) -> list[Any]:
        y, operands = sliced(tf, "QuantizeAndDequantizeV3", axis, num_bits=5, range_given=is_given)
        names = dict(zip(("input", "input_min", "input_max"), operands, strict=True))
        found = [y, *tf.raw_ops.QuantizeAndDequantizeV4Grad(gradients=slopes, **names, axis=axis)]
        for name in () if is_given and axis != -1 else ("V2", "V4"):
            for mode in ("HALF_UP", "HALF_TO_EVEN"):
                y, operands = sliced(
                    tf, f"QuantizeAndDequantize{name}", axis, round_mode=mode, range_given=is_given
                )
                taken = operands if name == "V4" else operands[:1]
                found += [y, *tf.gradients(y, taken, tf.constant(slopes))]
        return found

    for own, expected in zip(run(tf, program), run(v1, program), strict=True):
        np.testing.assert_array_equal(own, expected)


@pytest.mark.parametrize("axis", [0, 2])
def test_the_versions_agree_on_limits_of_slices(axis: int) -> None:
    def program(tf: Any) -> list[Any]:
        return [
            sliced(tf, f"QuantizeAndDequantize{name}", axis, num_bits=5, range_given=True)[0]
            for name in ("V2", "V3", "V4")
        ]

    second, third, fourth = run(tf, program)
    np.testing.assert_array_equal(second, third)
    np.testing.assert_array_equal(fourth, third)


@pytest.mark.parametrize("is_given", [False, True])
def test_the_first_version_has_its_limits_as_attributes(is_given: bool) -> None:
    """TensorFlow 2 builds no graph with it."""
    x = np.where(np.isfinite(X), X, 0)[:500]

    def program(tf: Any) -> list[Any]:
        limits = {"input_min": -1.5, "input_max": 2.5}
        options = {"num_bits": 5, "range_given": is_given}
        first = tf.raw_ops.QuantizeAndDequantize(input=x, **limits, **options)
        return [first, tf.raw_ops.QuantizeAndDequantizeV2(input=x, **limits, **options)]

    np.testing.assert_array_equal(*run(tf, program))


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


@pytest.mark.parametrize(
    ("axis", "limits", "message"),
    [(3, CHANNELS, "smaller than 3"), (0, ([0.0], [1.0]), "one element for each of 4 slices")],
)
def test_limits_that_fit_no_slices_are_refused(axis: int, limits: Any, message: str) -> None:
    def program(tf: Any) -> Any:
        x, *unknown = (tf.placeholder_with_default(np.float32(v), None) for v in (SMALL, *limits))
        return tf.raw_ops.QuantizeAndDequantizeV4(
            input=x, input_min=unknown[0], input_max=unknown[1], range_given=True, axis=axis
        )

    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        run(tf, program)


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
