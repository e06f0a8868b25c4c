"""What programs register, and gradients that they shape, have TensorFlow's values and errors."""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan
from capstan.framework import conversions, registered_gradients

pytestmark = genuine.MARKS


class Celsius:
    """A number of a program."""

    def __init__(self, degrees: float) -> None:
        self.degrees = degrees


class Odd(Celsius):
    """A number that becomes a tensor of the wrong kind."""


@pytest.fixture
def converted(v1: Any) -> Any:
    """Register the same conversions with both packages, and take Capstan's back."""
    before = list(conversions.REGISTERED)
    for tf in (v1, capstan):

        def doubled(value: Any, dtype: Any = None, name: Any = None, as_ref: bool = False,
                    tf: Any = tf) -> Any:  # fmt: skip
            if value.degrees == 5.0:
                return NotImplemented
            return tf.constant(value.degrees * 2, dtype or tf.float32, name=name)

        def later(value: Any, dtype: Any = None, name: Any = None, as_ref: bool = False,
                  tf: Any = tf) -> Any:  # fmt: skip
            return tf.constant(value.degrees * 3, dtype or tf.float32, name=name)

        def odd(value: Any, dtype: Any = None, name: Any = None, as_ref: bool = False,
                tf: Any = tf) -> Any:  # fmt: skip
            return tf.constant("odd") if value.degrees == 1.0 else "odd"

        tf.register_tensor_conversion_function(Celsius, later, 110)
        tf.register_tensor_conversion_function((Celsius, frozenset), doubled)
        tf.register_tensor_conversion_function(Odd, odd, 50)
    yield
    conversions.REGISTERED[:] = before


def outcomes(v1: Any, build: Any) -> list[Any]:
    """Return the values of the results, or the type of the error, with each package."""
    found = []
    for tf in (v1, capstan):
        with tf.Graph().as_default(), tf.Session() as session:
            try:
                found.append(session.run(build(tf)))
            except (TypeError, ValueError, RuntimeError, AttributeError) as error:
                found.append(type(error).__name__)
    return found


@pytest.mark.usefixtures("converted")
@pytest.mark.parametrize(
    "build",
    [
        lambda tf: tf.convert_to_tensor(Celsius(1.5)),
        lambda tf: tf.convert_to_tensor(Celsius(2.0), tf.int32),
        lambda tf: tf.convert_to_tensor(Celsius(2.0), preferred_dtype=tf.float64),
        lambda tf: tf.convert_to_tensor(Celsius(5.0)),
        lambda tf: tf.add(Celsius(1.5), 1.0),
        lambda tf: tf.constant([1.0, 2.0]) * Celsius(1.5),
        lambda tf: tf.reduce_sum([1.0, 2.0]) + Celsius(5.0),
        lambda tf: tf.convert_to_tensor(Odd(1.0)),
        lambda tf: tf.convert_to_tensor(Odd(1.0), tf.float32),
        lambda tf: tf.convert_to_tensor(Odd(2.0)),
        lambda tf: tf.register_tensor_conversion_function(1, lambda value: value),
        lambda tf: tf.register_tensor_conversion_function((Celsius, 1), lambda value: value),
        lambda tf: tf.register_tensor_conversion_function(Celsius, 1),
    ],
)
def test_a_programs_conversions_are_used_as_by_tensorflow(v1: Any, build: Any) -> None:
    expected, found = outcomes(v1, build)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))
    assert np.asarray(found).dtype == np.asarray(expected).dtype


@pytest.mark.usefixtures("converted")
def test_a_conversion_that_is_registered_meanwhile_does_not_disturb_others() -> None:
    calls: list[Any] = []

    def meanwhile(value: Any, **_: Any) -> Any:
        assert not calls
        calls.append(value)
        capstan.register_tensor_conversion_function(bytearray, meanwhile, 1)
        return NotImplemented

    capstan.register_tensor_conversion_function(Celsius, meanwhile, 2)
    with capstan.Graph().as_default():
        capstan.convert_to_tensor(Celsius(1.5))
    assert len(calls) == 1


def through(tf: Any, wrap: Any, x: Any) -> Any:
    """Return the values and the gradients of a function with a variable."""
    with tf.variable_scope("scope", reuse=tf.AUTO_REUSE):
        weights = tf.get_variable("w", initializer=[2.0, 3.0], use_resource=True)

    def layer(x: Any) -> Any:
        with tf.variable_scope("scope", reuse=True):
            return tf.tanh(x * tf.get_variable("w", dtype=tf.float32))

    y = wrap(tf)(layer)(x)
    slopes = tf.gradients(tf.reduce_sum(y * y), [x, weights])
    return weights.initializer, [y, *(each for each in slopes if each is not None)]


@pytest.mark.parametrize("wrap", [lambda tf: tf.recompute_grad, lambda tf: tf.grad_pass_through])
def test_a_function_with_another_gradient_has_tensorflows_values(v1: Any, wrap: Any) -> None:
    found = []
    for tf in (v1, capstan):
        with tf.Graph().as_default(), tf.Session() as session:
            initializer, results = through(tf, wrap, tf.constant([0.5, -0.25]))
            session.run(initializer)
            found.append(session.run(results))
    for theirs, ours in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_the_steps_of_a_recomputed_function_are_computed_twice() -> None:
    metadata = capstan.RunMetadata()
    with capstan.Graph().as_default(), capstan.Session() as session:
        x = capstan.placeholder(capstan.float32, [2])
        parts = capstan.recompute_grad(lambda x: (capstan.exp(x), capstan.sin(x)))(x)
        (slope,) = capstan.gradients(parts, x)
        options = capstan.RunOptions(trace_level=capstan.RunOptions.FULL_TRACE)
        values = np.array([0.5, 1.0], np.float32)
        found = session.run([*parts, slope], {x: values}, options, metadata)
    kinds = [
        entry.timeline_label.split(" = ")[1].split("(")[0]
        for device in metadata.step_stats.dev_stats
        for entry in device.node_stats
    ]
    assert kinds.count("Exp") == 2
    np.testing.assert_allclose(found[2], np.exp(values) + np.cos(values), rtol=1e-6)


@pytest.mark.parametrize("register", ["NotDifferentiable", "NoGradient", "no_gradient"])
def test_gradients_end_where_a_program_says_so(
    v1: Any, register: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registered_gradients, "_REGISTERED", dict(registered_gradients._REGISTERED))
    name = f"EndOf{register}"
    for tf in (v1, capstan):
        getattr(tf, register)(name)
        with tf.Graph().as_default() as graph:
            x = tf.constant(1.0)
            with graph.gradient_override_map({"Square": name}):
                y = tf.square(x)
            assert tf.gradients(y, x) == [None]
            assert tf.gradients(y + x, x) != [None]
        with pytest.raises(TypeError):
            getattr(tf, register)(1)
        with pytest.raises(KeyError):
            getattr(tf, register)(name)
    with capstan.Graph().as_default() as graph, graph.gradient_override_map({"Square": name}):
        assert registered_gradients.get_gradient_function(capstan.square(1.0).op) is None


@pytest.mark.parametrize(
    "build",
    [
        lambda tf: tf.where_v2([[True], [False]], [1.0, 2.0], 3.0),
        lambda tf: tf.where_v2([[True], [False]]),
        lambda tf: tf.where_v2([True, False], 1.0),
        lambda tf: tf.floor_div([-7, 7, 5], [2, -2, 5]),
        lambda tf: tf.guarantee_const([[1, 2], [3, 4]]),
        lambda tf: tf.constant(tf.dimension_value(tf.Dimension(3))),
        lambda tf: tf.constant(tf.compat.dimension_value(4)),
        lambda tf: tf.constant(
            str(tf.dimension_at_index(tf.TensorShape([2, None]), 1) == tf.Dimension(None))
        ),
        lambda tf: tf.constant(tf.compat.dimension_at_index(tf.TensorShape([2, 3]), 1).value),
        lambda tf: tf.constant(str(tf.dimension_at_index(tf.TensorShape(None), 1))),
        lambda tf: [
            tf.constant([op.name for op in scope_of(tf).get_operations()]),
            tf.constant([variable.op.name for variable in tf.global_variables()]),
        ],
    ],
)
def test_small_functions_return_tensorflows_values(v1: Any, build: Any) -> None:
    expected, found = outcomes(v1, build)
    if not isinstance(expected, list):
        expected, found = [expected], [found]
    for theirs, ours in zip(expected, found, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def scope_of(tf: Any) -> Any:
    """Return the default graph, with operations in scopes of the old functions."""
    x = tf.constant(1.0)
    with tf.op_scope([x], None, "scope"):
        tf.constant(2.0)
    with tf.op_scope([x], "given", "scope"):
        tf.constant(3.0)
    with tf.variable_op_scope([x], None, "layer", reuse=False):
        tf.get_variable("v", [], use_resource=False, initializer=tf.zeros_initializer())
    return tf.get_default_graph()


@pytest.mark.parametrize("value", [1.0, np.nan, 0.0])
def test_all_floating_tensors_can_be_checked(v1: Any, value: float) -> None:
    raised = []
    for tf in (v1, capstan):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float32)
            y = tf.cast(1.0 / x, tf.float64)
            checks = tf.add_check_numerics_ops()
            try:
                raised.append(session.run([y, checks], {x: value}))
            except tf.errors.InvalidArgumentError as error:
                raised.append(str(error).partition(" : ")[0].rpartition("\n")[2])
    assert raised[0] == raised[1] != ""


def test_checks_refuse_conditionals(v1: Any) -> None:
    for tf in (v1, capstan):
        with tf.Graph().as_default():
            one, zero = tf.ones([]), tf.zeros([])
            tf.cond(tf.placeholder(tf.bool), lambda x=one: x + 1.0, lambda x=zero: x - 1.0)
            with pytest.raises(ValueError, match="not compatible with TensorFlow control flow"):
                tf.add_check_numerics_ops()
