"""Pod templates. A field that Kubernetes does not have causes a warning. Two containers of the same
name are a fault.
"""

from collections.abc import Iterable
from typing import Any

import pytest

from capstan_operator.api import pod
from capstan_operator.api.names import ReplicaType
from capstan_operator.errors import Fault

NO_FIELD = "Kubernetes 1.36 has no such field in"


def job(template: object) -> dict[str, Any]:
    return {"spec": {"replicaSpecs": {"worker": {"template": template}}}}


def relative(faults: Iterable[Fault]) -> list[str]:
    return [str(fault).removeprefix("spec.replicaSpecs.worker.template") for fault in faults]


def warnings(template: object) -> list[str]:
    return relative(pod.unknown_fields(job(template)))


def of_container(field: str, value: object) -> list[str]:
    path = ".spec.containers[1]"
    containers = [{"name": "trainer"}, {field: value}]
    return [line.removeprefix(path) for line in warnings({"spec": {"containers": containers}})]


@pytest.mark.parametrize(
    "field, value, warning",
    [
        ("agrs", [], f".agrs: {NO_FIELD} Container; did you mean args?"),
        ("envs", [], f".envs: {NO_FIELD} Container; did you mean env?"),
        ("Command", [], f".Command: {NO_FIELD} Container; did you mean"),
        ("zzz", 1, f".zzz: {NO_FIELD} Container"),
        ("env", [{"name": "A"}, {"vlaue": "b"}], f".env[1].vlaue: {NO_FIELD} EnvVar"),
        ("ports", [{"port": 1}], f".ports[0].port: {NO_FIELD} ContainerPort"),
        ("resources", {"limit": {}}, f".resources.limit: {NO_FIELD} ResourceRequirements"),
    ],
)
def test_a_field_that_no_container_has_is_a_warning(
    field: str, value: object, warning: str
) -> None:
    (found,) = of_container(field, value)
    assert found.startswith(warning)


@pytest.mark.parametrize(
    "template, warning",
    [
        ({"sepc": {}}, f".sepc: {NO_FIELD} PodTemplateSpec; did you mean spec?"),
        ({"metadata": {"label": {}}}, f".metadata.label: {NO_FIELD} ObjectMeta"),
        ({"spec": {"terminationGracePeriod": 9}}, f".spec.terminationGracePeriod: {NO_FIELD} Pod"),
        (
            {"spec": {"initContainers": [{"imgae": 1}]}},
            f".spec.initContainers[0].imgae: {NO_FIELD}",
        ),
    ],
)
def test_a_field_that_no_pod_has_is_a_warning(template: object, warning: str) -> None:
    (found,) = warnings(template)
    assert found.startswith(warning)


@pytest.mark.parametrize("kind", ReplicaType)
def test_the_template_of_every_replica_type_is_checked(kind: ReplicaType) -> None:
    template = {"a": 1}
    (warning,) = pod.unknown_fields(
        {"spec": {"replicaSpecs": {kind.value: {"template": template}}}}
    )
    assert warning.path == f"spec.replicaSpecs.{kind}.template.a"


def filled(kind: pod.Type) -> dict[str, Any]:
    """Return a value of a type with every field that the type has."""
    return {
        name: filled(kind.inside[name]) if name in kind.inside else {"anything": 1}
        for name in kind.fields
    }


def test_no_field_of_kubernetes_is_a_warning() -> None:
    assert warnings(filled(pod.POD_TEMPLATE_SPEC)) == []


@pytest.mark.parametrize(
    "template", [None, 7, [], {"spec": 7}, {"spec": {"containers": 7}}, {7: 7}]
)
def test_a_template_of_a_wrong_type_is_left_to_the_schema(template: object) -> None:
    assert warnings(template) == []
    assert relative(pod.same_names(job(template))) == []


@pytest.mark.parametrize("field", ["containers", "initContainers"])
def test_two_containers_with_one_name_are_a_fault(field: str) -> None:
    containers = [{"name": "a"}, {"name": "b"}, 7, {"name": 7}, {"name": 7}, {"name": "a"}]
    assert relative(pod.same_names(job({"spec": {field: containers}}))) == [
        f".spec.{field}[5]: is the second container called 'a'; containers must have different"
        " names"
    ]
