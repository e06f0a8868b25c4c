"""The NetworkPolicy of a job, by which only the job's tasks reach the ports of its tasks.

It is created before any pod, if `spec.cluster.networkPolicy` asks for it. The probes of a kubelet
come from the pod's own node, from which Kubernetes always lets connections through.
"""

from typing import Any

from capstan_operator.api.spec import TrainingJob
from capstan_operator.manifests import labels


def network_policy(job: TrainingJob) -> dict[str, Any]:
    """Return the NetworkPolicy of a job, which has the job's name."""
    tasks = {"matchLabels": labels.selector(job.metadata.name)}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": labels.metadata(job, job.metadata.name),
        "spec": {
            "podSelector": tasks,
            "policyTypes": ["Ingress"],
            "ingress": [{"from": [{"podSelector": tasks}]}],
        },
    }
