"""A `tf.function` that replicas call has a trace for each replica."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

CONFIG = tf.ConfigProto(device_count={"CPU": 2})


def mirrored() -> Any:
    return tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])


def central() -> Any:
    return tf.distribute.experimental.CentralStorageStrategy(["/cpu:0", "/cpu:1"])


def evaluated(strategy: Any, *values: Any) -> Any:
    with tf.Session(config=CONFIG) as session:
        session.run(tf.global_variables_initializer())
        return [session.run(list(strategy.experimental_local_results(each))) for each in values]


@pytest.mark.parametrize("make", [mirrored, central])
def test_a_function_knows_its_replica(make: Any) -> None:
    strategy, traces = make(), []

    @tf.function
    def number() -> Any:
        traces.append(1)
        return tf.distribute.get_replica_context().replica_id_in_sync_group

    @tf.function
    def outer(x: Any) -> Any:
        return number() + x

    with strategy.scope():
        direct = strategy.experimental_run_v2(number)
        nested = strategy.experimental_run_v2(lambda: number() + outer(10))
    assert evaluated(strategy, direct, nested) == [[0, 1], [10, 12]]
    assert len(traces) == 2


def test_a_function_reads_and_changes_the_copies_of_its_replica() -> None:
    strategy = mirrored()
    with strategy.scope():
        total = tf.get_variable(
            "total",
            [],
            initializer=tf.zeros_initializer(),
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )
        weight = tf.get_variable("weight", [], initializer=tf.ones_initializer())

    @tf.function
    def added(x: Any) -> Any:
        return total.assign_add(x)

    @tf.function
    def loss(x: Any) -> Any:
        return weight * x

    def step() -> Any:
        x = tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32) + 1
        [slope] = tf.gradients(loss(x), [weight.get()])
        return added(x), slope

    with strategy.scope():
        sums, slopes = strategy.experimental_run_v2(step)
    assert evaluated(strategy, sums, slopes) == [[1, 2], [1, 2]]


def test_a_function_makes_its_variables_in_the_first_replica() -> None:
    strategy, made = mirrored(), []

    @tf.function
    def scaled(x: Any) -> Any:
        if not made:
            made.append(tf.Variable(lambda: tf.constant(3.0)))
        return made[0] * x

    with strategy.scope():
        result = strategy.experimental_run_v2(scaled, args=(2.0,))
        again = strategy.experimental_run_v2(scaled, args=(2.0,))
    assert len(strategy.experimental_local_results(made[0])) == 2
    np.testing.assert_array_equal(evaluated(strategy, result, again), [[6, 6], [6, 6]])


def test_a_function_in_one_replica_is_traced_once() -> None:
    strategy, traces = tf.distribute.OneDeviceStrategy("/cpu:0"), []

    @tf.function
    def one() -> Any:
        traces.append(1)
        return tf.constant(1)

    with strategy.scope():
        one()
        strategy.experimental_run_v2(one)
    one()
    assert traces == [1]


def test_the_first_call_of_each_replica_keeps_the_sizes_of_its_arguments() -> None:
    strategy, sizes = mirrored(), []

    @tf.function(experimental_relax_shapes=True)
    def doubled(x: Any) -> Any:
        sizes.append(x.shape.as_list())
        return x + x

    with strategy.scope():
        result = strategy.experimental_run_v2(doubled, args=(tf.constant([1.0, 2.0, 3.0]),))
        assert sizes == [[3], [3]]
        strategy.experimental_run_v2(doubled, args=(tf.constant([1.0, 2.0]),))
    assert sizes == [[3], [3], [None], [None]]
    np.testing.assert_array_equal(evaluated(strategy, result), [[[2, 4, 6], [2, 4, 6]]])


@pytest.mark.parametrize("soft", [False, True])
def test_a_function_of_a_function_calls_a_trace_for_each_replica(soft: bool) -> None:
    strategy = mirrored()
    with strategy.scope():
        weight = tf.Variable(1.0)

        @tf.function
        def inner(x: Any) -> Any:
            return weight * x

        @tf.function
        def outer(x: Any) -> Any:
            parts = strategy.experimental_run_v2(inner, args=(x,))
            return strategy.reduce(tf.distribute.ReduceOp.SUM, parts, axis=None)

        result = outer(2.0)
    _, second = strategy.experimental_local_results(weight)
    config = tf.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=soft)
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        assert session.run(result) == 4
        session.run(second.assign(10.0))
        assert session.run(result) == 22


def test_a_loop_of_a_function_calls_a_trace_for_each_replica() -> None:
    strategy = mirrored()
    with strategy.scope():
        weight = tf.Variable(1.0)

        @tf.function
        def inner(x: Any) -> Any:
            return weight * x

        @tf.function
        def outer(x: Any) -> Any:
            total = 0.0
            for _ in tf.range(3):
                parts = strategy.experimental_run_v2(inner, args=(x,))
                total += strategy.reduce(tf.distribute.ReduceOp.SUM, parts, axis=None)
            return total

        result = outer(2.0)
    _, second = strategy.experimental_local_results(weight)
    with tf.Session(config=CONFIG) as session:
        session.run(tf.global_variables_initializer())
        session.run(second.assign(10.0))
        assert session.run(result) == 66
