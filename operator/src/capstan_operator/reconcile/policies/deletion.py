"""Decide who stops the tasks of a deleted job, from its manifest alone.

    the job is not deleted                            nobody: the job goes on
    its pods become orphans                           nobody
    it is deleted in the foreground                   Kubernetes, and the operator shows their ends
    another finalizer holds it                        the operator, as if the job were suspended
    no finalizer                                      Kubernetes, because the job is gone

While a finalizer of a user holds a job, Kubernetes leaves its pods alone, perhaps for hours. In the
foreground, Kubernetes deletes all pods at once, and keeps the job until they are gone.
"""

from collections.abc import Mapping
from typing import Any

FOREGROUND = "foregroundDeletion"
_ORPHAN = "orphan"


def held_by(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the finalizers that hold a job whose tasks must all end. None if they need not."""
    metadata = manifest["metadata"]
    if not metadata.get("deletionTimestamp"):
        return ()
    finalizers = tuple(metadata.get("finalizers") or ())
    return () if _ORPHAN in finalizers else finalizers


def is_left_to_kubernetes(manifest: Mapping[str, Any]) -> bool:
    """Return whether the job is deleted and the operator has nothing to do for it."""
    return bool(manifest["metadata"].get("deletionTimestamp")) and not held_by(manifest)
