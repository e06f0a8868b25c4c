"""Tensors of quantized types have TensorFlow's levels and limits, bit by bit."""

import warnings
from typing import Any

import genuine
import numpy as np
import pytest

import capstan as tf

pytestmark = genuine.MARKS
RANDOM = np.random.default_rng(12)
TYPES = ("qint8", "quint8", "qint16", "quint16", "qint32")
LIMITS = [(-6.0, 6.0), (-1.3, 2.7), (0.0, 4.1), (-3.3, 0.0), (1.0, 2.0), (0.0, 0.001), (-0.1, 7.9)]
X = RANDOM.normal(scale=3, size=(7, 11, 4)).astype(np.float32)


def run(tf: Any, program: Any) -> list[Any]:
    """Return the values of the tensors of a program. Levels are integers."""
    with tf.Graph().as_default(), tf.Session() as session:
        return [np.asarray(value) for value in session.run(list(program(tf)))]


def check(v1: Any, program: Any, **tolerance: float) -> list[Any]:
    own, expected = run(tf, program), run(v1, program)
    for one, other in zip(own, expected, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        if tolerance:
            np.testing.assert_allclose(one, other, **tolerance)
        else:
            np.testing.assert_array_equal(one, other)
    return own


def levels(tf: Any, name: str, shape: Any, seed: int = 0) -> Any:
    """Return a constant with random levels."""
    kind = np.dtype(name.removeprefix("q"))
    bounds = np.iinfo(kind)
    values = np.random.default_rng(seed).integers(bounds.min, bounds.max, shape, kind, True)
    return tf.constant(values.view([(name, kind)]), getattr(tf, name))


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("mode", ["MIN_COMBINED", "MIN_FIRST", "SCALED"])
def test_numbers_are_quantized_and_read_back(v1: Any, name: str, mode: str) -> None:
    def program(tf: Any) -> Any:
        rounds = ["HALF_AWAY_FROM_ZERO", *(["HALF_TO_EVEN"] if mode == "SCALED" else [])]
        for low, high in LIMITS:
            for rounding in rounds:
                # A level of 32 bits at the limit itself is undefined in TensorFlow.
                x = np.clip(X, low + 0.01 * (high - low), high - 0.01 * (high - low))
                result = tf.quantization.quantize(
                    x, low, high, getattr(tf, name), mode=mode, round_mode=rounding
                )
                yield from result
                yield tf.quantization.dequantize(*result, mode=mode)

    check(v1, program)


def test_a_cast_of_complex_numbers_to_levels_warns_of_nothing() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.complex64, [2])
        numbers = tf.bitcast(tf.cast(x, tf.qint8), tf.int8)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = session.run(numbers, {x: [3 + 5j, -4 + 6j]})
    assert found.tolist() == [3, -4]


@pytest.mark.parametrize("name", TYPES)
def test_numbers_are_cast_to_levels_and_back(v1: Any, name: str) -> None:
    def program(tf: Any) -> Any:
        cast = tf.cast([[1, -2, 300]], getattr(tf, name))
        yield from (cast, tf.cast(cast, tf.float32), tf.cast(cast, tf.qint8))
        yield tf.cast(tf.reshape(levels(tf, name, (3, 4)), [2, 6]), tf.int64)
        yield tf.cast(True, getattr(tf, name))
        yield tf.cast(tf.complex([3.0, -4.0], [5.0, 6.0]), getattr(tf, name))

    check(v1, program)


@pytest.mark.parametrize("name", TYPES[:4])
def test_numbers_outside_of_the_limits_are_the_nearest_levels(v1: Any, name: str) -> None:
    def program(tf: Any) -> Any:
        for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
            for low, high in LIMITS:
                yield from tf.quantize_v2(X, low, high, getattr(tf, name), mode=mode)

    check(v1, program)


def test_matrices_are_multiplied(v1: Any) -> None:
    def program(tf: Any) -> Any:
        for seed, turned in enumerate([(False, False), (True, False), (False, True), (True, True)]):
            a = levels(tf, "quint8", (30, 5) if turned[0] else (5, 30), seed)
            b = levels(tf, "quint8", (8, 30) if turned[1] else (30, 8), seed + 9)
            yield from tf.raw_ops.QuantizedMatMul(
                a=a, b=b, min_a=-1.5, max_a=2.0, min_b=0.5, max_b=3.0,
                transpose_a=turned[0], transpose_b=turned[1],
            )  # fmt: skip

    check(v1, program)


@pytest.mark.parametrize(
    "sizes", [((6, 4), (4,)), ((4,), (6, 4)), ((3, 4), ()), ((5,), (5,)), ((), (7,))]
)
def test_numbers_are_added_and_multiplied(v1: Any, sizes: Any) -> None:
    def program(tf: Any) -> Any:
        for low, high in LIMITS[:5]:
            x, y = (levels(tf, "quint8", shape, seed) for seed, shape in enumerate(sizes))
            limits = {"min_x": low, "max_x": high, "min_y": -2.0, "max_y": 1.7}
            yield from tf.raw_ops.QuantizedMul(x=x, y=y, Toutput=tf.qint32, **limits)
            yield from tf.raw_ops.QuantizedAdd(x=x, y=y, Toutput=tf.qint32, **limits)

    check(v1, program)


@pytest.mark.parametrize("name", ["quint8", "qint8"])
def test_biases_are_added(v1: Any, name: str) -> None:
    def program(tf: Any) -> Any:
        for low, high in LIMITS[:5]:
            x, bias = levels(tf, name, (2, 3, 5)), levels(tf, name, (5,), 1)
            yield from tf.raw_ops.QuantizedBiasAdd(
                input=x, bias=bias, min_input=low, max_input=high, min_bias=-0.7, max_bias=2.3,
                out_type=tf.qint32,
            )  # fmt: skip

    check(v1, program)


@pytest.mark.parametrize("wanted", ["quint8", "qint8"])
def test_ranges_are_changed(v1: Any, wanted: str) -> None:
    def program(tf: Any) -> Any:
        for seed, (low, high) in enumerate(LIMITS):
            x = levels(tf, "qint32", (6, 9), seed)
            found = tf.raw_ops.RequantizationRange(input=x, input_min=low, input_max=high)
            yield from found
            yield from tf.raw_ops.Requantize(
                input=x, input_min=low, input_max=high, requested_output_min=found[0],
                requested_output_max=found[1], out_type=getattr(tf, wanted),
            )  # fmt: skip
            yield from tf.raw_ops.Requantize(
                input=x, input_min=low, input_max=high, requested_output_min=-1.0,
                requested_output_max=1.0, out_type=getattr(tf, wanted),
            )  # fmt: skip
            yield from tf.raw_ops.QuantizeDownAndShrinkRange(
                input=x, input_min=low, input_max=high, out_type=tf.quint8
            )

    check(v1, program)


@pytest.mark.parametrize("name", ["quint8", "qint32"])
def test_activations_are_clamped(v1: Any, name: str) -> None:
    def program(tf: Any) -> Any:
        for low, high in [(-6.0, 9.0), (0.0, 4.0), (-1.0, 20.0)]:
            limits = {"min_features": low, "max_features": high}
            kind = getattr(tf, name)
            for op in (tf.raw_ops.QuantizedRelu, tf.raw_ops.QuantizedRelu6):
                yield from op(features=levels(tf, name, (40,)), **limits, out_type=kind)

    check(v1, program)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("stride", [1, 2])
def test_images_are_convolved_and_pooled(v1: Any, padding: str, stride: int) -> None:
    strides = [1, stride, stride, 1]

    def program(tf: Any) -> Any:
        for seed, (low, high) in enumerate([(-1.0, 2.0), (0.0, 3.0), (-2.0, 0.0)]):
            images = levels(tf, "quint8", (2, 7, 6, 3), seed)
            yield from tf.nn.quantized_conv2d(
                images, levels(tf, "quint8", (3, 2, 3, 4), seed + 5),
                low, high, -0.4, 0.9, strides, padding,
            )  # fmt: skip
            window = [1, 3, 2, 1]
            yield from tf.nn.quantized_max_pool(images, low, high, window, strides, padding)
            yield from tf.nn.quantized_avg_pool(images, low, high, window, strides, padding)

    check(v1, program)


@pytest.mark.parametrize("is_scaled", [True, False])
def test_batches_are_normalized(v1: Any, is_scaled: bool) -> None:
    def program(tf: Any) -> Any:
        inputs: dict[str, Any] = {}
        for seed, (name, low, high) in enumerate(
            [("t", -3.0, 5.0), ("m", -1.0, 1.0), ("v", 0.1, 4.0), ("beta", -1, 2), ("gamma", 0, 3)]
        ):
            shape = (2, 3, 4, 5) if name == "t" else (5,)
            inputs |= {name: levels(tf, "quint8", shape, seed), f"{name}_min": float(low)}
            inputs[f"{name}_max"] = float(high)
        yield from tf.raw_ops.QuantizedBatchNormWithGlobalNormalization(
            **inputs, out_type=tf.qint32, variance_epsilon=0.01, scale_after_normalization=is_scaled
        )

    check(v1, program)


@pytest.mark.parametrize("given", [{}, {"given_y_min": -1.5, "given_y_max": 2.0}])
def test_instances_are_normalized(v1: Any, given: Any) -> None:
    def program(tf: Any) -> Any:
        yield from tf.raw_ops.QuantizedInstanceNorm(
            x=levels(tf, "quint8", (2, 5, 4, 3)), x_min=-3.0, x_max=4.0,
            output_range_given=bool(given), **given,
        )  # fmt: skip

    check(v1, program, atol=1)


@pytest.mark.parametrize("name", ["quint8", "qint32"])
def test_tensors_are_joined_and_reshaped(v1: Any, name: str) -> None:
    def program(tf: Any) -> Any:
        parts = [levels(tf, name, (2, size), size) for size in (1, 3, 2)]
        yield from tf.quantization.quantized_concat(1, parts, [-1.0, 0.0, -2.0], [2.0, 2.5, 2.5])
        yield from tf.quantized_concat(0, parts[2:] * 2, [0.5, 0.5], [2.0, 2.0])
        yield from tf.raw_ops.QuantizedReshape(
            tensor=parts[1], shape=[3, -1], input_min=-1.0, input_max=2.0
        )

    check(v1, program)


@pytest.mark.parametrize("name", TYPES)
def test_a_quantized_type_has_tensorflows_properties(v1: Any, name: str) -> None:
    own, other = getattr(tf, name), getattr(v1, name)
    assert own.as_numpy_dtype == other.as_numpy_dtype
    names = ("as_datatype_enum", "is_quantized", "is_integer", "is_floating", "size", "name")
    for each in (*names, "is_numpy_compatible"):
        assert getattr(own, each) == getattr(other, each)
    assert getattr(tf.dtypes, name) is own
    assert own in tf.QUANTIZED_DTYPES
    for dtype in (own, other):
        with pytest.raises(TypeError, match="Cannot find minimum value"):
            dtype.min  # noqa: B018
    check(v1, lambda tf: [levels(tf, name, (3, 4)), tf.constant([[(3,), (4,)]], getattr(tf, name))])


@pytest.mark.parametrize("name", TYPES)
def test_tensors_of_quantized_types_travel_between_tasks(
    v1: Any, tasks: genuine.Tasks, name: str
) -> None:
    with v1.Graph().as_default(), v1.Session(tasks.target()) as session:
        with v1.device("/job:ps/task:0"):
            held = v1.identity(levels(v1, name, (3, 4)))
        with v1.device("/job:worker/task:0"):
            moved = v1.reshape(held, [-1])
        fed = v1.placeholder(getattr(v1, name), [2])
        found = session.run([moved, v1.identity(fed)], {fed: [1, 2]})
    assert found[0].dtype == name.removeprefix("q")
    (expected,) = run(tf, lambda tf: [levels(tf, name, (12,))])
    np.testing.assert_array_equal(found[0], expected)
    assert found[1].tolist() == [1, 2]


def test_a_clamp_has_a_maximum_of_the_user() -> None:
    def program(tf: Any) -> Any:
        yield from tf.nn.quantized_relu_x(
            tf.constant([0, 40, 100, 255], tf.quint8), 4.0, -1.0, 9.0, tf.quint8
        )

    found, low, high = run(tf, program)
    np.testing.assert_array_equal(found, [26, 40, 100, 128])
    assert (low, high) == (-1.0, 9.0)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (lambda tf: tf.quantize([1.0], 2.0, 1.0, tf.quint8), "must be larger than"),
        (
            lambda tf: tf.quantize([1.0], 0.0, 1.0, tf.quint8, round_mode="HALF_TO_EVEN"),
            "only supported for mode 'SCALED'",
        ),
        (
            lambda tf: tf.raw_ops.QuantizedMatMul(
                a=levels(tf, "quint8", (2, 2)), b=levels(tf, "quint8", (2, 2)), min_a=1.0,
                max_a=1.0, min_b=0.0, max_b=1.0,
            ),
            "max_a must be larger than min_a",
        ),
        (
            lambda tf: tf.raw_ops.Requantize(
                input=levels(tf, "qint32", (2,)), input_min=0.0, input_max=1.0,
                requested_output_min=0.5, requested_output_max=1.0, out_type=tf.quint8,
            ),
            "requested_output_min must be <= 0",
        ),
        (
            lambda tf: tf.nn.quantized_conv2d(
                levels(tf, "quint8", (1, 3, 3, 1)), levels(tf, "quint8", (2, 2, 1, 1)),
                0.0, 1.0, 0.0, 1.0, [1, 1, 2, 1], "SAME",
            ),
            "only supports equal length",
        ),
    ],
)  # fmt: skip
def test_wrong_operands_are_refused(v1: Any, program: Any, message: str) -> None:
    for module in (v1, tf):
        with pytest.raises(module.errors.InvalidArgumentError, match=message):
            run(module, program)


def test_the_static_shapes_are_tensorflows(v1: Any) -> None:
    def shapes(tf: Any) -> Any:
        with tf.Graph().as_default():
            images = tf.placeholder(tf.quint8, [None, 7, 6, 3])
            kernel = tf.placeholder(tf.quint8, [3, 2, 3, 4])
            limits = [0.0, 1.0]
            found = [
                tf.nn.quantized_conv2d(images, kernel, *limits, *limits, [1, 2, 2, 1], "SAME"),
                tf.nn.quantized_max_pool(images, *limits, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
                tf.quantized_concat(1, [images, images], [0.0, 0.0], [1.0, 1.0]),
                tf.raw_ops.QuantizedReshape(
                    tensor=kernel, shape=[-1, 8], input_min=0.0, input_max=1.0
                ),
                tf.quantize(tf.placeholder(tf.float32, [2, None]), 0.0, 1.0, tf.qint8),
            ]
            return [[tensor.shape.as_list() for tensor in result] for result in found]

    assert shapes(tf) == shapes(v1)
