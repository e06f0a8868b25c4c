"""Tests of synchronous training: replicas add gradients, and the chief applies their mean."""

from collections.abc import Iterator, Sequence
from typing import Any

import background
import clusters
import numpy as np
import pytest
import strict

import capstan as tf


class Replica:
    """A worker with a session of its own, as in TensorFlow's sync_replicas_optimizer_test.py.

    Worker n has the gradients 0.1 + 0.2n for `v0`, 0.9 + 0.2n for `v1`, and 0.1 + 0.2n for the
    second row of `rows`. The learning rate is 2.
    """

    def __init__(
        self,
        server: Any,
        index: int,
        required: int,
        total: int,
        limit: float | None = None,
        tokens: int | None = None,
    ) -> None:
        with tf.Graph().as_default():
            with tf.device("/job:ps/task:0"):
                self.step = tf.train.create_global_step()
                self.v0 = tf.Variable(0.0, name="v0")
            with tf.device("/job:ps/task:1"):
                self.v1 = tf.Variable(1.0, name="v1")
                self.rows = tf.Variable([[3.0], [4.0]], name="rows")
            with tf.device(f"/job:worker/task:{index}"):
                gradient = 0.1 + index * 0.2
                sparse = tf.IndexedSlices(
                    tf.constant([[gradient]]), tf.constant([1]), tf.constant([2, 1])
                )
                optimizer = tf.train.SyncReplicasOptimizer(
                    tf.train.GradientDescentOptimizer(2.0),
                    required,
                    total,
                    stall_timeout_secs=limit,
                )
                gradients = [tf.constant(gradient), tf.constant(0.8 + gradient), sparse]
                self.train = optimizer.apply_gradients(
                    zip(gradients, [self.v0, self.v1, self.rows], strict=True), self.step
                )
            self.local_step = tf.local_variables()[0]
            with tf.device("/job:ps/task:0"):
                token_queue = tf.FIFOQueue(-1, tf.int64, shapes=(), shared_name="sync_token_q")
                accumulator = tf.ConditionalAccumulator(
                    tf.float32, shape=(), shared_name="v0:0/grad_accum"
                )
            self.waiting_tokens = token_queue.size()
            self.gradients = accumulator.num_accumulated()
            self.session = tf.train.MonitoredTrainingSession(
                server.target,
                is_chief=index == 0,
                hooks=[
                    optimizer.make_session_run_hook(index == 0, total if tokens is None else tokens)
                ],
            )

    def run_step(self) -> None:
        self.session.run(self.train)

    def state(self) -> Any:
        """Return the global step, the local step, and the variables."""
        return self.session.run([self.step, self.local_step, self.v0, self.v1, self.rows])

    def wait_for_step(self, step: int) -> None:
        background.until(lambda: self.session.run(self.step) == step)


def start(
    workers: int, required: int, limit: float | None = None, tokens: int | None = None
) -> list[Replica]:
    servers = clusters.start(ps=2, worker=workers)
    return [
        Replica(servers[f"worker:{i}"], i, required, workers, limit, tokens) for i in range(workers)
    ]


@pytest.fixture
def opened() -> Iterator[list[Replica]]:
    replicas: list[Replica] = []
    yield replicas
    for replica in reversed(replicas):
        replica.session.close()


def check(
    replica: Replica, global_step: int, local_step: int | None, total: Sequence[float]
) -> None:
    """Check the state after updates whose mean gradients for `v0` and `v1` sum up to `total`."""
    found = replica.state()
    assert int(found[0]) == global_step
    assert local_step in (None, int(found[1]))
    expected = [-2 * total[0], 1 - 2 * total[1], [[3], [4 - 2 * total[0]]]]
    for value, wanted in zip(found[2:], expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-5)


@pytest.mark.e2e
def test_two_replicas_apply_the_mean_of_their_gradients(opened: list[Replica]) -> None:
    first, second = opened[:] = start(2, required=2)
    check(first, 0, 0, [0, 0])
    # Each replica has one of the first tokens, so that it does not wait for the other replica.
    first.run_step()
    second.run_step()
    first.wait_for_step(1)
    check(second, 1, 0, [0.2, 1.0])
    # The first tokens name step 0, so these gradients are too old and are dropped.
    first.run_step()
    second.run_step()
    for replica in opened:
        check(replica, 1, 1, [0.2, 1.0])
    # From now on, the replicas wait for each other.
    calls = [background.Background(replica.run_step) for replica in opened]
    for call in calls:
        call.join()
    check(second, 2, 2, [0.4, 2.0])


@pytest.mark.e2e
def test_a_parameter_server_with_a_gpu_gives_the_tokens_of_the_step_after_an_update(
    opened: list[Replica],
) -> None:
    with strict.installed():
        opened[:] = start(1, required=1)
        (replica,) = opened
        replica.run_step()
        replica.wait_for_step(1)
        replica.run_step()
        check(replica, 1, 1, [0.1, 0.9])


@pytest.mark.e2e
def test_the_gradients_of_a_replica_that_is_late_are_dropped(opened: list[Replica]) -> None:
    first, second, third = opened[:] = start(3, required=2)
    first.run_step()
    third.run_step()
    second.wait_for_step(1)
    mean = [(0.1 + 0.5) / 2, (0.9 + 1.3) / 2]
    check(second, 1, 0, mean)
    second.run_step()
    for replica in opened:
        replica.run_step()
    check(second, 1, 1, mean)
    call = background.Background(first.run_step)
    second.run_step()
    call.join()
    check(second, 2, 2, [mean[0] + 0.2, mean[1] + 1.0])


@pytest.mark.e2e
@pytest.mark.parametrize("limit", [None, 3600])
def test_a_replica_that_still_waits_when_the_chief_ends_ends_its_step(
    opened: list[Replica], limit: float | None
) -> None:
    chief, second = opened[:] = start(2, required=2, limit=limit, tokens=0)
    call = background.Background(second.run_step)
    # Its gradient is applied before it waits.
    background.until(lambda: chief.session.run(chief.gradients) == 1)
    opened.remove(chief)
    chief.session.close()
    call.join()
    check(second, 0, 0, [0, 0])


@pytest.mark.e2e
def test_a_replica_that_takes_no_step_does_not_stall_the_others(opened: list[Replica]) -> None:
    first, second = opened[:] = start(2, required=2, limit=0.01)
    first.run_step()
    second.wait_for_step(1)
    check(second, 1, 0, [0.1, 0.9])
    # The second replica still computes for step 0, so its gradient is dropped.
    second.run_step()
    check(second, 1, 1, [0.1, 0.9])
    second.run_step()
    first.wait_for_step(2)
    check(second, 2, None, [0.4, 2.0])


@pytest.mark.e2e
def test_the_others_compute_the_batches_of_a_replica_that_is_gone(opened: list[Replica]) -> None:
    # No update may need the time limit, which is an hour.
    first, second, third = opened[:] = start(3, required=3, limit=3600)
    # The third replica is gone with a token of step 0. It has taken the token before the update.
    for replica in (third, first, second):
        replica.run_step()
    third.wait_for_step(1)

    def train(replica: Replica) -> None:
        while replica.session.run(replica.step) < 4:
            replica.run_step()

    calls = [background.Background(lambda each=each: train(each)) for each in (first, second)]
    for call in calls:
        call.join()


@pytest.mark.e2e
def test_the_tokens_of_replicas_that_are_gone_are_used_in_later_steps(
    opened: list[Replica],
) -> None:
    first, *_ = opened[:] = start(3, required=3, limit=0.01)
    first.run_step()
    first.wait_for_step(1)
    for _ in range(2):
        first.run_step()
    background.until(lambda: first.session.run(first.step) >= 2)
    assert first.session.run(first.waiting_tokens) <= 3


@pytest.mark.e2e
def test_one_replica_may_compute_several_batches_for_an_update() -> None:
    weight = tf.Variable(0.0)
    step = tf.train.get_or_create_global_step()
    gradient = tf.placeholder(tf.float32, [])
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 3, 1)
    train = optimizer.apply_gradients([(gradient, weight)], step)
    with tf.train.MonitoredSession(hooks=[optimizer.make_session_run_hook(True)]) as session:
        for value in (1.0, 2.0, 6.0):
            session.run(train, {gradient: value})
        background.until(lambda: session.run(step) == 1)
        assert session.run(weight) == -3


@pytest.mark.e2e
def test_a_variable_without_a_gradient_stays_as_it_is() -> None:
    weight, other = tf.Variable(1.0), tf.Variable(5.0)
    step = tf.train.get_or_create_global_step()
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.MomentumOptimizer(0.5, 0.9), 1)
    train = optimizer.minimize(weight * weight, step)
    assert optimizer.get_slot(other, "momentum") is None
    assert optimizer.variables() == [optimizer.get_slot(weight, "momentum")]
    assert optimizer.get_slot_names() == ["momentum"]
    with tf.train.MonitoredSession(hooks=[optimizer.make_session_run_hook(True)]) as session:
        session.run(train)
        background.until(lambda: session.run(step) == 1)
        assert session.run([weight, other]) == [0, 5]


@pytest.mark.e2e
def test_averages_are_updated_after_the_variables() -> None:
    class Averages:
        """Has the method of an ExponentialMovingAverage that the optimizer calls."""

        def apply(self, var_list: Any) -> Any:
            return tf.group(*(tf.assign(copy, var) for var in var_list))

    weight, copy = tf.Variable(1.0), tf.Variable(0.0, trainable=False)
    step = tf.train.get_or_create_global_step()
    optimizer = tf.train.SyncReplicasOptimizer(
        tf.train.GradientDescentOptimizer(0.25),
        1,
        variable_averages=Averages(),
        variables_to_average=[weight],
    )
    train = optimizer.minimize(weight * weight, step)
    with tf.train.MonitoredSession(hooks=[optimizer.make_session_run_hook(True)]) as session:
        session.run(train)
        background.until(lambda: session.run(copy) == 0.5)


def test_the_first_tokens_must_be_enough_for_the_first_update() -> None:
    weight = tf.Variable(0.0)
    step = tf.train.get_or_create_global_step()
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 5, 2)
    with pytest.raises(ValueError, match=r"Should be called after apply_gradients\(\)."):
        optimizer.get_chief_queue_runner()
    with pytest.raises(
        ValueError, match=r"get_init_tokens_op\(\) should be called after apply_gradients\(\)."
    ):
        optimizer.get_init_tokens_op()
    with pytest.raises(
        ValueError, match=r"SyncReplicasOptimizer\.apply_gradient should be called before using the"
    ):
        optimizer.make_session_run_hook(is_chief=True).begin()
    optimizer.minimize(weight, step)
    message = r"Too few tokens to finish the first step: 2 \(given\) vs 3 \(needed\)"
    with pytest.raises(ValueError, match=message):
        optimizer.get_init_tokens_op(2)
    assert optimizer.get_init_tokens_op(3).type == "QueueEnqueueManyV2"
    with pytest.raises(ValueError, match=r"stall_timeout_secs must be 0 or more.*: -1"):
        tf.train.SyncReplicasOptimizer(optimizer, 1, stall_timeout_secs=-1)


@pytest.mark.parametrize(
    ("gradients", "has_step", "message"),
    [
        ([], True, "Must supply at least one variable"),
        ([1.0], False, "Global step is required to check staleness"),
        (["wrong"], True, "Unknown grad type!"),
    ],
)
def test_wrong_gradients_are_refused(gradients: list[Any], has_step: bool, message: str) -> None:
    weight = tf.Variable(0.0)
    step = tf.train.get_or_create_global_step() if has_step else None
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 1)
    with pytest.raises(ValueError, match=message):
        optimizer.apply_gradients([(gradient, weight) for gradient in gradients], step)


@pytest.mark.e2e
def test_a_hook_names_the_variables_that_have_no_value() -> None:
    weight = tf.Variable(0.0, name="weight")
    step = tf.train.get_or_create_global_step()
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 1)
    optimizer.minimize(weight, step)
    hook = optimizer.make_session_run_hook(is_chief=False)
    hook.begin()
    message = "make model ready for SyncReplicasOptimizer local_init.*not initialized: .*weight"
    with tf.Session() as session, pytest.raises(RuntimeError, match=message):
        hook.after_create_session(session, tf.train.Coordinator())
