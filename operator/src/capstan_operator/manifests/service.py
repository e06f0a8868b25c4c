"""The Service under which the tasks of a job find each other: names in DNS, no address of its own.

It is created before any pod and stays as long as its job, so that a task is called the same from
before it is ready until after its last restart.
"""

from typing import Any

from capstan_operator.api.spec import TrainingJob
from capstan_operator.manifests import cluster, labels


def service(job: TrainingJob) -> dict[str, Any]:
    """Return the headless Service of a job, named as the job is."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": job.metadata.name,
            "namespace": job.metadata.namespace,
            "labels": labels.of_job(job),
            "ownerReferences": [labels.owner(job)],
        },
        "spec": {
            "clusterIP": "None",
            # Tasks wait for each other before they are ready: without it nobody ever would be.
            "publishNotReadyAddresses": True,
            "selector": labels.selector(job.metadata.name),
            "ports": [{"name": "grpc", "port": cluster.port(job)}],
        },
    }
