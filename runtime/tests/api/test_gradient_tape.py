"""`tf.GradientTape`: what TensorFlow refuses in a graph, and the errors."""

from typing import Any

import pytest

import capstan as tf


def value_of(tensors: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(tensors)


def test_a_tape_goes_through_conditionals_and_loops() -> None:
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.cond(x > 2.0, lambda: x * x, lambda: x)
        # The loop starts with a constant. Only its later iterations read x.
        _, z = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a + x * x), [0, 0.0])
    assert value_of([tape.gradient(y, x), tape.gradient(z, x)]) == [6.0, 18.0]


@pytest.mark.parametrize("caching_device", [None, "/cpu:0"])
@pytest.mark.parametrize("use_resource", [False, True])
def test_a_tape_watches_the_variables_that_its_operations_read(
    use_resource: bool, caching_device: str | None
) -> None:
    v = tf.get_variable(
        "v", initializer=2.0, use_resource=use_resource, caching_device=caching_device
    )
    tf.get_variable("unread", initializer=2.0, use_resource=use_resource)
    with tf.GradientTape() as tape:
        y = v * v
    assert tape.watched_variables() == (v,)
    assert value_of(tape.gradient(y, [v])) == [4.0]


def test_a_variable_that_is_no_resource_can_be_watched() -> None:
    v = tf.get_variable("v", initializer=2.0, trainable=False)
    with tf.GradientTape() as tape:
        tape.watch(v)
        y = v * v
    assert value_of(tape.gradient(y, v)) == 4.0


def test_a_tape_names_the_variables_that_a_program_lets_it_watch() -> None:
    fixed, free = (
        tf.get_variable(name, initializer=2.0, use_resource=True, trainable=name == "free")
        for name in ("fixed", "free")
    )
    with tf.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch([free, fixed])
    assert tape.watched_variables() == (fixed, free)
    tape.reset()
    assert tape.watched_variables() == ()


def test_a_tape_computes_gradients_once_unless_it_is_persistent() -> None:
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="persistent=True"):
        tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="persistent=True"):
        tape.jacobian(y, x)


def test_a_gradient_in_the_block_ends_the_record_unless_the_tape_is_persistent() -> None:
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        tape.gradient(x * x, x)
        with pytest.raises(RuntimeError, match="not recording"), tape.stop_recording():
            pass
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tape.gradient(x * x * x, x)
        z = tape.gradient(y, x)
    assert value_of(z) == 18.0


def test_a_tape_that_records_cannot_begin_again() -> None:
    with tf.GradientTape() as tape, pytest.raises(ValueError, match="still recording"), tape:
        pass


def test_wrong_arguments_are_refused() -> None:
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        with pytest.raises(ValueError, match=r"tensors and variables. 3.0 is neither"):
            tape.watch([x, 3.0])
        y = x * x
    with pytest.raises(TypeError, match="target of a GradientTape is None"):
        tape.gradient(None, x)
    with pytest.raises(ValueError, match="Unknown value for unconnected_gradients"):
        tape.gradient(y, x, unconnected_gradients="ones")
    with pytest.raises(RuntimeError, match="not recording"), tape.stop_recording():
        pass
