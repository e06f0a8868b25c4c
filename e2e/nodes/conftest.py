"""What tests on real nodes share: a cluster of two, and a namespace in it."""

import contextlib
from collections.abc import Iterator

import pytest

from testbed import nodes as real_nodes
from testbed.nodes import Nodes
from testbed.programs import Unavailable


@pytest.fixture(scope="session")
def nodes() -> Iterator[Nodes]:
    """A Kubernetes of two real nodes, with the image of the runtime."""
    with contextlib.ExitStack() as stack:
        try:
            cluster = stack.enter_context(real_nodes.running(2))
        except Unavailable as reason:
            pytest.skip(str(reason))
        cluster.import_image("runtime")
        yield cluster


@pytest.fixture
def namespace(nodes: Nodes) -> Iterator[str]:
    """A namespace for one test."""
    name = nodes.namespace()
    yield name
    nodes.kubectl("delete", "namespace", name, "--wait=false")
