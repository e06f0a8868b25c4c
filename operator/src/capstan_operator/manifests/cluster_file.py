"""The live description of a job's cluster, for tasks that run while the number of workers changes.

It is a ConfigMap, which the kubelet shows as a file in every container of every task. The operator
creates it when the number of workers changes for the first time. Until then there is no file, and
TF_CONFIG describes the cluster. The name of the ConfigMap contains the UID of the job, so that
a task never reads the file of a deleted job of the same name.
"""

import json
from typing import Any

from capstan_operator.api.spec import TrainingJob
from capstan_operator.manifests import cluster, labels
from capstan_operator.manifests.cluster import Address

FOLDER = "/etc/capstan/cluster"
FILE = "cluster.json"
PATH = f"{FOLDER}/{FILE}"
"""The value of CAPSTAN_CLUSTER_FILE."""
VOLUME = "capstan-cluster"

_UID_LENGTH = 8


def name(job: TrainingJob) -> str:
    """Return the name of the ConfigMap of a job."""
    return f"{job.metadata.name}-cluster-{job.metadata.uid[:_UID_LENGTH]}"


def volume(job: TrainingJob) -> dict[str, Any]:
    """Return the volume with the file. A pod starts, and runs on, without the ConfigMap."""
    items = [{"key": FILE, "path": FILE}]
    return {"name": VOLUME, "configMap": {"name": name(job), "items": items, "optional": True}}


def mount() -> dict[str, Any]:
    # A mount of the file alone (`subPath`) would never be updated.
    return {"name": VOLUME, "mountPath": FOLDER, "readOnly": True}


def config_map(job: TrainingJob, address: Address, *, version: int, epoch: int) -> dict[str, Any]:
    """Return the ConfigMap. `version` counts the changes of the number of workers."""
    members = cluster.cluster_spec(job, address)
    text = json.dumps({"version": version, "epoch": epoch, "cluster": members})
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": labels.metadata(job, name(job), applied=True),
        "data": {FILE: text},
    }
