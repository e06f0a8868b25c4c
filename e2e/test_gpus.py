"""The GPUs that pods use are not free for the stories."""

from typing import Any

import pytest

from testbed import gpus

Json = dict[str, Any]


def node(name: str, count: int) -> Json:
    return {"metadata": {"name": name}, "status": {"allocatable": {gpus.RESOURCE: str(count)}}}


def container(count: int, **fields: object) -> Json:
    return {"resources": {"limits": {gpus.RESOURCE: str(count)}}, **fields}


def pod(phase: str, count: int, **spec: object) -> Json:
    return {"spec": {"containers": [container(count)], **spec}, "status": {"phase": phase}}


@pytest.mark.parametrize("phase, left", [("Pending", 1), ("Running", 1), ("Succeeded", 4)])
def test_a_pod_uses_the_gpus_of_its_node_until_it_ends(phase: str, left: int) -> None:
    nodes = [node("one", 4), node("two", 4), {"metadata": {"name": "old"}, "status": {}}]
    pods = [pod(phase, 3, nodeName="one"), pod("Pending", 2), pod("Running", 1, nodeName="gone")]
    assert gpus.free(nodes, pods) == {"one": left, "two": 4, "old": 0}


def test_a_pod_needs_the_gpus_of_all_containers_that_run_together() -> None:
    sidecar, first = container(1, restartPolicy="Always"), container(4)
    both = [container(2), {"name": "without"}]
    assert gpus.requested({"containers": both, "initContainers": [sidecar]}) == 3
    assert gpus.requested({"containers": both, "initContainers": [first, sidecar]}) == 4
    assert gpus.requested({"containers": both, "initContainers": [sidecar, first]}) == 5
