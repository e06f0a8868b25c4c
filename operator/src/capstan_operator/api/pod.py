"""The names in a pod template: unknown fields, and containers of the same name.

A template belongs to its user. Capstan keeps every field as it is written, and the API server of a
cluster checks it in a dry run. On a laptop no API server is there, so a misspelt field would go
unnoticed: `unknown_fields` finds the likely ones for a warning. A field may be newer than this
list, so it is never refused here.

Source: the OpenAPI document of Kubernetes 1.36 (PodTemplateSpec and the types named below).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from capstan_operator.api import spelling
from capstan_operator.api.names import ReplicaType
from capstan_operator.errors import Fault

VERSION = "1.36"


@dataclass(frozen=True, slots=True)
class Type:
    """A type of Kubernetes: the names of its fields, and the types of some fields (`inside`)."""

    name: str
    fields: frozenset[str]
    inside: Mapping[str, "Type"]


def _type(name: str, fields: str, **inside: Type) -> Type:
    return Type(name, frozenset(fields.split()) | inside.keys(), inside)


OBJECT_META = _type(
    "ObjectMeta",
    "annotations creationTimestamp deletionGracePeriodSeconds deletionTimestamp finalizers"
    " generateName generation labels managedFields name namespace ownerReferences resourceVersion"
    " selfLink uid",
)
CONTAINER = _type(
    "Container",
    "args command envFrom image imagePullPolicy lifecycle livenessProbe name readinessProbe"
    " resizePolicy restartPolicy restartPolicyRules securityContext startupProbe stdin stdinOnce"
    " terminationMessagePath terminationMessagePolicy tty volumeDevices volumeMounts workingDir",
    env=_type("EnvVar", "name value valueFrom"),
    ports=_type("ContainerPort", "containerPort hostIP hostPort name protocol"),
    resources=_type("ResourceRequirements", "claims limits requests"),
)
POD_SPEC = _type(
    "PodSpec",
    "activeDeadlineSeconds affinity automountServiceAccountToken dnsConfig dnsPolicy"
    " enableServiceLinks ephemeralContainers hostAliases hostIPC hostNetwork hostPID hostUsers"
    " hostname hostnameOverride imagePullSecrets nodeName nodeSelector os overhead"
    " preemptionPolicy priority priorityClassName readinessGates resourceClaims"
    " restartPolicy runtimeClassName schedulerName schedulingGates schedulingGroup securityContext"
    " serviceAccount serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain"
    " terminationGracePeriodSeconds tolerations topologySpreadConstraints volumes",
    containers=CONTAINER,
    initContainers=CONTAINER,
    resources=_type("ResourceRequirements", "claims limits requests"),
)
POD_TEMPLATE_SPEC = _type("PodTemplateSpec", "", metadata=OBJECT_META, spec=POD_SPEC)


def same_names(document: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield the containers of a TrainingJob's pod templates whose name another container has.

    The document is raw. Values of a wrong type are passed over, because the schema reports them.
    """
    for path, template in _templates(document):
        spec = template.get("spec")
        for name in ("containers", "initContainers"):
            containers = spec.get(name) if isinstance(spec, Mapping) else None
            yield from _same_names(containers, f"{path}.spec.{name}")


def unknown_fields(document: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield the fields of a TrainingJob's pod templates that Kubernetes `VERSION` does not have.

    They are warnings, because a newer Kubernetes may have them. The document is raw: values of a
    wrong type are passed over.
    """
    for path, template in _templates(document):
        yield from _unknown(POD_TEMPLATE_SPEC, template, path)


def _templates(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[Any, Any]]]:
    """Yield the path and the content of each pod template."""
    for kind in ReplicaType:
        template: Any = document
        for name in ("spec", "replicaSpecs", kind.value, "template"):
            template = template.get(name) if isinstance(template, Mapping) else None
        if isinstance(template, Mapping):
            yield f"spec.replicaSpecs.{kind}.template", template


def _same_names(containers: object, path: str) -> Iterator[Fault]:
    earlier_names: set[str] = set()
    for index, container in enumerate(containers if isinstance(containers, list) else []):
        name = container.get("name") if isinstance(container, Mapping) else None
        if isinstance(name, str) and name in earlier_names:
            message = (
                f"is the second container called {name!r}; containers must have different names"
            )
            yield Fault(f"{path}[{index}]", message)
        elif isinstance(name, str):
            earlier_names.add(name)


def _unknown(kind: Type, value: object, path: str) -> Iterator[Fault]:
    """Yield the unknown fields of a value of this type, or of a list of such values."""
    if isinstance(value, list):
        for index, member in enumerate(value):
            if isinstance(member, Mapping):
                yield from _unknown(kind, member, f"{path}[{index}]")
    if not isinstance(value, Mapping):
        return
    for name, inner in value.items():
        if name in kind.inside:
            yield from _unknown(kind.inside[name], inner, f"{path}.{name}")
        elif isinstance(name, str) and name not in kind.fields:
            meant = spelling.did_you_mean(name, kind.fields)
            message = f"Kubernetes {VERSION} has no such field in {kind.name}{meant}"
            yield Fault(f"{path}.{name}", message)
