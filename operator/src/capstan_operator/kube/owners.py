"""Which TrainingJob an object belongs to, and which task a pod is. Pure."""

from collections.abc import Mapping
from typing import Any

from capstan_operator.api import names
from capstan_operator.api.names import ReplicaType, TaskName, Uid

Manifest = Mapping[str, Any]


def controller(manifest: Manifest, job_name: str) -> Uid | None:
    """Return the UID of the TrainingJob of this name that controls an object, or None if none does.

    The UID may be that of a deleted job of the same name.
    """
    for owner in manifest["metadata"].get("ownerReferences") or ():
        group = str(owner.get("apiVersion")).partition("/")[0]
        reference = (group, owner.get("kind"), owner.get("name"))
        if owner.get("controller") and reference == (names.GROUP, names.KIND, job_name):
            return Uid(owner["uid"])
    return None


def keep(wanted: Manifest, found: Manifest, job: Uid) -> dict[str, Any]:
    """Return the manifest `wanted` of an object with the reference to its job as it was `found`.

    With the admission plugin OwnerReferencesPermissionEnforcement, only those may change a field of
    the reference who may delete the object.
    """
    kept = [owner for owner in found["metadata"]["ownerReferences"] if owner["uid"] == job]
    return {**wanted, "metadata": {**wanted["metadata"], "ownerReferences": kept}}


def task(pod: Manifest) -> tuple[TaskName, int] | None:
    """Return the task and the attempt that the labels of a pod name, or None if they name none."""
    labels = pod["metadata"].get("labels") or {}
    try:
        kind = ReplicaType(labels[names.LABEL_REPLICA_TYPE])
        index, attempt = labels[names.LABEL_REPLICA_INDEX], labels[names.LABEL_ATTEMPT]
        return TaskName.parse(f"{kind}-{index}"), int(attempt)
    except (KeyError, ValueError):
        return None
