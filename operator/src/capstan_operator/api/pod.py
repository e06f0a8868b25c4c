"""The names in a pod template, as far as a slip in one would start the wrong thing.

A template belongs to its user: what its fields hold is the cluster's affair, and Capstan keeps it
as it came. But a field that Kubernetes does not have is one that nobody will ever read, and of two
containers with one name nobody can say which is meant.

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
    """A type of Kubernetes: all its fields, and the types of those that are looked into."""

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


def faults(document: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield the fields of a TrainingJob's pod templates that Kubernetes does not have, and the
    containers that have the name of another.

    The document is raw: what is of a wrong type is passed over, for the schema tells of it.
    """
    for kind in ReplicaType:
        at: Any = document
        for name in ("spec", "replicaSpecs", kind.value, "template"):
            at = at.get(name) if isinstance(at, Mapping) else None
        path = f"spec.replicaSpecs.{kind}.template"
        yield from _unknown(POD_TEMPLATE_SPEC, at, path)
        spec = at.get("spec") if isinstance(at, Mapping) else None
        for name in ("containers", "initContainers"):
            containers = spec.get(name) if isinstance(spec, Mapping) else None
            yield from _same_names(containers, f"{path}.spec.{name}")


def _same_names(containers: object, path: str) -> Iterator[Fault]:
    seen: set[str] = set()
    for index, one in enumerate(containers if isinstance(containers, list) else []):
        name = one.get("name") if isinstance(one, Mapping) else None
        if isinstance(name, str) and name in seen:
            message = (
                f"is the second container called {name!r}; containers must have different names"
            )
            yield Fault(f"{path}[{index}]", message)
        elif isinstance(name, str):
            seen.add(name)


def _unknown(kind: Type, value: object, path: str) -> Iterator[Fault]:
    """Look into a value that should be of this type, or a list of such."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, Mapping):
                yield from _unknown(kind, item, f"{path}[{index}]")
    if not isinstance(value, Mapping):
        return
    for name, inner in value.items():
        if name in kind.inside:
            yield from _unknown(kind.inside[name], inner, f"{path}.{name}")
        elif isinstance(name, str) and name not in kind.fields:
            meant = spelling.did_you_mean(name, kind.fields)
            message = f"is no field of Kubernetes' {kind.name} ({VERSION}){meant}"
            yield Fault(f"{path}.{name}", message)
