"""The headless Service of a job, which gives its tasks their DNS names.

It is created before any pod and stays as long as its job, so that a task has the same name before
it is ready and after every restart.
"""

from typing import Any

from capstan_operator.api.spec import TrainingJob
from capstan_operator.manifests import cluster, labels


def service(job: TrainingJob) -> dict[str, Any]:
    """Return the headless Service of a job, which has the job's name."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": labels.metadata(job, job.metadata.name),
        "spec": {
            "clusterIP": "None",
            # Tasks wait for each other before they are ready, so tasks that are not ready need
            # names too.
            "publishNotReadyAddresses": True,
            "selector": labels.selector(job.metadata.name),
            "ports": [{"name": "grpc", "port": cluster.port(job)}],
        },
    }
