"""The PersistentVolumeClaim that keeps the checkpoints of a job.

It is created before any pod, if `spec.checkpoint.volumeClaim` asks for it. The job owns it, so that
Kubernetes deletes it together with the job. A claim of the user (`existingClaim`) outlives the job.
"""

from typing import Any

from capstan_operator.api.spec import Checkpoint, TrainingJob, VolumeClaim
from capstan_operator.manifests import labels


def name(job: TrainingJob) -> str:
    """Return the name of the claim that the operator creates for a job."""
    return name_for(job.metadata.name)


def name_for(job_name: str) -> str:
    """Return the name of the claim that the operator creates for a job of this name."""
    return f"{job_name}-checkpoints"


def mounted(job: TrainingJob, checkpoint: Checkpoint) -> str:
    """Return the name of the claim that the tasks of a job mount."""
    return checkpoint.existing_claim or name(job)


def volume_claim(job: TrainingJob, wanted: VolumeClaim) -> dict[str, Any]:
    """Return the claim of a job."""
    spec: dict[str, Any] = {
        "accessModes": [mode.value for mode in wanted.access_modes],
        "resources": {"requests": {"storage": wanted.storage}},
    }
    if wanted.storage_class_name is not None:
        spec["storageClassName"] = wanted.storage_class_name
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": labels.metadata(job, name(job)),
        "spec": spec,
    }
