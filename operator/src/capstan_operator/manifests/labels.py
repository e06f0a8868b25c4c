"""Who owns a child of a job, and the labels by which it is found.

`capstan.dev/*` is ours: the controller reads these back. `app.kubernetes.io/*` is for people and
their tools, so a pod template may say it differently. Values are valid for every valid job: its
longest pod name fits a label value, and what is told here is shorter.
"""

from capstan_operator.api import names
from capstan_operator.api.names import TaskName
from capstan_operator.api.spec import TrainingJob


def of_job(job: TrainingJob) -> dict[str, str]:
    """Return the labels of every child of a job."""
    return {
        **selector(job.metadata.name),
        names.LABEL_JOB_UID: job.metadata.uid,
        "app.kubernetes.io/name": "trainingjob",
        "app.kubernetes.io/instance": job.metadata.name,
        "app.kubernetes.io/managed-by": names.FIELD_MANAGER,
    }


def of_task(job: TrainingJob, task: TaskName, attempt: int, epoch: int) -> dict[str, str]:
    """Return the labels of the pod of one attempt; `epoch` is the cluster's when it starts."""
    return {
        **of_job(job),
        names.LABEL_REPLICA_TYPE: task.type.value,
        names.LABEL_REPLICA_INDEX: str(task.index),
        names.LABEL_ATTEMPT: str(attempt),
        names.LABEL_EPOCH: str(epoch),
        "app.kubernetes.io/component": task.type.value,
    }


def is_ours(label: str) -> bool:
    """Whether the controller reads the label back, so that nobody else may say what it is."""
    return label.startswith(f"{names.GROUP}/")


def selector(job_name: str) -> dict[str, str]:
    """Return what selects the pods of all jobs that have or had this name."""
    return {names.LABEL_JOB_NAME: job_name}


def owner(job: TrainingJob) -> dict[str, object]:
    """Return the ownerReference by which a child goes when its job does.

    Without `blockOwnerDeletion`: that would take the right to update finalizers of jobs.
    """
    return {
        "apiVersion": job.api_version,
        "kind": job.kind,
        "name": job.metadata.name,
        "uid": job.metadata.uid,
        "controller": True,
    }
