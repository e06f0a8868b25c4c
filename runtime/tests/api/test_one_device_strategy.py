"""A strategy with one device places variables and functions, and reduces values."""

import threading
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan import contrib

CPU = "/replica:0/task:0/device:CPU:0"


@pytest.fixture
def strategy() -> Any:
    return tf.distribute.OneDeviceStrategy("/cpu:0")


def test_variables_of_the_scope_are_resources_on_the_device() -> None:
    strategy = tf.distribute.OneDeviceStrategy("/job:worker/task:2/gpu:1")
    outside = tf.Variable(1.0)
    with strategy.scope() as opened:
        assert opened is strategy
        made = [tf.Variable(1.0), tf.get_variable("v", [2], use_resource=False)]
    for variable in made:
        assert variable.op.type == "VarHandleOp"
        assert variable.device == "/job:worker/replica:0/task:2/device:GPU:1"
        assert strategy.extended.variable_created_in_scope(variable)
    assert not strategy.extended.variable_created_in_scope(outside)
    assert outside.device == ""


def test_a_variable_may_be_beside_another_one(strategy: Any) -> None:
    with strategy.scope():
        with tf.device("/job:ps/task:1/cpu:0"):
            first = tf.Variable(1.0)
        with strategy.extended.colocate_vars_with(first):
            second = tf.Variable(2.0)
    assert second.device == first.device == "/job:ps" + CPU
    with pytest.raises(RuntimeError, match="Need to be inside"):
        strategy.extended.colocate_vars_with(first)


def test_partitioners_have_no_effect_in_the_scope(strategy: Any) -> None:
    with strategy.scope(), tf.variable_scope("a", partitioner=tf.fixed_size_partitioner(2)):
        variable = tf.get_variable("v", [4])
    assert variable.name == "a/v:0"
    assert variable.shape == [4]


def test_a_function_runs_on_the_device(strategy: Any) -> None:
    made = strategy.experimental_run_v2(
        lambda x, *, y: tf.add(x, y), args=(tf.constant(1),), kwargs={"y": 2}
    )
    assert made.device == CPU
    assert strategy.experimental_local_results(made) == strategy.unwrap(made) == (made,)
    with tf.Session() as session:
        assert session.run(made) == 3


def test_the_context_tells_who_builds_the_graph(strategy: Any) -> None:
    default = tf.distribute.get_strategy()
    assert not tf.distribute.has_strategy()
    assert tf.distribute.get_replica_context().strategy is default

    def in_all(found: Any, number: int) -> int:
        assert found is strategy
        assert tf.distribute.in_cross_replica_context()
        return number + 1

    def in_replica() -> None:
        context = tf.distribute.get_replica_context()
        assert context.strategy is tf.distribute.get_strategy() is strategy
        assert context.devices == (CPU,)
        assert context.num_replicas_in_sync == 1
        assert tf.get_static_value(context.replica_id_in_sync_group) == 0
        assert context.merge_call(in_all, (1,)) == 2
        assert context.all_reduce("sum", 7) == 7
        with pytest.raises(RuntimeError, match="merge_call"):
            strategy.reduce("SUM", 1)

    with strategy.scope():
        assert tf.distribute.has_strategy()
        assert tf.distribute.get_strategy() is strategy
        assert tf.distribute.get_replica_context() is None
        assert contrib.distribute.get_cross_replica_context() is strategy
        strategy.experimental_run_v2(in_replica)
        with strategy.scope():
            assert tf.distribute.in_cross_replica_context()
        assert tf.distribute.in_cross_replica_context()
    assert tf.distribute.get_strategy() is default


def test_strategies_cannot_be_mixed(strategy: Any) -> None:
    other = tf.distribute.OneDeviceStrategy("/cpu:0")
    with strategy.scope(), pytest.raises(RuntimeError, match="Mixing different"), other.scope():
        pass


def test_the_scope_is_that_of_one_thread(strategy: Any) -> None:
    graph, found = tf.get_default_graph(), []

    def look() -> None:
        with graph.as_default():
            found.append(tf.distribute.has_strategy())

    with strategy.scope():
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert found == [False]


@pytest.mark.parametrize(
    ("reduction", "axis", "expected"),
    [("SUM", None, [[1, 2], [3, 5]]), ("sum", 0, [4, 7]), ("MEAN", -1, [1.5, 4.0])],
)
def test_a_value_is_reduced_along_an_axis(
    strategy: Any, reduction: str, axis: int | None, expected: Any
) -> None:
    value = tf.constant([[1, 2], [3, 5]])
    with tf.Session() as session:
        found = session.run(strategy.reduce(tf.distribute.ReduceOp(reduction.upper()), value, axis))
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(session.run(strategy.reduce(reduction, value, axis)), found)
    with pytest.raises(ValueError, match="PRODUCT"):
        strategy.reduce("product", value)


def test_the_iterators_give_the_elements_of_an_input(strategy: Any) -> None:
    dataset = tf.data.Dataset.range(4).batch(2)
    contexts = []

    def input_fn(context: Any) -> Any:
        contexts.append(context)
        return dataset

    iterators = [strategy.make_dataset_iterator(dataset), strategy.make_input_fn_iterator(input_fn)]
    steps = [strategy.experimental_run(lambda x: x * 10, each) for each in iterators]
    assert contexts[0].get_per_replica_batch_size(6) == 6
    with tf.Session() as session:
        session.run([each.initialize() for each in iterators])
        for expected in ([0, 10], [20, 30]):
            for found in session.run(steps):
                np.testing.assert_array_equal(found, expected)
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(steps)
    calls = strategy.make_input_fn_iterator(lambda _: lambda: 3)
    assert calls.get_next() == 3
    with pytest.raises(ValueError, match="must return"):
        strategy.make_input_fn_iterator(lambda _: 3)


def test_a_loop_runs_several_steps(strategy: Any) -> None:
    with strategy.scope():
        total = tf.Variable(0.0)
    iterator = strategy.make_dataset_iterator(tf.data.Dataset.from_tensor_slices([1.0, 2.0, 4.0]))

    def step(context: Any, inputs: Any) -> Any:
        def update(x: Any) -> Any:
            context.set_last_step_output("last", x, tf.distribute.ReduceOp.SUM)
            return total.assign_add(x)

        return strategy.group(strategy.experimental_run_v2(update, (inputs,)))

    loop = strategy.extended.experimental_run_steps_on_iterator(
        step, iterator, iterations=3, initial_loop_values={"last": tf.constant(0.0)}
    )
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), iterator.initialize()])
        _, last = session.run([loop.run_op, loop.last_step_outputs["last"]])
        assert (last, session.run(total)) == (4.0, 7.0)


def test_an_optimizer_applies_gradients_in_the_replica_only(strategy: Any) -> None:
    optimizer = tf.train.MomentumOptimizer(0.5, 0.9)
    with strategy.scope():
        variable = tf.Variable([1.0, 2.0])
        with pytest.raises(RuntimeError, match="cross-replica"):
            optimizer.minimize(tf.reduce_sum(variable**2))
    train = strategy.experimental_run_v2(
        lambda: optimizer.minimize(tf.reduce_sum(variable**2), var_list=[variable])
    )
    assert optimizer.get_slot(variable, "momentum").device == CPU
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        np.testing.assert_array_equal(session.run(variable), [0.0, 0.0])


def test_an_update_is_on_the_device(strategy: Any) -> None:
    with strategy.scope():
        variable = tf.Variable(1.0)
        update = strategy.extended.update(variable, lambda v, x: v.assign(x), args=(5.0,))
        (parts,) = strategy.extended.update_non_slot(None, lambda: [tf.constant(1.0)], group=False)
    assert parts[0].device == CPU
    with tf.Session() as session:
        session.run(variable.initializer)
        assert session.run([update, strategy.extended.read_var(variable)])[0] == 5.0
