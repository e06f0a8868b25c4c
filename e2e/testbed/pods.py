"""Pods of the API: their names, their paths, and which of two versions is newer. Pure."""

from typing import Any

from testbed.api import ApiError

Json = dict[str, Any]


def key(pod: Json) -> str:
    """Name a pod as tests do: `namespace/name`."""
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def path(pod: Json | str) -> str:
    """Where the API has it, by its manifest or its key."""
    namespace, _, name = (pod if isinstance(pod, str) else key(pod)).partition("/")
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def is_newer(pod: Json, known: Json | None) -> bool:
    """Say whether this is another pod than the one known, or a later version of it."""
    if known is None or known["metadata"]["uid"] != pod["metadata"]["uid"]:
        return True
    new, old = (int(one["metadata"]["resourceVersion"]) for one in (pod, known))
    return new > old


def is_replaced(error: ApiError) -> bool:
    """Say whether the server refused a status because an earlier pod of this name had it."""
    return error.status == 422 and "metadata.uid" in error.message
