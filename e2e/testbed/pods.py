"""The keys, paths and versions of pods. All functions are pure."""

from typing import Any

from testbed.api import ApiError

Json = dict[str, Any]


def key(pod: Json) -> str:
    """Return the key of a pod, by which tests name it: `namespace/name`."""
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def path(pod: Json | str) -> str:
    """Return the path of a pod in the API. The pod is a manifest or a key."""
    namespace, _, name = (pod if isinstance(pod, str) else key(pod)).partition("/")
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def is_newer(pod: Json, known: Json | None) -> bool:
    """Return whether `pod` is another pod than `known`, or a later version of it."""
    if known is None or known["metadata"]["uid"] != pod["metadata"]["uid"]:
        return True
    version, known_version = (int(each["metadata"]["resourceVersion"]) for each in (pod, known))
    return version > known_version


def is_replaced(error: ApiError) -> bool:
    """Return whether the API server refused a status because it belongs to an earlier pod of this
    name.
    """
    return error.status == 422 and "metadata.uid" in error.message
