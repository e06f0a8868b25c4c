"""Strategies with a replica on each GPU. The GPUs are simulated: nothing runs before a wait."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import strict

import capstan as tf

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
