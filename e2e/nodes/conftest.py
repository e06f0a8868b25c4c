"""Fixtures of the tests on real nodes: the Kubernetes of the stories, the test bed's own nodes, a
pool of GPUs, and a namespace for each test.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator

import pytest

from conftest import chosen_cluster
from testbed import existing, gpus, kind
from testbed import nodes as real_nodes
from testbed.current import Current
from testbed.digits import Story
from testbed.installation import install
from testbed.kubernetes import Kubernetes
from testbed.nodes import Nodes
from testbed.programs import Unavailable

GPUS = 2
"""The GPUs that the stories need on one node."""

Start = Callable[[], contextlib.AbstractContextManager[Kubernetes]]


def two_nodes() -> contextlib.AbstractContextManager[Nodes]:
    """Run a Kubernetes of two real nodes that have all images."""
    return real_nodes.running(2, images=("runtime", "operator", "digits"))


@pytest.fixture(scope="session")
def start(pytestconfig: pytest.Config) -> Start:
    """The function that starts the Kubernetes of the stories. The options of the run choose it:
    the test bed's nodes, a cluster of kind, or a cluster that exists.
    """
    chosen = pytestconfig.option
    if chosen.kind:
        return functools.partial(kind.running, chosen.gpus)
    if chosen.kubeconfig:
        return functools.partial(existing.running, chosen.kubeconfig.resolve(), chosen.registry)
    return two_nodes


@pytest.fixture(scope="module")
def kubernetes(current: Current, start: Start, pytestconfig: pytest.Config) -> Kubernetes:
    """The Kubernetes of the stories. Tests share it."""
    try:
        return current.use(start)
    except Unavailable as reason:
        if chosen_cluster(pytestconfig):
            pytest.exit(str(reason), returncode=2)
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def nodes(current: Current, pytestconfig: pytest.Config) -> Nodes:
    """The test bed's own nodes, which tests may kill. Tests share them."""
    if chosen_cluster(pytestconfig):
        pytest.skip("kills processes or nodes, or reads disks: only the test bed's nodes allow it")
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
        gpus.pretend(nodes, name)
    yield name
    if name not in nodes.nodes:
        nodes.kubectl("delete", "node", name)


@pytest.fixture(scope="module")
def free_pools(kubernetes: Kubernetes) -> list[str]:
    """The nodes with free GPUs before the first story that needs GPUs."""
    return gpus.pools(kubernetes, GPUS)


@pytest.fixture
def gpu_pool(kubernetes: Kubernetes, request: pytest.FixtureRequest) -> str:
    """The name of a node with GPUs and the taint of a pool."""
    if isinstance(kubernetes, Nodes):
        return str(request.getfixturevalue("gpu_node"))
    pools: list[str] = request.getfixturevalue("free_pools")
    if not pools:
        most = gpus.most(kubernetes)
        pytest.skip(
            f"no node has {GPUS} free GPUs, and the largest has {most} in all: "
            "`make e2e-kind GPU=1` has such a node"
        )
    return pools[0]


@pytest.fixture
def namespace(kubernetes: Kubernetes) -> Iterator[str]:
    """A namespace for one test."""
    name = kubernetes.namespace()
    yield name
    kubernetes.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture(scope="module")
def notes(kubernetes: Kubernetes) -> str:
    """The notes of Helm that a user sees after the installation. On other clusters than the test
    bed's there are none.
    """
    return install(kubernetes)


@pytest.fixture
def story(kubernetes: Kubernetes, notes: str, namespace: str) -> Iterator[Story]:
    """A story in a namespace of its own, on a cluster with the operator. Its job is deleted after
    the test, because a running job would slow down the next test.
    """
    story = Story(kubernetes, namespace)
    yield story
    kubernetes.kubectl("delete", "tjob", "--all", "-n", story.namespace)
