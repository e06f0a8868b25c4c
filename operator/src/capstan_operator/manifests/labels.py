"""The owner and the labels of a job's objects.

The controller reads the labels `capstan.dev/*` back. The labels `app.kubernetes.io/*` are for
people and their tools, so that a pod template may override them. All values are valid for every
valid job: no value is longer than the job's longest pod name, which fits into a label value.
"""

from typing import Any

from capstan_operator.api import names
from capstan_operator.api.names import TaskName
from capstan_operator.api.spec import TrainingJob


def metadata(job: TrainingJob, name: str, *, applied: bool = False) -> dict[str, Any]:
    """Return the metadata of an object that belongs to a job and is deleted with it.

    `applied` says that the object may be applied later. The reference to its owner must then stay
    as it was created: some clusters let only those change it who may delete the object. If the
    operator may read the object, it applies the present reference (`kube.owners.keep`).
    """
    return {
        "name": name,
        "namespace": job.metadata.namespace,
        "labels": of_job(job),
        "ownerReferences": [_bare_owner(job) if applied else owner(job)],
    }


def of_job(job: TrainingJob) -> dict[str, str]:
    """Return the labels of every object of a job."""
    return {
        **selector(job.metadata.name),
        names.LABEL_JOB_UID: job.metadata.uid,
        "app.kubernetes.io/name": "trainingjob",
        "app.kubernetes.io/instance": job.metadata.name,
        "app.kubernetes.io/managed-by": names.FIELD_MANAGER,
    }


def of_task(job: TrainingJob, task: TaskName, attempt: int, epoch: int) -> dict[str, str]:
    """Return the labels of the pod of one attempt; `epoch` is the cluster's epoch at its start."""
    return {
        **of_job(job),
        names.LABEL_REPLICA_TYPE: task.type.value,
        names.LABEL_REPLICA_INDEX: str(task.index),
        names.LABEL_ATTEMPT: str(attempt),
        names.LABEL_EPOCH: str(epoch),
        "app.kubernetes.io/component": task.type.value,
    }


def is_ours(label: str) -> bool:
    """Whether the controller reads the label back, so that a template may not override it."""
    return label.startswith(f"{names.GROUP}/")


def selector(job_name: str) -> dict[str, str]:
    """Return the selector of the pods of all jobs that have or had this name."""
    return {names.LABEL_JOB_NAME: job_name}


def workers(job: TrainingJob) -> str:
    """Return the label selector of a job's workers as text, or "" if the job has no workers."""
    if job.spec.replica_specs.worker is None:
        return ""
    wanted = {
        **selector(job.metadata.name),
        names.LABEL_REPLICA_TYPE: names.ReplicaType.WORKER.value,
    }
    return ",".join(f"{label}={value}" for label, value in wanted.items())


def owner(job: TrainingJob) -> dict[str, object]:
    """Return the ownerReference by which Kubernetes deletes an object together with its job.

    With `blockOwnerDeletion`, a foreground deletion of the job ends when its objects are gone. Some
    clusters let only those set it who may update the finalizers of the job.
    """
    return {**_bare_owner(job), "blockOwnerDeletion": True}


def _bare_owner(job: TrainingJob) -> dict[str, object]:
    """Return the ownerReference of an object whose deletion nobody waits for."""
    return {
        "apiVersion": job.api_version,
        "kind": job.kind,
        "name": job.metadata.name,
        "uid": job.metadata.uid,
        "controller": True,
    }
