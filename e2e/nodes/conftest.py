"""Fixtures of the tests on real nodes: a cluster of two nodes, a third node that a test may kill,
and a namespace for each test.
"""

import contextlib
from collections.abc import Iterator

import pytest

from testbed import nodes as real_nodes
from testbed.current import Current
from testbed.nodes import Nodes
from testbed.programs import Unavailable

GPUS = 4
GPU_TAINT = "nvidia.com/gpu"


def two_nodes() -> contextlib.AbstractContextManager[Nodes]:
    """Run a Kubernetes of two real nodes that have all images."""
    return real_nodes.running(2, images=("runtime", "operator", "digits"))


@pytest.fixture(scope="module")
def nodes(current: Current) -> Nodes:
    """A Kubernetes of two real nodes that have all images. Tests share this Kubernetes."""
    try:
        return current.use(two_nodes)
    except Unavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture
def gpu_node(nodes: Nodes) -> Iterator[str]:
    """The name of a third node, which has GPUs and a taint that keeps other pods away.

    Tests share the node until one of them kills it. The next test then gets a new node.
    """
    name = next((name for name in nodes.nodes if name not in ("node1", "node2")), None)
    if name is None:
        [node] = nodes.add_nodes(1)
        name = node.name
        nodes.kubectl("taint", "node", name, f"{GPU_TAINT}=present:NoSchedule")
        nodes.device_plugin(name, GPUS)
    yield name
    if name not in nodes.nodes:
        nodes.kubectl("delete", "node", name)


@pytest.fixture
def namespace(nodes: Nodes) -> Iterator[str]:
    """A namespace for one test."""
    name = nodes.namespace()
    yield name
    nodes.kubectl("delete", "namespace", name, "--wait=false")
