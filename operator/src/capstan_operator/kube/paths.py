"""The paths of the API that the operator reads and writes. Every segment is quoted."""

from urllib.parse import quote, unquote

from capstan_operator.api import names
from capstan_operator.manifests import gang

VERSION = "/version"
GROUP = f"/apis/{names.GROUP}"
"""The path of the group, which lists its served versions. Answers 404 without the CRD."""
GROUP_VERSION = f"{GROUP}/{names.VERSION}"
"""The path of the list of the group's resources. Answers 404 while the CRD is not installed."""
SCHEMAS = f"/openapi/v3{GROUP_VERSION}"
"""The path of the OpenAPI document of the group and version, which every user may read."""
GROUPS = "/apis"
"""The path of the list of all groups and their versions."""
WITHOUT_METADATA = frozenset(
    {
        VERSION,
        GROUP,
        GROUP_VERSION,
        SCHEMAS,
        GROUPS,
        *(f"/apis/{each.version}" for each in gang.BACK_ENDS),
    }
)
"""Paths whose answers are not objects."""
_CORE = "/api/v1"
_APPS = "/apis/apps/v1"
_EVENTS = "/apis/events.k8s.io/v1"
_NETWORKING = "/apis/networking.k8s.io/v1"
_METRICS = "/apis/metrics.k8s.io/v1beta1"
_COORDINATION = "/apis/coordination.k8s.io/v1"


def jobs(namespace: str | None = None) -> str:
    """Return the path of the TrainingJobs of a namespace, or of all namespaces."""
    return _namespaced(GROUP_VERSION, namespace, names.PLURAL)


def job(namespace: str, name: str) -> str:
    return _namespaced(GROUP_VERSION, namespace, names.PLURAL, name)


def job_status(namespace: str, name: str) -> str:
    return f"{job(namespace, name)}/status"


def pods(namespace: str | None = None) -> str:
    """Return the path of the Pods of a namespace, or of all namespaces."""
    return _namespaced(_CORE, namespace, "pods")


def pod(namespace: str, name: str) -> str:
    return _namespaced(_CORE, namespace, "pods", name)


def pod_log(namespace: str, name: str) -> str:
    return f"{pod(namespace, name)}/log"


def pod_metrics(namespace: str) -> str:
    """Return the path of the measurements of a namespace's pods. Only some clusters serve it."""
    return _namespaced(_METRICS, namespace, "pods")


def services(namespace: str | None = None) -> str:
    """Return the path of the Services of a namespace, or of all namespaces."""
    return _namespaced(_CORE, namespace, "services")


def service(namespace: str, name: str) -> str:
    return _namespaced(_CORE, namespace, "services", name)


def config_map(namespace: str, name: str) -> str:
    return _namespaced(_CORE, namespace, "configmaps", name)


def secrets(namespace: str) -> str:
    return _namespaced(_CORE, namespace, "secrets")


def secret(namespace: str, name: str) -> str:
    return _namespaced(_CORE, namespace, "secrets", name)


def volume_claims(namespace: str) -> str:
    return _namespaced(_CORE, namespace, "persistentvolumeclaims")


def volume_claim(namespace: str, name: str) -> str:
    return _namespaced(_CORE, namespace, "persistentvolumeclaims", name)


def network_policies(namespace: str) -> str:
    return _namespaced(_NETWORKING, namespace, "networkpolicies")


def network_policy(namespace: str, name: str) -> str:
    return _namespaced(_NETWORKING, namespace, "networkpolicies", name)


def deployments() -> str:
    """Return the path of the Deployments of all namespaces."""
    return _namespaced(_APPS, None, "deployments")


def events(namespace: str) -> str:
    return _namespaced(_EVENTS, namespace, "events")


def leases(namespace: str) -> str:
    return _namespaced(_COORDINATION, namespace, "leases")


def lease(namespace: str, name: str) -> str:
    return _namespaced(_COORDINATION, namespace, "leases", name)


def group_version(version: str) -> str:
    """Return the path of the list of the resources of a version, such as `apps/v1`."""
    return f"{GROUPS}/{version}"


def pod_groups(version: str, namespace: str) -> str:
    return _namespaced(group_version(version), namespace, "podgroups")


def pod_group(version: str, namespace: str, name: str) -> str:
    return _namespaced(group_version(version), namespace, "podgroups", name)


def node(name: str) -> str:
    return _namespaced(_CORE, None, "nodes", name)


def resource(path: str) -> str:
    """Return the resource of a path as RBAC names it, such as `trainingjobs/status`.

    Return "" for the path of a group or of its schemas.
    """
    segments = path.strip("/").split("/")
    if segments[0] == "openapi":
        return ""
    segments = segments[2:] if segments[0] == "api" else segments[3:]
    if segments[:1] == ["namespaces"] and len(segments) > 2:
        segments = segments[2:]
    return "/".join(segments[0::2])


def namespace(path: str) -> str:
    """Return the namespace of a path, or "" if it has none."""
    _, _, inside = path.partition("/namespaces/")
    return unquote(inside.partition("/")[0])


def _namespaced(group: str, namespace: str | None, plural: str, name: str | None = None) -> str:
    inside = "" if namespace is None else f"/namespaces/{quote(namespace, safe='')}"
    return f"{group}{inside}/{plural}" + ("" if name is None else f"/{quote(name, safe='')}")
