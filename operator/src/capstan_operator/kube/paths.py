"""The paths of the API that the operator reads and writes. Every segment is quoted."""

from urllib.parse import quote

from capstan_operator.api import names

GROUP_VERSION = f"/apis/{names.GROUP}/{names.VERSION}"
"""The path of the list of the group's resources. Answers 404 while the CRD is not installed."""
_CORE = "/api/v1"
_EVENTS = "/apis/events.k8s.io/v1"
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


def services(namespace: str | None = None) -> str:
    """Return the path of the Services of a namespace, or of all namespaces."""
    return _namespaced(_CORE, namespace, "services")


def service(namespace: str, name: str) -> str:
    return _namespaced(_CORE, namespace, "services", name)


def events(namespace: str) -> str:
    return _namespaced(_EVENTS, namespace, "events")


def leases(namespace: str) -> str:
    return _namespaced(_COORDINATION, namespace, "leases")


def lease(namespace: str, name: str) -> str:
    return _namespaced(_COORDINATION, namespace, "leases", name)


def node(name: str) -> str:
    return _namespaced(_CORE, None, "nodes", name)


def resource(path: str) -> str:
    """Return the resource of a path as RBAC names it, such as `trainingjobs/status`.

    Return "" for the path of a group.
    """
    segments = path.strip("/").split("/")
    segments = segments[2:] if segments[0] == "api" else segments[3:]
    if segments[:1] == ["namespaces"] and len(segments) > 2:
        segments = segments[2:]
    return "/".join(segments[0::2])


def _namespaced(group: str, namespace: str | None, plural: str, name: str | None = None) -> str:
    inside = "" if namespace is None else f"/namespaces/{quote(namespace, safe='')}"
    return f"{group}{inside}/{plural}" + ("" if name is None else f"/{quote(name, safe='')}")
