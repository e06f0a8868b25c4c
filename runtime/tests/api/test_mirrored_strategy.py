"""Several replicas of one process: variables, inputs, metrics, layers and checkpoints."""

import pathlib
import threading
from typing import Any

import numpy as np
import pytest

import capstan as tf

CONFIG = tf.ConfigProto(device_count={"CPU": 4})


def mirrored(count: int = 2, **options: Any) -> Any:
    return tf.distribute.MirroredStrategy([f"/cpu:{each}" for each in range(count)], **options)


def central(count: int = 2) -> Any:
    return tf.distribute.experimental.CentralStorageStrategy(
        [f"/cpu:{each}" for each in range(count)]
    )


def number(dtype: Any = tf.float32) -> Any:
    return tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, dtype)


def initialized() -> Any:
    session = tf.Session(config=CONFIG)
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    return session


def test_a_variable_has_equal_copies_on_all_devices() -> None:
    strategy = mirrored(3)
    with strategy.scope():
        variable = tf.get_variable("v", [2], initializer=tf.random_normal_initializer())
        again = tf.Variable(lambda: tf.zeros([]), name="v")
    copies = strategy.experimental_local_results(variable)
    assert [copy.name for copy in copies] == ["v:0", "v/replica_1:0", "v/replica_2:0"]
    assert [copy.device for copy in copies] == list(strategy.extended.worker_devices)
    assert again.name == "v_1:0"
    assert tf.global_variables() == tf.trainable_variables() == [variable, again]
    assert strategy.extended.value_container(copies[1]) is variable
    assert strategy.extended.variable_created_in_scope(variable)
    assert variable.get("/cpu:2") is copies[2]
    with pytest.raises(ValueError, match="CPU:3"):
        variable.get("/cpu:3")
    with initialized() as session:
        found = session.run(list(copies))
        assert len({each.tobytes() for each in found}) == 1
        variable.load([1.0, 2.0], session)
        np.testing.assert_array_equal(session.run(list(copies)), [[1.0, 2.0]] * 3)
        assert session.run(variable.is_initialized())


def test_each_replica_reads_its_copy_on_its_device() -> None:
    strategy = mirrored()
    with strategy.scope():
        variable = tf.Variable(1.0)
    read = strategy.run(lambda: tf.identity(variable))
    assert [one.op.inputs[0].op.inputs[0].op.name for one in strategy.unwrap(read)] == [
        "Variable",
        "Variable/replica_1",
    ]
    assert [one.device for one in strategy.unwrap(read)] == list(strategy.extended.worker_devices)


def test_replicas_build_one_after_another_and_keep_the_scopes_of_the_caller() -> None:
    strategy, order = mirrored(), []

    def step() -> Any:
        context = tf.distribute.get_replica_context()
        order.append(("begin", context.replica_index, threading.current_thread().name))
        merged = context.merge_call(
            lambda strategy, x: strategy.unwrap(x), (context.replica_index,)
        )
        order.append(("end", context.replica_index, merged))
        return tf.constant(1.0, name="c")

    with tf.name_scope("outer"):
        found = strategy.run(step)
    assert order == [
        ("begin", 0, "replica_0"),
        ("begin", 1, "replica_1"),
        ("end", 0, (0, 1)),
        ("end", 1, (0, 1)),
    ]
    assert [one.name for one in strategy.unwrap(found)] == [
        "outer/c:0",
        "outer/replica_1/c:0",
    ]
    assert not [each for each in threading.enumerate() if each.name.startswith("replica_")]


def test_an_error_of_a_replica_ends_all_replicas() -> None:
    strategy, ended = mirrored(), []

    def step() -> None:
        context = tf.distribute.get_replica_context()
        try:
            if context.replica_index:
                raise KeyError("in a replica")
            context.merge_call(lambda strategy: None)
        finally:
            ended.append(context.replica_index)

    with pytest.raises(KeyError, match="in a replica"):
        strategy.run(step)
    assert sorted(ended) == [0, 1]
    assert not tf.distribute.has_strategy()
    assert not [each for each in threading.enumerate() if each.name.startswith("replica_")]


def test_layers_and_metrics_of_the_first_replica_serve_all(tmp_path: pathlib.Path) -> None:
    strategy = mirrored()
    source = tf.data.Dataset.from_tensor_slices(np.linspace(-1, 1, 16, dtype=np.float32)[:, None])
    iterator = strategy.make_dataset_iterator(source.batch(8))

    def step(x: Any) -> Any:
        hidden = tf.layers.batch_normalization(tf.layers.dense(x, 3), training=True)
        outputs = tf.layers.dense(hidden, 1)
        value, update = tf.metrics.mean(x)
        auc, more = tf.metrics.auc(x > 0, tf.sigmoid(x))
        tf.summary.scalar("loss", tf.reduce_mean(outputs))
        updates = [update, more, *tf.get_collection(tf.GraphKeys.UPDATE_OPS)]
        loss = tf.reduce_mean((outputs - x) ** 2)
        with tf.control_dependencies([tf.train.AdamOptimizer().minimize(loss), *updates]):
            return tf.identity(loss), value, auc

    loss, value, auc = strategy.run(step, (iterator.get_next(),))
    assert [variable.name for variable in tf.trainable_variables()] == [
        *("dense/kernel:0", "dense/bias:0"),
        *("batch_normalization/gamma:0", "batch_normalization/beta:0"),
        *("dense_1/kernel:0", "dense_1/bias:0"),
    ]
    assert [each.name for each in tf.get_collection("summaries")] == ["loss:0"]
    saver = tf.train.Saver()
    moving = next(each for each in tf.global_variables() if "moving_mean" in each.name)
    with strategy.scope():
        mean = tf.identity(moving)
    with initialized() as session:
        session.run(iterator.initialize())
        for _ in range(2):
            session.run(list(strategy.unwrap(loss)))
        # The value of a metric is one tensor, with the examples of all replicas.
        assert np.abs(session.run(value)) < 1e-6
        assert session.run(auc) == pytest.approx(1.0, abs=1e-3)
        copies = session.run(list(strategy.unwrap(moving)))
        assert np.abs(copies[0] - copies[1]).max() > 1e-6
        np.testing.assert_allclose(session.run(mean), np.mean(copies, axis=0), rtol=1e-5)
        path = saver.save(session, str(tmp_path / "model"))
        kept = session.run([mean, *map(strategy.unwrap, tf.trainable_variables())])
        session.run(tf.global_variables_initializer())
        saver.restore(session, path)
        restored = session.run([mean, *map(strategy.unwrap, tf.trainable_variables())])
    for one, other in zip(kept, restored, strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-6)
    assert not [name for name, _ in tf.train.list_variables(path) if "replica" in name]


def test_the_sum_of_a_variable_survives_a_checkpoint(tmp_path: pathlib.Path) -> None:
    strategy = mirrored()
    with strategy.scope():
        total = tf.Variable(
            0.0,
            trainable=False,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )
        with pytest.raises(ValueError, match="does not support `assign_add`"):
            total.assign_add(1.0)
        read = tf.identity(total)
    added = strategy.run(lambda: total.assign_add(number() * 2 + 1))
    outside = total.read_value()
    saver = tf.train.Saver()
    with initialized() as session:
        session.run(list(strategy.unwrap(added)))
        assert session.run(outside) == 4.0
        path = saver.save(session, str(tmp_path / "model"))
        assert tf.train.load_variable(path, "Variable") == 4.0
        session.run(total.initializer)
        saver.restore(session, path)
        assert session.run([read, *strategy.unwrap(total)]) == [4.0, 2.0, 2.0]


def test_a_model_starts_from_a_checkpoint_on_all_devices(tmp_path: pathlib.Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.Variable([1.0, 2.0], name="v")
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
    strategy = mirrored()
    with strategy.scope():
        variable = tf.get_variable("v", [2])
    tf.train.init_from_checkpoint(path, {"v": variable})
    with initialized() as session:
        for copy in session.run(list(strategy.unwrap(variable))):
            np.testing.assert_array_equal(copy, [1.0, 2.0])


def test_a_change_in_a_replica_needs_an_aggregation() -> None:
    strategy = mirrored()
    with strategy.scope():
        variable = tf.Variable(1.0)
    with pytest.raises(ValueError, match=r"tf\.VariableAggregation\.SUM"):
        strategy.run(lambda: variable.assign(number()))


def test_rows_of_all_copies_change() -> None:
    strategy = mirrored()
    with strategy.scope():
        variable = tf.Variable(tf.zeros([3]), aggregation=tf.VariableAggregation.SUM)
        changed = tf.scatter_add(variable, [1], [2.0])
    with initialized() as session:
        session.run(changed)
        for copy in session.run(list(strategy.unwrap(variable))):
            np.testing.assert_array_equal(copy, [0.0, 2.0, 0.0])


def test_a_strategy_changes_its_own_variables_only() -> None:
    strategy, outside = mirrored(), tf.Variable(1.0, use_resource=True)
    with pytest.raises(ValueError, match="make the variable in its scope"):
        strategy.run(lambda: tf.train.GradientDescentOptimizer(0.1).minimize(outside * 2.0))
    with strategy.scope(), pytest.raises(ValueError, match="`NONE` variable synchronization"):
        tf.Variable(1.0, synchronization=tf.VariableSynchronization.NONE)


def test_a_moving_average_takes_the_mean_of_the_replicas() -> None:
    strategy = mirrored()
    with strategy.scope():
        average = tf.Variable(0.0, trainable=False)
    moved = strategy.run(
        lambda: tf.python.training.moving_averages.assign_moving_average(
            average, number() * 4, 0.5, zero_debias=False
        )
    )
    with initialized() as session:
        session.run(list(strategy.unwrap(moved)))
        assert session.run(list(strategy.unwrap(average))) == [1.0, 1.0]


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("packs", [0, 1, 3])
@pytest.mark.parametrize("reduction", ["SUM", "MEAN"])
def test_a_hierarchical_reduction_computes_what_one_device_computes(
    count: int, packs: int, reduction: str
) -> None:
    found = []
    for operations in (
        tf.distribute.HierarchicalCopyAllReduce(packs),
        tf.distribute.ReductionToOneDevice("/cpu:3"),
    ):
        strategy = mirrored(count, cross_device_ops=operations)
        made = strategy.run(
            lambda: (tf.fill([2, 3], number() + 1), tf.range(5.0) * number(), number(tf.float64))
        )
        with strategy.scope():
            reduced = strategy.extended.batch_reduce_to(reduction, [(one, one) for one in made])
        for one in reduced:
            assert one.devices == strategy.extended.worker_devices
        with tf.Session(config=CONFIG) as session:
            found.append([session.run(list(strategy.unwrap(one))) for one in reduced])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other))


def test_gpus_add_gradients_by_nccl_after_joining_them() -> None:
    strategy = tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"])
    with strategy.scope():
        variables = [tf.Variable([1.0, 2.0]), tf.Variable(3.0)]
    strategy.run(
        lambda: tf.train.GradientDescentOptimizer(0.1).minimize(
            tf.add_n([tf.reduce_sum(each**2) for each in variables])
        )
    )
    sums = [op for op in tf.get_default_graph().get_operations() if op.type == "NcclAllReduce"]
    assert [op.device for op in sums] == list(strategy.extended.worker_devices)
    assert [op.inputs[0].shape.as_list() for op in sums] == [[3], [3]]
    assert len({op.get_attr("shared_name") for op in sums}) == 1


def test_operations_over_devices_check_their_arguments() -> None:
    distribute = tf.distribute
    with pytest.raises(ValueError, match="num_packs >= 0"):
        distribute.NcclAllReduce(-1)
    with pytest.raises(ValueError, match="no all-reduce algorithm 'ring'"):
        tf.contrib.distribute.AllReduceCrossDeviceOps("ring")
    operations = distribute.ReductionToOneDevice()
    with pytest.raises(ValueError, match="destinations can not be empty"):
        operations.reduce("SUM", tf.constant(1.0), tf.constant(1.0))
    with pytest.raises(ValueError, match="destinations must be one of"):
        operations.broadcast(tf.constant(1.0), 3)
    with pytest.raises(ValueError, match="a tuple of size 2"):
        operations.batch_reduce("SUM", [tf.constant(1.0)])
    with pytest.raises(ValueError, match="must be a tensor"):
        operations.reduce("SUM", [1.0], "/cpu:0")


def test_a_program_brings_its_own_operations_over_devices() -> None:
    class Largest(tf.distribute.CrossDeviceOps):
        def reduce_implementation(self, reduce_op: Any, value: Any, destinations: Any) -> Any:
            return self.broadcast(tf.reduce_max(tf.stack(value.values)), destinations)

    strategy = mirrored(cross_device_ops=Largest())
    largest = strategy.reduce("SUM", strategy.run(number))
    with tf.Session(config=CONFIG) as session:
        assert session.run(largest) == 1.0


def test_a_dataset_is_divided_and_must_be_initialized() -> None:
    strategy = mirrored()
    divided = strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(4))
    with pytest.raises(ValueError, match="make_initializable_iterator"):
        divided.make_one_shot_iterator()
    with pytest.raises(RuntimeError, match="__iter__"):
        iter(divided)
    with pytest.raises(ValueError, match="not batched"):
        strategy.make_dataset_iterator(tf.data.Dataset.range(4))
    in_turn = strategy.experimental_distribute_datasets_from_function(
        lambda context: tf.data.Dataset.range(4).batch(context.get_per_replica_batch_size(4))
    )
    calls = strategy.make_input_fn_iterator(lambda _: lambda: tf.constant([0, 1]))
    iterators = [divided.make_initializable_iterator(), in_turn.make_initializable_iterator()]
    parts = [each.get_next() for each in (*iterators, calls)]
    with tf.Session(config=CONFIG) as session:
        session.run([each.initializer for each in (*iterators, calls)])
        found = [session.run(list(strategy.unwrap(each))) for each in parts]
    np.testing.assert_array_equal(found, [[[0, 1], [2, 3]], [[0, 1], [2, 3]], [[0, 1], [0, 1]]])


def test_no_replica_begins_a_step_for_which_elements_are_missing() -> None:
    strategy = mirrored()
    with strategy.scope():
        seen = tf.Variable(
            0,
            trainable=False,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )
    iterator = strategy.make_input_fn_iterator(lambda _: tf.data.Dataset.range(5).batch(1))
    counted = strategy.run(lambda batch: seen.assign_add(tf.size(batch)), (iterator.get_next(),))
    count = seen.read_value()
    with initialized() as session:
        session.run(iterator.initialize())
        for _ in range(2):
            session.run(list(strategy.unwrap(counted)))
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(list(strategy.unwrap(counted)))
        assert session.run(count) == 4


def test_the_old_strategy_takes_batches_of_one_replica() -> None:
    old = tf.contrib.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    iterator = old.make_dataset_iterator(tf.data.Dataset.range(8).batch(2))
    parts = list(old.unwrap(iterator.get_next()))
    with tf.Session(config=CONFIG) as session:
        session.run(iterator.initialize())
        np.testing.assert_array_equal(session.run(parts), [[0, 1], [2, 3]])
    by_number = tf.contrib.distribute.MirroredStrategy(num_gpus=2)
    assert [each[-5:] for each in by_number.extended.worker_devices] == ["GPU:0", "GPU:1"]
    alone = tf.contrib.distribute.MirroredStrategy(num_gpus_per_worker=0)
    assert alone.num_replicas_in_sync == 1
    for options in (
        {"num_gpus": 1, "num_gpus_per_worker": 1},
        {"num_gpus": 1, "devices": ["/gpu:0"]},
        {"cross_device_ops": 1, "cross_tower_ops": 1},
    ):
        with pytest.raises(ValueError, match=r"only specify|both"):
            tf.contrib.distribute.MirroredStrategy(**options)


def test_the_devices_are_those_of_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tf.distribute.MirroredStrategy().num_replicas_in_sync == 1
    task = '{"cluster": {"chief": ["a:1"]}, "task": {"type": "chief", "index": 0}}'
    monkeypatch.setenv("TF_CONFIG", task)
    (device,) = tf.distribute.MirroredStrategy().extended.worker_devices
    own = tf.test.gpu_device_name() or "/device:CPU:0"
    assert device == f"/job:chief/replica:0/task:0{own}"
    monkeypatch.setenv("TF_CONFIG", task.replace('"a:1"', '"a:1"], "worker": ["b:1"'))
    with pytest.raises(ValueError, match="In-graph multi-worker training"):
        tf.distribute.MirroredStrategy()
    with pytest.raises(ValueError, match="Local device string"):
        tf.distribute.MirroredStrategy(["/cpu:0", "/job:worker/task:0/gpu:0"])


def test_shared_variables_have_one_copy_and_combine_changes() -> None:
    strategy = central()
    with strategy.scope():
        variable = tf.Variable(1.0, aggregation=tf.VariableAggregation.MEAN)
    changed = strategy.run(lambda: variable.assign_add(number() * 2))
    assert strategy.unwrap(variable)[0].device == "/replica:0/task:0/device:CPU:0"
    assert strategy.extended.parameter_devices == ("/replica:0/task:0/device:CPU:0",)
    with initialized() as session:
        session.run(list(strategy.unwrap(changed)))
        assert session.run(variable) == 2.0
    alone = central(1)
    with alone.scope():
        plain = tf.Variable(1.0)
    added = alone.run(lambda: plain.assign_add(1.0))
    with initialized() as session:
        assert session.run(added) == 2.0


def test_a_strategy_can_be_set_without_a_block() -> None:
    first, second = mirrored(), central()
    for strategy in (first, second):
        tf.distribute.experimental_set_strategy(strategy)
        assert tf.distribute.get_strategy() is strategy
    tf.distribute.experimental_set_strategy(None)
    assert not tf.distribute.has_strategy()
    with first.scope(), pytest.raises(RuntimeError, match="Must not be called inside"):
        tf.distribute.experimental_set_strategy(second)


def test_settings_of_sessions_isolate_their_variables() -> None:
    given = tf.ConfigProto(log_device_placement=True)
    changed = mirrored().update_config_proto(given)
    assert changed.isolate_session_state
    assert changed.log_device_placement
    assert not given.isolate_session_state
    mirrored().configure(given)
    assert given.isolate_session_state


def test_a_value_of_several_replicas_has_no_value_for_all_of_them() -> None:
    strategy = mirrored()
    value = strategy.run(number)
    assert "0 /replica:0" in repr(value)
    with strategy.scope(), pytest.raises(ValueError, match=r"strategy\.reduce"):
        value.get()


def test_an_optimizer_of_keras_updates_all_copies() -> None:
    strategy = mirrored()
    with strategy.scope():
        variable = tf.Variable([1.0, 2.0], use_resource=True)
        optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)
        with pytest.raises(RuntimeError, match="cross-replica context"):
            optimizer.minimize(lambda: tf.reduce_sum(variable), [variable])
    train = strategy.run(
        lambda: optimizer.minimize(lambda: tf.reduce_sum(variable * (number() + 1)), [variable])
    )
    slots = strategy.unwrap(optimizer.get_slot(variable, "momentum"))
    assert [slot.device for slot in slots] == list(strategy.extended.worker_devices)
    assert optimizer.get_slot(strategy.unwrap(variable)[1], "momentum") is slots[1]
    with initialized() as session:
        session.run([each.initializer for each in optimizer.weights])
        session.run([each.initializer for each in optimizer._hyper.values()])
        session.run(train)
        for copy in session.run(list(strategy.unwrap(variable))):
            np.testing.assert_allclose(copy, [0.7, 1.7], rtol=1e-6)
        assert session.run(optimizer.iterations) == 1


def test_modules_of_tensorflow_have_the_classes() -> None:
    from capstan.python.distribute import cross_device_ops, mirrored_strategy, values

    assert cross_device_ops.NcclAllReduce is tf.distribute.NcclAllReduce
    assert mirrored_strategy.MirroredStrategy is tf.distribute.MirroredStrategy
    strategy = mirrored()
    with strategy.scope():
        assert isinstance(tf.Variable(1.0), values.MirroredVariable)
    assert isinstance(strategy.run(number), values.PerReplica)
