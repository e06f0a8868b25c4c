"""A field of a pod template that Kubernetes does not have is a fault; one that it has is not."""

from typing import Any

import pytest

from capstan_operator.api import pod
from capstan_operator.api.names import ReplicaType


def job(template: object) -> dict[str, Any]:
    return {"spec": {"replicaSpecs": {"worker": {"template": template}}}}


def told(template: object) -> list[str]:
    path = "spec.replicaSpecs.worker.template"
    return [str(fault).removeprefix(path) for fault in pod.faults(job(template))]


def of_container(field: str, value: object) -> list[str]:
    path = ".spec.containers[1]"
    containers = [{"name": "trainer"}, {field: value}]
    return [line.removeprefix(path) for line in told({"spec": {"containers": containers}})]


@pytest.mark.parametrize(
    "field, value, fault",
    [
        ("agrs", [], ".agrs: is no field of Kubernetes' Container (1.36); did you mean args?"),
        ("envs", [], ".envs: is no field of Kubernetes' Container (1.36); did you mean env?"),
        ("Command", [], ".Command: is no field of Kubernetes' Container (1.36); did you mean"),
        ("zzz", 1, ".zzz: is no field of Kubernetes' Container (1.36)"),
        (
            "env",
            [{"name": "A"}, {"vlaue": "b"}],
            ".env[1].vlaue: is no field of Kubernetes' EnvVar",
        ),
        ("ports", [{"port": 1}], ".ports[0].port: is no field of Kubernetes' ContainerPort (1.36)"),
        ("resources", {"limit": {}}, ".resources.limit: is no field of Kubernetes' Resource"),
    ],
)
def test_a_field_that_no_container_has_is_a_fault(field: str, value: object, fault: str) -> None:
    (found,) = of_container(field, value)
    assert found.startswith(fault)


@pytest.mark.parametrize(
    "template, fault",
    [
        (
            {"sepc": {}},
            ".sepc: is no field of Kubernetes' PodTemplateSpec (1.36); did you mean spec?",
        ),
        ({"metadata": {"label": {}}}, ".metadata.label: is no field of Kubernetes' ObjectMeta"),
        ({"spec": {"terminationGracePeriod": 9}}, ".spec.terminationGracePeriod: is no field"),
        ({"spec": {"initContainers": [{"imgae": ""}]}}, ".spec.initContainers[0].imgae: is no"),
    ],
)
def test_a_field_that_no_pod_has_is_a_fault(template: object, fault: str) -> None:
    (found,) = told(template)
    assert found.startswith(fault)


@pytest.mark.parametrize("kind", ReplicaType)
def test_every_replica_type_is_looked_at(kind: ReplicaType) -> None:
    (fault,) = pod.faults({"spec": {"replicaSpecs": {kind.value: {"template": {"a": 1}}}}})
    assert fault.path == f"spec.replicaSpecs.{kind}.template.a"


def filled(kind: pod.Type) -> dict[str, Any]:
    """A value of a type with every field that it has."""
    return {
        name: filled(kind.inside[name]) if name in kind.inside else {"anything": 1}
        for name in kind.fields
    }


def test_whatever_kubernetes_has_is_no_fault() -> None:
    assert told(filled(pod.POD_TEMPLATE_SPEC)) == []


@pytest.mark.parametrize(
    "template", [None, 7, [], {"spec": 7}, {"spec": {"containers": 7}}, {7: 7}]
)
def test_what_is_no_template_is_left_to_the_schema(template: object) -> None:
    assert told(template) == []


@pytest.mark.parametrize("field", ["containers", "initContainers"])
def test_two_containers_with_one_name_are_a_fault(field: str) -> None:
    containers = [{"name": "a"}, {"name": "b"}, 7, {"name": 7}, {"name": 7}, {"name": "a"}]
    assert told({"spec": {field: containers}}) == [
        f".spec.{field}[5]: is the second container called 'a'; containers must have different"
        " names"
    ]
