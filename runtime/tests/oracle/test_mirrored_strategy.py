"""Strategies with several replicas compute what TensorFlow's strategies compute."""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS


def mirrored(tf: Any, count: int = 2) -> Any:
    return tf.distribute.MirroredStrategy([f"/cpu:{number}" for number in range(count)])


def central(tf: Any, count: int = 2) -> Any:
    devices = [f"/cpu:{number}" for number in range(count)]
    return tf.distribute.experimental.CentralStorageStrategy(devices, "/cpu:2")


def session(tf: Any, *more: Any) -> Any:
    """Return a session with four CPU devices, in which all variables have their values."""
    opened = tf.Session(config=tf.ConfigProto(device_count={"CPU": 4}))
    opened.run([tf.global_variables_initializer(), tf.local_variables_initializer(), *more])
    return opened


def values(run: Any, strategy: Any, value: Any) -> Any:
    found = run(list(strategy.experimental_local_results(value)))
    return [np.round(one, 4).tolist() for one in found]


def number(tf: Any, dtype: Any = None) -> Any:
    replica = tf.distribute.get_replica_context().replica_id_in_sync_group
    return tf.cast(replica, dtype or tf.float32)


def training(make: Any, optimizer: str, *options: float) -> Any:
    """Return a case that trains a model with a dense and a sparse gradient."""

    def case(tf: Any) -> Any:
        strategy = make(tf)
        source = tf.data.Dataset.from_tensor_slices(np.arange(12, dtype=np.float32) / 10).batch(4)
        iterator = strategy.make_dataset_iterator(source)
        with strategy.scope():
            rows = tf.get_variable("rows", [4, 2], initializer=tf.ones_initializer())
            slope = tf.get_variable("slope", initializer=3.0)
            algorithm = getattr(tf.train, optimizer)(*options)
            count = tf.train.get_or_create_global_step()

        def step(x: Any) -> Any:
            chosen = tf.nn.embedding_lookup(rows, [number(tf, tf.int32), 3])
            loss = tf.reduce_mean((slope * x - 1.0) ** 2) + tf.reduce_sum(chosen**2)
            with tf.control_dependencies([algorithm.minimize(loss, global_step=count)]):
                return tf.identity(loss)

        loss = strategy.run(step, args=(iterator.get_next(),))
        total = strategy.reduce(tf.distribute.ReduceOp.MEAN, loss, axis=None)
        names = [variable.name for variable in tf.global_variables()]
        with session(tf, iterator.initializer) as opened:
            losses = [np.round(opened.run(total), 3).tolist() for _ in range(3)]
            found = [values(opened.run, strategy, each) for each in (rows, slope)]
            return names, losses, found, int(opened.run(count))

    return case


def assignments(tf: Any) -> Any:
    strategy, how = mirrored(tf), tf.VariableAggregation
    on_read = {"synchronization": tf.VariableSynchronization.ON_READ, "trainable": False}
    with strategy.scope():
        written = [
            tf.Variable(1.0, aggregation=each)
            for each in (how.SUM, how.MEAN, how.ONLY_FIRST_REPLICA)
        ]
        read = [tf.Variable(1.0, aggregation=each, **on_read) for each in (how.SUM, how.MEAN)]
        plain = tf.Variable(1.0)
    added = strategy.run(lambda: [each.assign_add(number(tf) + 2) for each in (*written, *read)])
    with strategy.scope():
        for_all = [strategy.extended.read_var(each) for each in read]
        assigned = plain.assign(5.0)
    outside = plain.assign_add(1.0)
    with session(tf) as opened:
        opened.run([strategy.experimental_local_results(each) for each in added])
        found = [values(opened.run, strategy, each) for each in (*written, *read)]
        found.append(np.asarray(opened.run(for_all)).tolist())
        for change in (assigned, outside):
            opened.run(change)
            found.append(values(opened.run, strategy, plain))
        return found


def all_reduced(tf: Any) -> Any:
    strategy = mirrored(tf, 3)

    def step() -> Any:
        context = tf.distribute.get_replica_context()
        x = number(tf) + 1
        y, (z,) = context.all_reduce("sum", [x * x, [x]])
        return y, z, context.all_reduce("MEAN", x), tf.gradients(y * x, x)[0]

    found = strategy.run(step)
    with session(tf) as opened:
        return [values(opened.run, strategy, each) for each in found]


def reductions(tf: Any) -> Any:
    strategy, how = mirrored(tf), tf.distribute.ReduceOp
    value = strategy.run(lambda: tf.fill([number(tf, tf.int32) + 1, 2], number(tf) + 1))
    each = strategy.run(lambda: number(tf) + 1)
    found = [
        strategy.reduce(how.SUM, value, axis=0),
        strategy.reduce(how.MEAN, value, axis=0),
        strategy.reduce(how.SUM, each, axis=None),
        strategy.reduce(how.MEAN, each, axis=None),
    ]
    with session(tf) as opened:
        return [one.tolist() for one in opened.run(found)]


def batches(tf: Any) -> Any:
    """Return the parts of batches, also of those that cannot be divided evenly."""
    strategy, found = mirrored(tf), []
    for size, batch in ((10, 4), (7, 3), (5, 5)):
        iterator = strategy.make_dataset_iterator(tf.data.Dataset.range(size).batch(batch))
        found.append(_drained(tf, strategy, iterator))
    contexts: list[Any] = []

    def input_fn(context: Any) -> Any:
        contexts.append((context.num_replicas_in_sync, context.num_input_pipelines))
        return tf.data.Dataset.range(5)

    found.append(_drained(tf, strategy, strategy.make_input_fn_iterator(input_fn)))
    return found, contexts


def _drained(tf: Any, strategy: Any, iterator: Any) -> Any:
    parts = list(strategy.experimental_local_results(iterator.get_next()))
    found = []
    with session(tf, iterator.initializer) as opened:
        while True:
            try:
                found.append([one.tolist() for one in opened.run(parts)])
            except tf.errors.OutOfRangeError:
                return found


def loop(tf: Any) -> Any:
    strategy = mirrored(tf)
    source = tf.data.Dataset.range(16).map(lambda x: tf.cast(x, tf.float32)).batch(2)
    iterator = strategy.make_dataset_iterator(source)
    with strategy.scope():
        total = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)

    def step(context: Any, inputs: Any) -> Any:
        def replica(x: Any) -> Any:
            added = tf.reduce_sum(x)
            context.set_last_step_output("sum", added, tf.distribute.ReduceOp.SUM)
            return total.assign_add(added)

        found = strategy.run(replica, args=(inputs,))
        context.set_last_step_output("each", found)
        return strategy.group(found)

    start = {"sum": tf.constant(0.0), "each": [tf.constant(0.0)] * 2}
    context = strategy.extended.experimental_run_steps_on_iterator(
        step, iterator, iterations=4, initial_loop_values=start
    )
    last = context.last_step_outputs
    each = list(strategy.experimental_local_results(last["each"]))
    with session(tf, iterator.initializer) as opened:
        return np.ravel(opened.run([last["sum"], *each, context.run_op])[:3]).tolist()


def names(tf: Any) -> Any:
    """Return the names of operations in scopes around replicas and inside of them."""
    strategy = mirrored(tf)

    def step() -> Any:
        with tf.name_scope("inner"):
            merged = tf.distribute.get_replica_context().merge_call(
                lambda strategy: tf.constant(1.0, name="merged")
            )
        return tf.constant(1.0, name="own"), merged, tf.get_variable("v", [])

    with tf.name_scope("outer"), tf.variable_scope("scope"):
        own, merged, variable = strategy.run(step)
    copies = strategy.experimental_local_results(variable)
    return [each.name for each in (*strategy.experimental_local_results(own), merged, *copies)]


def _calls_once(tf: Any) -> Any:
    if tf.get_static_value(tf.distribute.get_replica_context().replica_id_in_sync_group) == 0:
        tf.distribute.get_replica_context().merge_call(lambda strategy: 1)


def _other_names(tf: Any) -> Any:
    context = tf.distribute.get_replica_context()
    tf.Variable(1.0, name=f"v{'xy'[int(tf.get_static_value(context.replica_id_in_sync_group))]}")


def _fails(tf: Any) -> Any:
    raise KeyError


def error(function: Any) -> Any:
    """Return a case in which replicas fail."""

    def case(tf: Any) -> Any:
        return mirrored(tf).run(lambda: function(tf))

    return case


def duplicates(tf: Any) -> Any:
    return tf.distribute.MirroredStrategy(["/cpu:0", "/device:CPU:0"])


def sum_of_equal_values(tf: Any) -> Any:
    return mirrored(tf).reduce(tf.distribute.ReduceOp.SUM, 1.0, axis=None)


CASES = {
    "gradient descent": training(mirrored, "GradientDescentOptimizer", 0.1),
    "momentum": training(mirrored, "MomentumOptimizer", 0.1, 0.9),
    "adam": training(mirrored, "AdamOptimizer", 0.1),
    "adagrad": training(mirrored, "AdagradOptimizer", 0.1),
    "ftrl": training(mirrored, "FtrlOptimizer", 0.1),
    "rmsprop": training(mirrored, "RMSPropOptimizer", 0.1),
    "shared variables": training(central, "AdamOptimizer", 0.1),
    "assignments": assignments,
    "all_reduce": all_reduced,
    "reductions": reductions,
    "batches": batches,
    "loop": loop,
    "names": names,
    "a merge_call in one replica": error(_calls_once),
    "other variables": error(_other_names),
    "an error in a replica": error(_fails),
    "a device twice": duplicates,
    "a sum of equal values": sum_of_equal_values,
}


def outcome(case: Any, tf: Any) -> Any:
    """Return the result of a case, or the type of its error."""
    with tf.Graph().as_default():
        try:
            return case(tf)
        except (RuntimeError, ValueError, KeyError, AssertionError) as fault:
            return type(fault)


@pytest.mark.parametrize("name", CASES)
def test_replicas_do_what_tensorflows_replicas_do(v1: Any, name: str) -> None:
    assert outcome(CASES[name], capstan) == outcome(CASES[name], v1)
