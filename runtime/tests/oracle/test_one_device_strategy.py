"""A strategy with one device builds what TensorFlow's strategy builds."""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS


def devices(tf: Any) -> Any:
    """Return the devices of variables and operations, without the job of TensorFlow 2."""
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    with strategy.scope():
        variables = [tf.Variable(1.0), tf.get_variable("v", [2])]
    made = strategy.run(lambda: tf.constant(1.0))
    names = [each.device.replace("/job:localhost", "") for each in (*variables, made)]
    return names, [variable.op.type for variable in variables]


def context(tf: Any) -> Any:
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")

    def look() -> Any:
        return (
            tf.distribute.has_strategy(),
            tf.distribute.in_cross_replica_context(),
            tf.distribute.get_replica_context() is None,
        )

    def replica() -> Any:
        found = tf.distribute.get_replica_context()
        inner = found.merge_call(lambda strategy, number: (*look(), number), args=(4,))
        return look(), inner, found.num_replicas_in_sync, found.strategy is strategy

    with strategy.scope():
        return look(), strategy.run(replica), strategy.num_replicas_in_sync


def reductions(tf: Any) -> Any:
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    values = (tf.constant([[1, 2], [3, 5]]), tf.constant([[1.5, 2.5, 3.5]]))
    found = [
        strategy.reduce(reduction, value, axis)
        for value in values
        for reduction in ("SUM", "MEAN")
        for axis in (None, 0, 1, -1)
    ]
    with tf.Session() as session:
        return [(each.dtype, each.tolist()) for each in session.run(found)]


def training(tf: Any) -> Any:
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    source = tf.data.Dataset.from_tensor_slices(np.arange(6, dtype=np.float32)).batch(2)
    iterator = strategy.make_dataset_iterator(source)
    with strategy.scope():
        weight = tf.Variable(3.0)
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)

    def step(x: Any) -> Any:
        loss = tf.reduce_mean((weight * x - 1.0) ** 2)
        with tf.control_dependencies([optimizer.minimize(loss, var_list=[weight])]):
            return tf.identity(loss)

    loss = strategy.experimental_run(step, iterator)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(iterator.initialize())
        losses = [float(session.run(loss)) for _ in range(3)]
        return np.round([*losses, session.run(weight)], 4).tolist()


def loop(tf: Any) -> Any:
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    source = tf.data.Dataset.from_tensor_slices(np.arange(6, dtype=np.float32))
    iterator = strategy.make_dataset_iterator(source)
    with strategy.scope():
        total = tf.Variable(0.0)

    def step(context: Any, inputs: Any) -> Any:
        context.set_last_step_output("last", inputs * 2.0)
        return strategy.group(strategy.run(total.assign_add, args=(inputs,)))

    context = strategy.extended.experimental_run_steps_on_iterator(
        step, iterator, iterations=4, initial_loop_values={"last": tf.constant(0.0)}
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(iterator.initialize())
        _, last = session.run([context.run_op, context.last_step_outputs["last"]])
        return float(last), float(session.run(total))


def minimize_for_all(tf: Any) -> Any:
    with tf.distribute.OneDeviceStrategy("/cpu:0").scope():
        variable = tf.Variable(1.0)
        return tf.train.GradientDescentOptimizer(0.1).minimize(variable * 2.0)


def mixed(tf: Any) -> Any:
    first, second = (tf.distribute.OneDeviceStrategy("/cpu:0") for _ in range(2))
    with first.scope(), second.scope():
        return None


def nested(tf: Any) -> Any:
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    return strategy.run(lambda: strategy.run(lambda: 1))


CASES = [devices, context, reductions, training, loop, minimize_for_all, mixed, nested]


def outcome(case: Any, tf: Any) -> Any:
    """Return the result of a case, or the type of its error."""
    with tf.Graph().as_default():
        try:
            return case(tf)
        except (RuntimeError, ValueError) as error:
            return type(error)


@pytest.mark.parametrize("case", CASES)
def test_a_strategy_does_what_tensorflows_strategy_does(v1: Any, case: Any) -> None:
    assert outcome(case, capstan) == outcome(case, v1)
