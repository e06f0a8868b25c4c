"""The status of a job names the devices that no node has free."""

from typing import Any

import pytest

from capstan_operator.kube import cache, shortage

GPU = "nvidia.com/gpu"
ONE_OF_THREE = (
    "0/3 nodes are available: 1 Insufficient nvidia.com/gpu, 2 node(s) had untolerated taint(s)."
    " preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod,"
    " 2 Preemption is not helpful for scheduling."
)


def pod(*containers: dict[str, Any], inits: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    """Return a pod without a node, as the operator's cache keeps it."""
    spec = {"containers": list(containers), "initContainers": list(inits)}
    return cache.thin({"metadata": {"name": "p", "uid": "u"}, "spec": spec, "status": {}})


def asks(amount: object, *, resource: str = GPU, field: str = "limits", **other: str) -> Any:
    return {"name": "c", "resources": {field: {resource: amount, "cpu": "2"}}, **other}


@pytest.mark.parametrize(
    "document, message, sentence",
    [
        pytest.param(
            pod(asks("1")),
            ONE_OF_THREE,
            "it requests 1 nvidia.com/gpu, and none is free on 1 of 3 nodes; ",
            id="one device",
        ),
        pytest.param(
            pod(asks("4")),
            "0/2 nodes are available: 2 Insufficient nvidia.com/gpu.",
            "it requests 4 nvidia.com/gpu, and fewer than 4 are free on 2 of 2 nodes; ",
            id="several devices",
        ),
        pytest.param(
            pod(asks("1", resource="example.com/fpga.v2")),
            "0/2 nodes are available: 1 Insufficient cpu, 2 Insufficient example.com/fpga.v2.",
            "it requests 1 example.com/fpga.v2, and none is free on 2 of 2 nodes; ",
            id="another device, beside a shortage of processors",
        ),
        pytest.param(
            pod(asks("1")), "0/2 nodes are available: 2 Insufficient cpu.", "", id="no device"
        ),
        pytest.param(
            pod(asks("1", resource="cpu")), ONE_OF_THREE, "", id="the request is not known"
        ),
        pytest.param(pod(asks("1")), "", "", id="no message"),
    ],
)
def test_the_message_begins_with_the_request_and_the_free_amount(
    document: dict[str, Any], message: str, sentence: str
) -> None:
    assert shortage.explained(document, message) == sentence + message


@pytest.mark.parametrize(
    "document, count",
    [
        pytest.param(pod(asks("1"), asks(2)), 3, id="containers add up"),
        pytest.param(pod(asks("1", field="requests")), 1, id="a request"),
        pytest.param(pod(asks("1"), inits=(asks("4"),)), 4, id="an init container needs more"),
        pytest.param(pod(asks("3"), inits=(asks("2"),)), 3, id="an init container needs less"),
        pytest.param(
            pod(asks("3"), inits=(asks("2", restartPolicy="Always"),)), 5, id="a sidecar adds up"
        ),
        pytest.param(pod({"name": "c"}), 0, id="no resources"),
    ],
)
def test_the_devices_of_a_pod_are_counted_as_the_scheduler_counts_them(
    document: dict[str, Any], count: int
) -> None:
    assert shortage.requested(document, GPU) == count


def test_the_cache_keeps_devices_and_no_other_resource() -> None:
    assert pod(asks("1"))["spec"]["containers"] == [{"resources": {"requests": {GPU: 1}}}]
    assert "containers" not in pod(asks("1", resource="memory"))["spec"]
