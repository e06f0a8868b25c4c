"""Decide who stops the tasks of a deleted job, from its manifest alone.

    the job is not deleted                            nobody: the job goes on
    its finalizer is the garbage collector's          Kubernetes deletes its pods, or orphans them
    another finalizer holds it                        the operator, as if the job were suspended
    no finalizer                                      Kubernetes, because the job is gone

While a finalizer of a user holds a job, Kubernetes leaves its pods alone, perhaps for hours.
"""

from collections.abc import Mapping
from typing import Any

_OF_GARBAGE_COLLECTOR = frozenset({"foregroundDeletion", "orphan"})


def held_by(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the finalizers for which the operator must stop the tasks. None if it must not."""
    metadata = manifest["metadata"]
    if not metadata.get("deletionTimestamp"):
        return ()
    finalizers = tuple(metadata.get("finalizers") or ())
    return () if _OF_GARBAGE_COLLECTOR.intersection(finalizers) else finalizers


def is_left_to_kubernetes(manifest: Mapping[str, Any]) -> bool:
    """Return whether the job is deleted and the operator has nothing to do for it."""
    return bool(manifest["metadata"].get("deletionTimestamp")) and not held_by(manifest)
