"""Reductions over several devices do the same work on each device as TensorFlow's."""

import collections
import functools
from collections.abc import Callable, Sequence
from typing import Any

import genuine
import numpy as np
import pytest
import strict
from hypothesis import given
from hypothesis import strategies as st

import capstan

pytestmark = genuine.MARKS

DEVICES = [f"/job:w/replica:0/task:{task}/device:GPU:{gpu}" for task in (0, 1) for gpu in (0, 1)]
HOSTS = [f"/job:w/replica:0/task:{task}/device:CPU:0" for task in (0, 1)]


BUILDERS: dict[str, Callable[[Any, Any, list[Any], Any], list[Any]]] = {
    "ring": lambda v1, of, x, end: of.build_ring_all_reduce(x, 2, 1, [0, 1], v1.add, end),
    "two rings": lambda v1, of, x, end: of.build_ring_all_reduce(x, 2, 2, [1, 0], v1.add, end),
    "halves": lambda v1, of, x, end: of.build_recursive_hd_all_reduce(x, v1.add, end),
    "shuffle": lambda v1, of, x, end: of.build_shuffle_all_reduce(x, HOSTS, v1.add_n, end),
    "shuffle, ring": lambda v1, of, x, end: of.build_shuffle_then_ring(
        x, HOSTS, 1, v1.add_n, v1.add, end
    ),
    "shuffle, shuffle": lambda v1, of, x, end: of.build_shuffle_then_shuffle(
        x, HOSTS, HOSTS[1:], v1.add_n, end
    ),
    "nccl": lambda v1, of, x, end: of.build_nccl_all_reduce(x[:2], v1.add, end),
    "nccl, ring": lambda v1, of, x, end: of.build_nccl_then_ring(x, 1, v1.add, end),
    "nccl, halves": lambda v1, of, x, end: of.build_nccl_then_recursive_hd(x, v1.add, end),
    "nccl, shuffle": lambda v1, of, x, end: of.build_nccl_then_shuffle(
        x, HOSTS, v1.add, v1.add_n, end
    ),
}
"""Each takes TensorFlow, the module of the reductions, tensors, and the function for the result."""


def graph_of(
    v1: Any, module: Any, name: str, shape: Sequence[int], end: Any = None
) -> tuple[Any, list[str]]:
    """Return the graph of a reduction of four placeholders, and the names of the results."""
    with v1.Graph().as_default() as graph:
        placeholders = []
        for place, device in enumerate(DEVICES):
            with v1.device(device):
                placeholders.append(v1.placeholder(v1.float32, shape, name=f"x{place}"))
        return graph, [result.name for result in BUILDERS[name](v1, module, placeholders, end)]


def work(graph: Any) -> dict[tuple[str, str], int]:
    """Return how many operations of each type are on each device."""
    return collections.Counter(
        (op.type.replace("AddV2", "Add"), op.device)
        for op in graph.get_operations()
        if op.type != "Const"
    )


@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize("shape", [[8], [4, 6]], ids=["vector", "matrix"])
def test_each_device_does_the_work_that_it_does_in_tensorflow(name: str, shape: list[int]) -> None:
    from tensorflow.python.distribute.v1 import all_reduce

    v1 = genuine.tensorflow().compat.v1
    expected, names = graph_of(v1, all_reduce, name, shape)
    own, own_names = graph_of(capstan, capstan.contrib.all_reduce, name, shape)
    assert work(own) == work(expected)
    assert [own.get_tensor_by_name(each).device for each in own_names] == [
        expected.get_tensor_by_name(each).device for each in names
    ]


@given(st.data())
def test_all_devices_get_the_reduced_value(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([each for each in BUILDERS if "nccl" not in each]))
    shape = data.draw(st.lists(st.integers(1, 9), max_size=2))
    if name == "halves":
        shape = [*shape, 4]
    graph, names = graph_of(
        capstan, capstan.contrib.all_reduce, name, shape, lambda value: value * 0.25
    )
    message = graph.as_graph_def()
    for node in message.node:
        node.device = ""
    values = [np.float32(place + 1) * np.ones(shape, np.float32) for place in range(4)]
    with capstan.Graph().as_default(), capstan.Session() as session:
        capstan.import_graph_def(message, name="")
        found = session.run(names, {f"x{place}:0": value for place, value in enumerate(values)})
    for value in found:
        np.testing.assert_array_equal(value, functools.reduce(np.add, values) / 4)


@pytest.mark.parametrize("name", ["nccl", "nccl, ring"])
def test_the_gpus_of_one_worker_add_with_nccl(name: str) -> None:
    with strict.installed(2), capstan.Graph().as_default(), capstan.Session() as session:
        x = []
        for gpu in (0, 1):
            with capstan.device(f"/job:localhost/replica:0/task:0/device:GPU:{gpu}"):
                x.append(capstan.constant([1.0, 2.0, 4.0 * gpu]))
        results = BUILDERS[name](capstan, capstan.contrib.all_reduce, x, lambda value: value / 2.0)
        for value in session.run(results):
            np.testing.assert_array_equal(value, [1.0, 2.0, 2.0])


def test_tensors_that_cannot_be_reduced_are_refused() -> None:
    module = capstan.contrib.all_reduce
    one, unknown = capstan.ones([3]), capstan.placeholder(capstan.float32, [None])
    for call, message in (
        (lambda: module.build_shuffle_all_reduce([], HOSTS, capstan.add_n), "cannot be empty"),
        (
            lambda: module.build_shuffle_all_reduce([unknown], HOSTS, capstan.add_n),
            "statically known",
        ),
        (lambda: module.build_ring_all_reduce([one], 1, 1, [0], capstan.add), "length 2"),
        (lambda: module.build_ring_all_reduce([one] * 2, 1, 3, [0, 1], capstan.add), "3 must be"),
        (lambda: module.build_recursive_hd_all_reduce([one] * 3, capstan.add), "power of 2"),
        (lambda: module.build_nccl_all_reduce([one], capstan.multiply), "not supported by NCCL"),
        (
            lambda: module.build_shuffle_then_ring([one], HOSTS, 1, capstan.add_n, capstan.add),
            "names no task",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            call()
