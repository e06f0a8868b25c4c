"""Steps over several tasks: links, messages between third tasks, and how a step ends."""

import clusters
import pytest

import capstan as tf


def test_a_new_session_pushes_to_a_task_that_was_restarted_at_its_first_step() -> None:
    cluster = clusters.spec(ps=2, worker=1)
    first, second, worker = (
        tf.train.Server(cluster, job_name=job, task_index=index)
        for job, index in (("ps", 0), ("ps", 1), ("worker", 0))
    )
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            sent = tf.placeholder_with_default(1.0, []) + 1.0
        with tf.device("/job:ps/task:1"):
            result = sent * 10.0
        old = tf.Session(worker.target)
        assert old.run(result) == 20.0

        second.stop()
        second = tf.train.Server(cluster, job_name="ps", task_index=1)
        with pytest.raises(tf.errors.AbortedError, match="restarted"):
            old.run(result)
        assert tf.Session(worker.target).run(result) == 20.0
    for server in (first, second, worker):
        server.stop()
