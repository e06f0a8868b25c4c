"""Initializers of variables: their values, distributions and configurations."""

from typing import Any

import interpreter
import numpy as np
import pytest

import capstan as tf


@pytest.fixture
def machine() -> interpreter.Interpreter:
    return interpreter.Interpreter()


@pytest.mark.parametrize(
    "initializer, dtype, expected",
    [
        (tf.zeros_initializer(), None, 0),
        (tf.zeros_initializer(), tf.int32, 0),
        (tf.zeros_initializer(), tf.bool, False),
        (tf.zeros_initializer(tf.string), None, b""),
        (tf.ones_initializer(), tf.int64, 1),
        (tf.ones_initializer(), tf.bool, True),
        (tf.constant_initializer(2.5), None, 2.5),
        (tf.constant_initializer([1, 2]), tf.int32, [[1, 2, 2], [2, 2, 2]]),
    ],
)
@pytest.mark.parametrize("side", [3, 2000])
def test_constant_initializers_create_their_constant(
    machine: interpreter.Interpreter, initializer: Any, dtype: Any, expected: Any, side: int
) -> None:
    value = machine.run(initializer([2, side], dtype=dtype))
    assert value.shape == (2, side)
    assert value[:, :3].tolist() == np.broadcast_to(np.array(expected), (2, 3)).tolist()
    if dtype is not None:
        assert tf.as_dtype(value.dtype) is dtype


@pytest.mark.parametrize(
    "initializer, mean, deviation, bound",
    [
        (tf.random_normal_initializer(3.0, 2.0, seed=1), 3, 2, None),
        (tf.truncated_normal_initializer(stddev=2.0, seed=1), 0, 2 * 0.8796, 4),
        (tf.random_uniform_initializer(-1, 3, seed=1), 1, 4 / 12**0.5, 3),
        (tf.glorot_uniform_initializer(seed=1), 0, (2 / 300) ** 0.5, (6 / 300) ** 0.5),
        (tf.glorot_normal_initializer(seed=1), 0, (2 / 300) ** 0.5, 2 / 0.8796 * (2 / 300) ** 0.5),
        (tf.variance_scaling_initializer(seed=1), 0, 0.1, 0.2 / 0.8796),
        (tf.variance_scaling_initializer(distribution="Normal", seed=1), 0, 0.1, 0.2 / 0.8796),
        (tf.variance_scaling_initializer(distribution="untruncated_normal", seed=1), 0, 0.1, None),
        (tf.initializers.he_normal(seed=1), 0, 0.02**0.5, 2 / 0.8796 * 0.02**0.5),
        (tf.initializers.he_uniform(seed=1), 0, 0.02**0.5, 0.06**0.5),
        (tf.initializers.lecun_normal(seed=1), 0, 0.1, 0.2 / 0.8796),
        (tf.initializers.lecun_uniform(seed=1), 0, 0.1, 0.03**0.5),
        (
            tf.variance_scaling_initializer(2.0, "fan_out", "uniform", seed=1),
            0,
            (2 / 200) ** 0.5,
            (6 / 200) ** 0.5,
        ),
        (tf.uniform_unit_scaling_initializer(2.0, seed=1), 0, 2 * 0.1, 2 * (3 / 100) ** 0.5),
    ],
)
def test_random_initializers_have_their_distribution(
    machine: interpreter.Interpreter, initializer: Any, mean: float, deviation: float, bound: Any
) -> None:
    value = machine.run(initializer([100, 200]))
    assert value.dtype == np.float32
    np.testing.assert_allclose(value.std(), deviation, rtol=0.03)
    np.testing.assert_allclose(value.mean(), mean, atol=4 * deviation / 20000**0.5)
    if bound is not None:
        assert np.abs(value).max() <= bound * (1 + 1e-6)


@pytest.mark.parametrize(
    "shape, fan_in, fan_out",
    [([7], 7, 7), ([], 1, 1), ([0, 1], 1, 1), ([3, 5], 3, 5), ([2, 2, 3, 5], 12, 20)],
)
def test_the_fan_of_a_kernel_includes_its_receptive_field(
    machine: interpreter.Interpreter, shape: list[int], fan_in: int, fan_out: int
) -> None:
    for mode, fan in (
        ("fan_in", fan_in),
        ("fan_out", fan_out),
        ("fan_avg", (fan_in + fan_out) / 2),
    ):
        value = tf.variance_scaling_initializer(3.0, mode, "uniform", seed=1)(shape)
        limit = (9 / fan) ** 0.5
        assert np.abs(machine.run(value)).max(initial=0) <= limit * (1 + 1e-6)
        # The limit is a constant of the graph.
        bounds = [
            float(op.get_attr("value"))
            for op in _constants(value)
            if op.get_attr("value").ndim == 0
        ]
        assert any(abs(bound + limit) < 1e-6 for bound in bounds)


def test_an_identity_initializer_creates_a_matrix_or_its_part(
    machine: interpreter.Interpreter,
) -> None:
    assert machine.run(tf.initializers.identity(2.0)([2, 3])).tolist() == [[2, 0, 0], [0, 2, 0]]
    split = tf.get_variable(
        "split", [4, 3], initializer=tf.initializers.identity(),
        partitioner=tf.fixed_size_partitioner(2),
    )  # fmt: skip
    parts = [machine.run(part.initial_value).tolist() for part in split]
    assert parts == [[[1, 0, 0], [0, 1, 0]], [[0, 0, 1], [0, 0, 0]]]
    with pytest.raises(ValueError, match="2D matrices"):
        tf.initializers.identity()([2, 2, 2])


def _constants(tensor: Any) -> list[Any]:
    return [
        op
        for op in tensor.graph.get_operations()
        if op.type == "Const" and op.get_attr("value").dtype == np.float32
    ]


@pytest.mark.parametrize(
    "build, message",
    [
        (
            lambda: tf.variance_scaling_initializer(0.0),
            "`scale` must be positive float, but is 0.0",
        ),
        (lambda: tf.variance_scaling_initializer(mode="x"), "Invalid `mode` argument: x"),
        (
            lambda: tf.variance_scaling_initializer(distribution="x"),
            "Invalid `distribution` argument: x",
        ),
        (
            lambda: tf.random_normal_initializer(dtype=tf.int32),
            "Expected floating point type, got <dtype: 'int32'>.",
        ),
    ],
)
def test_invalid_arguments_of_initializers_are_refused(build: Any, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        build()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "initializer",
    [
        tf.zeros_initializer(),
        tf.constant_initializer(3),
        tf.random_uniform_initializer(1, 2, seed=3),
        tf.truncated_normal_initializer(seed=1),
        tf.glorot_uniform_initializer(seed=5),
        tf.variance_scaling_initializer(2.0),
        tf.initializers.identity(3.0),
    ],
    ids=lambda initializer: type(initializer).__name__,
)
def test_an_initializer_can_be_recreated_from_its_config(initializer: Any) -> None:
    config = initializer.get_config()
    again = type(initializer).from_config(config)
    assert again.get_config() == config
    assert vars(again) == vars(initializer)


def test_the_default_initializer_is_zeros_for_integers_and_glorots_for_floats(
    machine: interpreter.Interpreter,
) -> None:
    assert tf.get_variable("i", [2], tf.int32).initial_value.op.type == "Const"
    floats = tf.get_variable("f", [50, 50])
    machine.run(tf.global_variables_initializer())
    assert 0.15 < np.abs(machine.run(floats.value())).max() <= (6 / 100) ** 0.5
