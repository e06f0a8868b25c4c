"""The devices of a task run their nodes at the same time."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import clusters
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import capstan as tf
from capstan.kernels import registry

TWO = tf.ConfigProto(device_count={"CPU": 2})
PATIENCE = 60


@pytest.fixture(autouse=True)
def _graph() -> None:
    tf.reset_default_graph()


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    """A cluster of two tasks with two CPUs each."""
    cluster = clusters.spec(local=2)
    servers = [tf.train.Server(cluster, task_index=index, config=TWO) for index in range(2)]
    yield servers[0].target
    for server in servers:
        server.stop()


@pytest.fixture
def ceil(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Any], Any]], None]:
    """Replace the kernel of Ceil with a function."""

    def replace(function: Callable[[Any], Any]) -> None:
        kernel = registry.Kernel("Ceil", lambda node: function)
        monkeypatch.setitem(registry._ROWS["Ceil"], "CPU", [kernel])

    return replace


def ceils(device: str = "") -> list[Any]:
    found = []
    for index in range(2):
        with tf.device(f"{device}/cpu:{index}"):
            found.append(tf.ceil(tf.placeholder_with_default([1.5], [1])))
    return found


@pytest.mark.parametrize("task", [None, 0, 1])
def test_segments_of_two_devices_run_at_the_same_time(
    task: int | None, target: str, ceil: Callable[[Callable[[Any], Any]], None]
) -> None:
    meeting = threading.Barrier(2, timeout=PATIENCE)

    def meet(x: Any) -> Any:
        meeting.wait()
        return np.ceil(x)

    ceil(meet)
    first, second = ceils("" if task is None else f"/job:local/task:{task}")
    with tf.Session("" if task is None else target, config=TWO) as session:
        assert session.run(first + second).tolist() == [4.0]


def test_an_error_on_another_device_ends_the_step_and_names_the_node(
    ceil: Callable[[Callable[[Any], Any]], None],
) -> None:
    meeting = threading.Barrier(2, timeout=PATIENCE)

    def fail(x: Any) -> Any:
        meeting.wait()
        raise tf.errors.DataLossError(None, None, "the disk is gone")

    ceil(fail)
    first, second = ceils()
    with (
        tf.Session(config=TWO) as session,
        pytest.raises(tf.errors.DataLossError, match=r"the disk is gone(.|\n)*Ceil"),
    ):
        session.run([first, second])


NODES = st.lists(
    st.tuples(st.integers(0, 99), st.integers(0, 99), st.integers(0, 3), st.booleans()),
    min_size=1,
    max_size=14,
)


def build(steps: Any, devices: list[str]) -> tuple[Any, list[Any], Callable[[Any], list[Any]]]:
    """Build sums and differences on the devices. Return a placeholder, the tensors, their values.

    Each node also waits for an earlier node, by a control dependency.
    """
    x = tf.placeholder(tf.float32, [2])
    tensors = [x]
    recipes = []
    for first, second, device, waits in steps:
        left, right = first % len(tensors), second % len(tensors)
        after = [tensors[(first + second) % len(tensors)].op] if waits else []
        with tf.device(devices[device % len(devices)]), tf.control_dependencies(after):
            tensors.append(tensors[left] * 2.0 - tensors[right])
        recipes.append((left, right))

    def values(fed: Any) -> list[Any]:
        found = [fed]
        for left, right in recipes:
            found.append(found[left] * np.float32(2) - found[right])
        return found

    return x, tensors, values


def check(steps: Any, devices: list[str], target: str, config: Any = None) -> None:
    with tf.Graph().as_default():
        x, tensors, values = build(steps, devices)
        with tf.Session(target, config=config) as session:
            for fed in (np.array([1.0, -2.0], np.float32), np.array([0.5, 3.0], np.float32)):
                found = session.run(tensors, {x: fed})
                for one, other in zip(found, values(fed), strict=True):
                    np.testing.assert_array_equal(one, other)


@pytest.mark.e2e
@given(steps=NODES)
def test_any_placement_on_the_devices_of_a_task_gives_the_same_values(steps: Any) -> None:
    config = tf.ConfigProto(device_count={"CPU": 4})
    check(steps, [f"/cpu:{index}" for index in range(4)], "", config)


@pytest.mark.e2e
@given(steps=NODES)
def test_any_placement_on_two_devices_of_two_tasks_gives_the_same_values(
    target: str, steps: Any
) -> None:
    devices = [f"/job:local/task:{task}/cpu:{cpu}" for task in range(2) for cpu in range(2)]
    check(steps, devices, target)


def test_a_node_that_waits_for_three_queues_may_read_a_later_one_that_waits_for_two() -> None:
    queues = [tf.FIFOQueue(1, [tf.float32], [[]]) for _ in range(3)]
    first, second, third = (queue.dequeue() for queue in queues)
    total = tf.add_n([first, second, third])
    difference = total - first * second
    with tf.Session() as session:
        for value, queue in enumerate(queues, 2):
            session.run(queue.enqueue(float(value)))
        assert session.run(difference) == 3.0
