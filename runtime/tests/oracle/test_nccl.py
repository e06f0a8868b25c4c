"""Reductions over GPUs: TensorFlow's graphs run on two simulated GPUs.

TensorFlow has no kernels of these operations for CPUs, so its values are those of plain sums.
"""

from types import SimpleNamespace
from typing import Any

import genuine
import numpy as np
import pytest
import strict

import capstan
from capstan.contrib import nccl_ops

pytestmark = genuine.MARKS

REDUCTIONS = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}
FED = np.array([1.0, -2.0, 4.0], np.float32)


def towers_of(v1: Any) -> list[Any]:
    x = v1.placeholder(v1.float32, [3], name="x")
    towers = []
    for index in range(2):
        with v1.device(f"/gpu:{index}"):
            towers.append(x * (index + 2.0))
    return towers


def program(v1: Any, nccl: Any) -> list[Any]:
    """Return sums on two GPUs, and the gradients of functions of these sums."""
    towers = towers_of(v1)
    sums = nccl.all_sum(towers)
    with v1.device("/gpu:1"):
        total = nccl.reduce_sum(towers)
    spread = nccl.broadcast(total)
    losses = []
    for index in range(2):
        with v1.device(f"/gpu:{index}"):
            losses.append(sums[index] * sums[index] * (index + 1.0) + spread * 7.0)
    grads = v1.gradients(losses, towers, colocate_gradients_with_ops=True)
    return [*sums, total, *losses, *grads]


def graph_of(v1: Any, build: Any, *arguments: Any) -> tuple[Any, list[str]]:
    with v1.Graph().as_default() as graph:
        results = build(v1, *arguments)
        return graph, [result.name for result in results]


def run(message: bytes, names: list[str]) -> list[Any]:
    """Run a graph of TensorFlow on two simulated GPUs."""
    with strict.installed(2), capstan.Graph().as_default(), capstan.Session() as session:
        capstan.import_graph_def(capstan.GraphDef.FromString(message), name="")
        found: list[Any] = session.run(names, {"x:0": FED})
        return found


def facts(nodes: Any) -> list[Any]:
    """Return the NCCL nodes of a graph without their shared names, which only have to be equal."""
    found, shared = [], {}
    for node in sorted(nodes, key=lambda node: node.name):
        if node.op.startswith("Nccl"):
            attrs = {key: str(value) for key, value in node.attr.items() if key[0] != "_"}
            name = attrs.pop("shared_name", "")
            attrs["shared"] = shared.setdefault(name.replace("_grad", ""), len(shared))
            attrs["is_gradient"] = "_grad" in name
            found.append((node.op, node.name, node.device, len(node.input), attrs))
    return found


def test_a_graph_of_tensorflow_gives_the_values_of_plain_sums(v1: Any) -> None:
    from tensorflow.python.ops import nccl_ops as genuine_nccl

    plain = SimpleNamespace(
        all_sum=lambda tensors: [v1.add_n(tensors) for _ in tensors],
        reduce_sum=v1.add_n,
        broadcast=v1.identity,
    )
    graph, names = graph_of(v1, program, plain)
    config = v1.ConfigProto(allow_soft_placement=True)
    with v1.Session(graph=graph, config=config) as session:
        expected = session.run(names, {"x:0": FED})
    graph, names = graph_of(v1, program, genuine_nccl)
    found = run(graph.as_graph_def().SerializeToString(), names)
    for value, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-6)


def test_the_nodes_of_capstan_are_those_of_tensorflow(v1: Any) -> None:
    from tensorflow.python.ops import nccl_ops as genuine_nccl

    expected, _ = graph_of(v1, program, genuine_nccl)
    found, _ = graph_of(capstan, program, nccl_ops)
    assert facts(found.as_graph_def().node) == facts(expected.as_graph_def().node)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_each_reduction_is_that_of_numpy(v1: Any, name: str) -> None:
    from tensorflow.python.ops import nccl_ops as genuine_nccl

    def build(v1: Any) -> list[Any]:
        results: list[Any] = getattr(genuine_nccl, f"all_{name}")(towers_of(v1))
        return results

    graph, names = graph_of(v1, build)
    expected = REDUCTIONS[name](FED * 2, FED * 3)
    for found in run(graph.as_graph_def().SerializeToString(), names):
        np.testing.assert_array_equal(found, expected)
