"""Pods in the network of their node."""

from typing import Any

import pytest
from reconcile.world import make_job, task

from capstan_operator.manifests import pod

TRAINER = {"name": "trainer", "image": "trainer:1", "command": ["python"]}


def spec_of(name: str, *containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """Return the spec of the pod of a task."""
    template = {"spec": {"containers": [*containers, TRAINER], **spec}}
    kinds = {kind: {"template": template} for kind in ("worker", "evaluator")}
    job = make_job(ps=0, workers=2, evaluator=1, each=kinds)
    made = pod.pod(job, task(name), pod.environment(job), attempt=1, epoch=1)
    found: dict[str, Any] = made["spec"]
    return found


def ports_of(spec: dict[str, Any]) -> list[Any]:
    """Return the ports of all containers. An API server reserves these on the node."""
    return [port for container in spec["containers"] for port in container.get("ports", [])]


def test_tasks_in_the_network_of_a_node_reserve_their_port_and_know_the_names_of_tasks() -> None:
    spec = spec_of("worker-1", {"name": "log"}, hostNetwork=True)
    assert spec["containers"][1]["ports"] == [{"containerPort": 2222, "protocol": "TCP"}]
    assert "ports" not in spec["containers"][0]
    assert spec["dnsPolicy"] == "ClusterFirstWithHostNet"


def test_the_choices_of_a_template_stay() -> None:
    listed = {"name": "log", "ports": [{"containerPort": 2222}]}
    spec = spec_of("worker-1", listed, hostNetwork=True, dnsPolicy="Default")
    assert ports_of(spec) == listed["ports"]
    assert spec["dnsPolicy"] == "Default"


def test_a_port_of_another_protocol_is_another_port() -> None:
    listed = {"name": "log", "ports": [{"containerPort": 2222, "protocol": "UDP"}]}
    assert len(ports_of(spec_of("worker-1", listed, hostNetwork=True))) == 2


def test_an_evaluator_listens_at_no_port() -> None:
    spec = spec_of("evaluator-0", hostNetwork=True)
    assert ports_of(spec) == []
    assert spec["dnsPolicy"] == "ClusterFirstWithHostNet"


@pytest.mark.parametrize("choice", [{}, {"hostNetwork": False}, {"hostNetwork": None}])
def test_a_pod_in_a_network_of_its_own_stays_as_it_is(choice: dict[str, Any]) -> None:
    spec = spec_of("worker-1", **choice)
    assert ports_of(spec) == []
    assert "dnsPolicy" not in spec
