"""Objects of other owners that have a name which a job needs."""

from collections.abc import Mapping
from typing import Any

from capstan_operator.api.spec import TrainingJob
from capstan_operator.kube import owners
from capstan_operator.reconcile.observe import NAME_CONFLICT, WAITING_FOR_OLD_PODS, Obstacle


def in_the_way(kind: str, manifest: Mapping[str, Any], job: TrainingJob) -> Obstacle:
    """Return the obstacle for an object whose name the job needs, but which is not the job's."""
    name = manifest["metadata"]["name"]
    if owners.controller(manifest, job.metadata.name) is not None:
        message = (
            f"{kind} {name} belongs to a deleted job of the same name, and Kubernetes is about to"
            " delete it too"
        )
        return Obstacle(WAITING_FOR_OLD_PODS, message)
    message = f"there is a {kind} {name} that is not this job's; delete it, or rename the job"
    return Obstacle(NAME_CONFLICT, message)
