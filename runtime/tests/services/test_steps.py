"""Steps over several tasks: links to restarted tasks, failed messages, and the end of a step."""

import socket
import threading

import clusters
import numpy as np
import pytest

import capstan as tf
from capstan.core import dtypes, node
from capstan.graph import infer
from capstan.partition import partition, parts
from capstan.resources import containers
from capstan.services import remote_parts, step_server, targets, worker
from capstan.transport import api, interfaces, listener, stream

HERE = "/job:ps/replica:0/task:0"
X, Y, SUM = (node.Edge(name) for name in ("x", "y", "sum"))


@pytest.mark.e2e
def test_the_first_step_of_a_new_session_can_push_to_a_restarted_task() -> None:
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


class SlowLinks(targets.NoLinks):
    """Links to a task that does not answer in time."""

    def take(self, task: str, incarnation: int, deadline: float | None = None) -> api.Link:
        raise tf.errors.DeadlineExceededError(None, None, f"no answer from {task}")


@pytest.mark.parametrize(
    "deadline, error",
    [(0.0, tf.errors.DeadlineExceededError), (None, tf.errors.UnavailableError)],
)
def test_a_slow_task_is_unavailable_only_if_the_time_of_the_step_has_not_passed(
    deadline: float | None, error: type[tf.errors.OpError]
) -> None:
    remote = remote_parts.Remote(HERE, 1, 1, parts.Part(HERE, (), {}))
    parts_of_step = remote_parts.RemoteParts([remote], SlowLinks(), 1)
    with pytest.raises(error):
        parts_of_step.connect(deadline, 0.0, lambda: None)


def no_peer(task: str) -> interfaces.WorkerApi:
    raise tf.errors.InternalError(None, None, f"there is no {task}")


def test_a_step_whose_fetch_cannot_be_sent_fails_and_the_link_stays_usable() -> None:
    fed = {edge: infer.Fed(dtypes.float32, None) for edge in (X, Y)}
    known = infer.Knowledge(fed)
    add = node.Node("sum", "Add", (X, Y), attrs={"T": dtypes.float32})
    known.learn(add)
    cut = partition.partition({"sum": add}, {"sum": HERE}, list(fed), [SUM], known, HERE)
    home = worker.Worker(HERE, 1, containers.ResourceManager())
    handle = home.register_graph("session", cut[HERE])
    steps = step_server.StepServer(home, targets.NoLinks(), no_peer)
    near, far = (stream.StreamLink(end, "peer", 1 << 20) for end in socket.socketpair())
    serving = threading.Thread(target=steps.serve, args=(far, listener.Hello("/job:worker")))
    serving.start()

    def run(number: int, side: int) -> api.Frame:
        row, column = np.ones((1, side), np.float32), np.ones((side, 1), np.float32)
        near.send(api.Frame(api.Kind.START, number, handle, [row, column]))
        return near.recv()

    ended = run(1, 1000)
    assert (ended.kind, ended.step) == (api.Kind.DONE, 1)
    assert ended.subject == tf.errors.RESOURCE_EXHAUSTED
    ended = run(2, 2)
    assert (ended.subject, ended.values[0].tolist()) == (0, [[2, 2], [2, 2]])
    near.close()
    serving.join()
    steps.close()
