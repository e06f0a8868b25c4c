"""Tables of the nodes that pods prefer."""

from typing import Any

import pytest
from reconcile.world import TEMPLATE, make_job, task

from capstan_operator.manifests import pod

OURS = {
    "weight": 100,
    "podAffinityTerm": {
        "labelSelector": {
            "matchLabels": {"capstan.dev/job-uid": "a-job", "capstan.dev/replica-type": "ps"}
        },
        "topologyKey": "kubernetes.io/hostname",
    },
}
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NODES = {"nodeAffinity": {"anything": 1}}
THEIRS = {"weight": 7, "podAffinityTerm": {"topologyKey": "zone"}}
THEIR_PODS = {"podAntiAffinity": {PREFERRED: [THEIRS]}}
REQUIRED = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}


AWAY = {
    "weight": 100,
    "preference": {
        "matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["gpu-7"]}]
    },
}
SMALL = {"weight": 3, "preference": {"matchExpressions": [{"key": "size", "operator": "Exists"}]}}


def affinity(
    name: str, *, ps: int = 2, given: Any = ..., avoided_node: str = "", **spec: Any
) -> Any:
    """Return the affinity of a task's pod. `given` is the affinity of its template."""
    inside = TEMPLATE["spec"] if given is ... else {**TEMPLATE["spec"], "affinity": given}
    each = {name.partition("-")[0]: {"template": {"spec": inside}}}
    job = make_job(ps=ps, each=each, **spec)
    manifest = pod.pod(
        job, task(name), pod.environment(job), attempt=1, epoch=1, avoided_node=avoided_node
    )
    return manifest["spec"].get("affinity", "none")


@pytest.mark.parametrize(
    "given, becomes",
    [
        (..., {"podAntiAffinity": {PREFERRED: [OURS]}}),
        (None, {"podAntiAffinity": {PREFERRED: [OURS]}}),
        (NODES, {**NODES, "podAntiAffinity": {PREFERRED: [OURS]}}),
        (
            {"podAntiAffinity": {PREFERRED: [THEIRS], **REQUIRED}},
            {"podAntiAffinity": {PREFERRED: [THEIRS, OURS], **REQUIRED}},
        ),
        ("malformed", "malformed"),
        ({"podAntiAffinity": "malformed"}, {"podAntiAffinity": "malformed"}),
        ({"podAntiAffinity": {PREFERRED: 1}}, {"podAntiAffinity": {PREFERRED: 1}}),
    ],
)
def test_parameter_servers_prefer_different_nodes_beside_their_own_affinity(
    given: Any, becomes: Any
) -> None:
    assert affinity("ps-1", given=given) == becomes


@pytest.mark.parametrize(
    "name, ps, scheduling",
    [
        ("ps-0", 1, {}),
        ("ps-0", 2, {"spreadParameterServers": False}),
        ("worker-0", 2, {}),
    ],
)
def test_other_pods_keep_the_affinity_of_their_template(
    name: str, ps: int, scheduling: dict[str, bool]
) -> None:
    assert affinity(name, ps=ps, scheduling=scheduling) == "none"
    assert affinity(name, ps=ps, scheduling=scheduling, given=NODES) == NODES


@pytest.mark.parametrize(
    "given, becomes",
    [
        (..., {"nodeAffinity": {PREFERRED: [AWAY]}}),
        (
            {"nodeAffinity": {PREFERRED: [SMALL], **REQUIRED}, **THEIR_PODS},
            {"nodeAffinity": {PREFERRED: [SMALL, AWAY], **REQUIRED}, **THEIR_PODS},
        ),
        ({"nodeAffinity": "malformed"}, {"nodeAffinity": "malformed"}),
    ],
)
def test_a_pod_prefers_other_nodes_than_the_one_it_avoids(given: Any, becomes: Any) -> None:
    assert affinity("worker-0", given=given, avoided_node="gpu-7") == becomes


def test_a_parameter_server_avoids_a_node_and_the_nodes_of_others() -> None:
    both = {"podAntiAffinity": {PREFERRED: [OURS]}, "nodeAffinity": {PREFERRED: [AWAY]}}
    assert affinity("ps-0", avoided_node="gpu-7") == both
