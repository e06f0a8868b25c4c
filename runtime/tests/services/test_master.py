"""A master refuses invalid extensions, and clears all tasks that answer."""

import contextlib
from collections.abc import Iterator
from typing import Any

import clusters
import numpy as np
import pytest

import capstan as tf
from capstan import errors
from capstan.core import config, dtypes, function, node
from capstan.services import targets
from capstan.transport import interfaces
from capstan.transport.grpc import remote_master

NO_OPTIONS = interfaces.StepOptions()


@pytest.fixture(params=["in process", "wire"])
def master(request: pytest.FixtureRequest) -> Iterator[interfaces.MasterApi]:
    if request.param == "in process":
        yield targets.find("", None)[0]
        return
    server = clusters.start(worker=1)["worker:0"]
    target = server.target.replace("localhost", "127.0.0.1")
    with contextlib.closing(remote_master.GrpcMaster(target)) as made:
        yield made
    server.stop()


def constant(name: str, value: float = 1.0) -> node.Node:
    attrs = {"dtype": dtypes.float32, "value": np.array(value, np.float32)}
    return node.Node(name, "Const", attrs=attrs)


def value_of(master: interfaces.MasterApi, session: str, name: str) -> float:
    (value,) = master.run_step(session, {}, [f"{name}:0"], [], NO_OPTIONS)
    return float(value)


def test_a_refused_extension_leaves_the_session_as_it_was(master: interfaces.MasterApi) -> None:
    session = master.create_session([constant("a")], config.SessionConfig())
    with pytest.raises(errors.InvalidArgumentError, match="already has a node named 'a'"):
        master.extend_session(session, [constant("b"), constant("a", 7.0)], 0)
    assert value_of(master, session, "a") == 1.0
    assert master.extend_session(session, [constant("b", 2.0)], 0) == 1
    assert value_of(master, session, "b") == 2.0


def test_a_refused_function_leaves_the_session_as_it_was(master: interfaces.MasterApi) -> None:
    def same(name: str, argument: str) -> function.Function:
        return function.Function(
            name,
            (function.Argument(argument, dtypes.float32),),
            (node.Edge(argument),),
            {},
            result_names=("y",),
            result_dtypes=(dtypes.float32,),
        )

    session = master.create_session([], config.SessionConfig(), None, [same("f", "x")])
    with pytest.raises(errors.InvalidArgumentError, match="Cannot add function 'f'"):
        master.extend_session(session, [constant("a")], 0, [same("f", "y")])
    assert master.extend_session(session, [constant("a")], 0, [same("f", "x")]) == 1
    assert value_of(master, session, "a") == 1.0


class Unreadable(dict[str, Any]):
    """Attributes whose reading fails for lack of memory."""

    def get(self, *arguments: object) -> Any:
        raise MemoryError


def test_an_extension_that_fails_halfway_leaves_the_session_as_it_was() -> None:
    master, settings = targets.find("", None)
    session = master.create_session([constant("a")], settings)
    unreadable = node.Node("c", "Const", attrs=Unreadable(constant("c").attrs))
    with pytest.raises(MemoryError):
        master.extend_session(session, [constant("b"), unreadable], 0)
    assert master.extend_session(session, [constant("b", 2.0), constant("c", 3.0)], 0) == 1
    assert value_of(master, session, "b") == 2.0
    assert value_of(master, session, "c") == 3.0


def test_an_extension_of_another_version_is_refused(master: interfaces.MasterApi) -> None:
    session = master.create_session([constant("a")], config.SessionConfig())
    assert master.extend_session(session, [constant("b")], 0) == 1
    with pytest.raises(errors.AbortedError, match="version 1, not 0"):
        master.extend_session(session, [constant("c")], 0)


def test_a_tensor_that_is_fed_twice_is_an_invalid_argument(master: interfaces.MasterApi) -> None:
    fed = node.Node("x", "Placeholder", attrs={"dtype": dtypes.float32})
    session = master.create_session([fed], config.SessionConfig())
    with pytest.raises(errors.InvalidArgumentError, match='Endpoint "x:0" fed more than once'):
        master.make_callable(session, ["x:0", "x:0"], ["x:0"], [], NO_OPTIONS)
    values = {name: np.float32(place) for place, name in enumerate(["x", "x:0"])}
    with pytest.raises(errors.InvalidArgumentError, match='Endpoint "x:0" fed more than once'):
        master.run_step(session, values, ["x:0"], [], NO_OPTIONS)


@pytest.mark.e2e
def test_a_reset_clears_the_tasks_that_answer_and_names_the_one_that_does_not() -> None:
    with clusters.running(ps=3, worker=1) as servers, tf.Graph().as_default():
        target = servers["worker:0"].target
        counts = []
        for number in (1, 2):
            with tf.device(f"/job:ps/task:{number}"):
                counts.append(tf.get_variable(f"count{number}", initializer=1.0))
        settings = tf.ConfigProto(device_filters=["/job:ps/task:1", "/job:ps/task:2"])
        with tf.Session(target, config=settings) as session:
            session.run(tf.global_variables_initializer())
        servers["worker:0"].master.reset([], ["/job:ps/task:2"])
        with tf.Session(target, config=settings) as session:
            assert session.run(tf.is_variable_initialized(counts[0]))
            assert not session.run(tf.is_variable_initialized(counts[1]))
        servers["ps:0"].stop()
        with pytest.raises(errors.UnavailableError, match="From /job:ps/replica:0/task:0"):
            tf.Session.reset(target)
        with tf.Session(target, config=settings) as session:
            assert not session.run(tf.is_variable_initialized(counts[0]))
