"""Strategies with a replica on each GPU. The GPUs are simulated: nothing runs before a wait."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import strict

import capstan as tf
from capstan.python.ops import collective_ops

pytestmark = pytest.mark.e2e

DRAWN = np.random.RandomState(0).rand(24, 3).astype(np.float32)
TARGETS = DRAWN.sum(1, keepdims=True)


@pytest.fixture(autouse=True)
def _devices() -> Iterator[None]:
    tf.reset_default_graph()
    with strict.installed(3):
        yield


def trained(make: Callable[[], Any]) -> Any:
    """Return the losses of three steps, the value of a metric, and all copies of a variable."""
    tf.reset_default_graph()
    strategy = make()
    dataset = tf.data.Dataset.from_tensor_slices((DRAWN, TARGETS)).batch(12).repeat()
    iterator = strategy.make_dataset_iterator(dataset)
    with strategy.scope():
        optimizer = tf.train.MomentumOptimizer(0.01, 0.9)

    def step(features: Any, labels: Any) -> Any:
        hidden = tf.layers.dense(features, 4, tf.nn.tanh, kernel_initializer=tf.ones_initializer())
        outputs = tf.layers.dense(hidden, 1, kernel_initializer=tf.ones_initializer())
        value, update = tf.metrics.mean(labels)
        loss = tf.reduce_sum((outputs - labels) ** 2) / 12
        with tf.control_dependencies([optimizer.minimize(loss), update]):
            return tf.identity(loss), value

    losses, value = strategy.run(step, iterator.get_next())
    total = strategy.reduce("SUM", losses)
    copies = [list(strategy.unwrap(each)) for each in tf.trainable_variables()]
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        session.run(iterator.initialize())
        found = [session.run(total) for _ in range(3)]
        kernel, *_ = session.run(copies)
        return [*found, session.run(value)], kernel, strategy


def test_replicas_on_gpus_train_as_one_device_does() -> None:
    expected, (kernel,), _ = trained(lambda: tf.distribute.OneDeviceStrategy("/cpu:0"))
    operations = [
        None,
        tf.distribute.NcclAllReduce(num_packs=2),
        tf.distribute.HierarchicalCopyAllReduce(),
        tf.distribute.ReductionToOneDevice(),
    ]
    for each in operations:
        found, copies, strategy = trained(
            lambda each=each: tf.distribute.MirroredStrategy(cross_device_ops=each)
        )
        assert strategy.extended.worker_devices == tuple(
            f"/replica:0/task:0/device:GPU:{number}" for number in range(3)
        )
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        for copy in copies:
            np.testing.assert_allclose(copy, kernel, rtol=1e-5)
            np.testing.assert_array_equal(copy, copies[0])


def test_replicas_on_gpus_share_variables_of_the_cpu() -> None:
    expected, kernel, _ = trained(lambda: tf.distribute.OneDeviceStrategy("/cpu:0"))
    found, shared, strategy = trained(tf.distribute.experimental.CentralStorageStrategy)
    assert strategy.num_replicas_in_sync == 3
    assert strategy.extended.parameter_devices == ("/replica:0/task:0/device:CPU:0",)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(shared, kernel, rtol=1e-5)


def test_gpus_compute_collective_operations_together() -> None:
    sums, rows, sent = [], [], []
    for number in range(3):
        with tf.device(f"/gpu:{number}"):
            here = tf.constant(DRAWN) * (number + 1.0)
            sums.append(collective_ops.all_reduce(here, 3, 1, 1, "Add", "Div"))
            count = tf.constant([number, 5]) + 1
            sums.append(collective_ops.all_reduce(count, 3, 1, 2, "Mul", "Id"))
            rows.append(collective_ops.all_gather(here[:1], 3, 1, 3))
            if number == 1:
                send = collective_ops.broadcast_send(here, here.shape, tf.float32, 3, 1, 4)
                sent.append(send)
            else:
                sent.append(collective_ops.broadcast_recv([24, 3], tf.float32, 3, 1, 4))
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        for _ in range(2):
            found, gathered, copies = session.run([sums, rows, sent])
    for mean, product in zip(found[::2], found[1::2], strict=True):
        np.testing.assert_allclose(mean, DRAWN * 2.0, rtol=1e-6)
        assert product.tolist() == [6, 216]
    for each, copy in zip(gathered, copies, strict=True):
        np.testing.assert_allclose(each, DRAWN[:1] * [[1.0], [2.0], [3.0]], rtol=1e-6)
        np.testing.assert_allclose(copy, DRAWN * 2.0, rtol=1e-6)


def test_a_worker_with_several_gpus_trains_as_one_device_does() -> None:
    expected, (kernel,), _ = trained(lambda: tf.distribute.OneDeviceStrategy("/cpu:0"))
    found, copies, strategy = trained(tf.distribute.experimental.MultiWorkerMirroredStrategy)
    assert strategy.num_replicas_in_sync == 3
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    for copy in copies:
        np.testing.assert_allclose(copy, kernel, rtol=1e-5)
