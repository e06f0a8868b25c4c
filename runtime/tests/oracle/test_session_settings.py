"""The settings of a session have the effects that they have on TensorFlow's own servers."""

from collections.abc import Iterator
from typing import Any

import clusters
import genuine
import pytest

import capstan

pytestmark = genuine.MARKS


@pytest.fixture(scope="module")
def tasks() -> Iterator[genuine.Tasks]:
    started = genuine.Tasks(cpus=2, ps=1, worker=1)
    yield started
    started.close()


@pytest.fixture(scope="module")
def servers(tf: Any) -> Any:
    """Servers of TensorFlow. They cannot be stopped, and end with the process."""
    spec = clusters.spec(ps=1, worker=1)
    config = tf.compat.v1.ConfigProto(device_count={"CPU": 2})
    return {job: tf.compat.v1.train.Server(spec, job, 0, config=config) for job in spec}


@pytest.fixture(params=["tensorflow", "client", "capstan"])
def ways(request: Any, v1: Any, servers: Any, tasks: genuine.Tasks) -> tuple[Any, str]:
    """TensorFlow with its servers, its client with Capstan's servers, and Capstan with these."""
    api = capstan if request.param == "capstan" else v1
    return api, servers["worker"].target if request.param == "tensorflow" else tasks.target()


@pytest.mark.parametrize(
    "filters, seen",
    [
        ([], ["ps/0", "ps/1"]),
        (["/job:ps"], ["ps/0", "ps/1"]),
        (["/job:ps/device:CPU:1"], ["ps/1"]),
        (["/device:CPU:1"], ["ps/1"]),
        (["/device:CPU:0", "/job:ps/device:CPU:1"], ["ps/0", "ps/1"]),
        (["/job:worker/task:0/device:CPU:1"], []),
        (["/job:other"], []),
    ],
)
def test_a_filter_may_choose_single_devices_of_other_tasks(
    ways: tuple[Any, str], filters: list[str], seen: list[str]
) -> None:
    """All devices of the task of the master are there, whatever the filters are."""
    tf, target = ways
    with tf.Session(target, config=tf.ConfigProto(device_filters=filters)) as session:
        names = {device.name for device in session.list_devices()}
    expected = [f"/job:{name[:-2]}/replica:0/task:0/device:CPU:{name[-1]}" for name in seen]
    here = [f"/job:worker/replica:0/task:0/device:CPU:{number}" for number in (0, 1)]
    assert names == {*expected, *here}


class Model:
    """Two variables and a queue of the ps, in a graph of `tf`."""

    def __init__(self, tf: Any) -> None:
        with tf.device("/job:ps"):
            count = tf.get_variable("isolated/count", initializer=1.0)
            resource = tf.get_variable("isolated/resource", initializer=1.0, use_resource=True)
            queue = tf.FIFOQueue(5, [tf.float32], shared_name="isolated/queue")
            self.fill = [tf.global_variables_initializer(), queue.enqueue(1.0)]
            self.add = [count.assign_add(5.0).op, resource.assign_add(5.0).op]
            self.values = [count, resource]
            self.size = queue.size()


def test_an_isolated_session_shares_nothing(ways: tuple[Any, str]) -> None:
    tf, target = ways
    with tf.Graph().as_default():
        model = Model(tf)
        settings = tf.ConfigProto(isolate_session_state=True)
        first, second, plain = [
            tf.Session(target, config=each) for each in (settings,) * 2 + (None,)
        ]
        first.run(model.fill)
        for other in (second, plain):
            for value in model.values:
                with pytest.raises(tf.errors.FailedPreconditionError):
                    other.run(value)
            assert other.run(model.size) == 0
        second.run(model.fill[0])
        second.run(model.add)
        assert first.run([*model.values, model.size]) == [1, 1, 1]
        assert second.run([*model.values, model.size]) == [6, 6, 0]
        partial = first.partial_run_setup([model.size], [])
        assert first.partial_run(partial, model.size) == 1
        first.close()
        with (
            tf.Session(target, config=settings) as third,
            pytest.raises(tf.errors.FailedPreconditionError),
        ):
            third.run(model.values[0])
        second.close()
        plain.close()


def test_a_cluster_of_the_session_is_refused_with_the_remedy(tasks: genuine.Tasks) -> None:
    """TensorFlow would rename the devices of its servers for the session."""
    spec = {"other": [tasks.target().removeprefix("grpc://")]}
    settings = capstan.ConfigProto(cluster_def=capstan.train.ClusterSpec(spec).as_cluster_def())
    one = capstan.constant(1)
    with (
        capstan.Session(tasks.target(), config=settings) as session,
        pytest.raises(capstan.errors.UnimplementedError, match="start the servers with this clus"),
    ):
        session.run(one)
    with capstan.Session(config=settings) as session:
        assert session.run(one) == 1
