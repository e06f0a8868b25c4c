"""A server and its sessions name the address of a cluster that is wrong."""

from typing import Any

import clusters
import pytest

import capstan as tf


@pytest.mark.parametrize("address", ["localhost", "http://localhost:2222", " localhost:2222", ""])
def test_a_server_refuses_an_address_to_which_no_task_can_connect(address: str) -> None:
    cluster = {"ps": ["localhost:2222", address], "worker": ["localhost:0"]}
    message = f'Could not interpret "{address}", the address of /job:ps/replica:0/task:1'
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.train.Server(cluster, "worker", 0)


@pytest.mark.parametrize(
    "job, index, cluster, known",
    [
        ("wroker", 0, {"ps": ["a:1"], "worker": ["b:1", "c:1"]}, "ps 0, worker 0 to 1"),
        ("worker", 2, {"ps": [], "worker": {1: "b:1"}}, "worker 1"),
        ("worker", 0, {"ps": []}, "no task"),
    ],
)
def test_a_server_lists_the_tasks_that_it_could_be(
    job: str, index: int, cluster: Any, known: str
) -> None:
    message = f'Task {index} was not defined in job "{job}": the cluster has {known}$'
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.train.Server(cluster, job, index)


def test_a_session_refuses_a_task_at_the_address_of_another() -> None:
    cluster = clusters.spec(ps=1, worker=1)
    mistaken = {**cluster, "ps": cluster["worker"]}
    server = tf.train.Server(mistaken, "worker", 0)
    message = (
        "The server at the address of /job:ps/replica:0/task:0 is /job:worker/replica:0/task:0"
    )
    with tf.Graph().as_default(), tf.Session(server.target) as session:
        one = tf.constant(1)
        with pytest.raises(tf.errors.FailedPreconditionError, match=message):
            session.run(one)
    server.stop()


def test_a_session_warns_of_the_server_of_another_job(caplog: pytest.LogCaptureFixture) -> None:
    ps, worker, other = clusters.addresses(3)  # at once, so that they differ
    cluster = {"ps": [ps], "worker": [worker]}
    stale = tf.train.Server({**cluster, "worker": [other]}, "ps", 0)
    server = tf.train.Server(cluster, "worker", 0)
    with tf.Graph().as_default(), tf.Session(server.target) as session:
        assert session.run(tf.constant(1)) == 1
    server.stop()
    stale.stop()
    warned = [line for line in caplog.messages if "was started with another cluster" in line]
    assert len(warned) == 1
    assert warned[0].startswith("The server of /job:ps/replica:0/task:0 was started with another")


@pytest.mark.parametrize("names", [("localhost", "127.0.0.1"), ("127.0.0.1", "127.0.0.1")])
def test_other_names_of_the_same_hosts_are_no_other_cluster(
    names: tuple[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    cluster = clusters.spec(ps=1, worker=1)
    host, port = names[0], cluster["worker"][0].rpartition(":")[2]
    ps = tf.train.Server({**cluster, "worker": [f"{host}:{port}"]}, "ps", 0)
    server = tf.train.Server(cluster, "worker", 0)
    with tf.Graph().as_default(), tf.Session(server.target) as session:
        assert session.run(tf.constant(1)) == 1
    server.stop()
    ps.stop()
    assert "another cluster" not in caplog.text


def test_a_session_says_why_a_task_does_not_answer() -> None:
    cluster = clusters.spec(ps=1, worker=1)
    server = tf.train.Server(cluster, "worker", 0)
    config = tf.ConfigProto(operation_timeout_in_ms=300)
    message = f"no answer from worker: /job:ps/replica:0/task:0. From {cluster['ps'][0]}: "
    with tf.Graph().as_default(), tf.Session(server.target, config=config) as session:
        one = tf.constant(1)
        with pytest.raises(tf.errors.DeadlineExceededError, match=message) as caught:
            session.run(one)
    assert "Connection refused" in str(caught.value)
    server.stop()


@pytest.mark.parametrize("target", ["localhost:2222", "grpc://localhost", "grpc://local host:2222"])
def test_a_session_refuses_a_target_without_host_and_port(target: str) -> None:
    message = "No session factory registered.*use '' or 'grpc://host:port'"
    with pytest.raises(tf.errors.NotFoundError, match=message):
        tf.Session(target)


def test_a_server_without_a_cluster_says_where_it_comes_from() -> None:
    with pytest.raises(ValueError, match=r"the cluster has no task; set TF_CONFIG"):
        tf.train.Server(tf.train.ClusterSpec({}))
