"""Whether the addresses of all tasks of a job fit into one environment variable, TF_CONFIG.

CEL rules cannot check this, because they cannot see the namespace, which is part of each address.
An API server therefore accepts a job with too many tasks, and the operator refuses it.
"""

import json
from collections.abc import Iterator

from capstan_operator.api import names
from capstan_operator.api.names import ReplicaType
from capstan_operator.api.spec import TrainingJob
from capstan_operator.errors import Fault

MAX_BYTES = (128 << 10) - len("TF_CONFIG=") - 1
"""The most bytes of the value. Linux limits `NAME=value` with its zero byte to 128 KiB."""


def faults(job: TrainingJob) -> Iterator[Fault]:
    """Yield a fault if the tasks of a job could not be started because of their TF_CONFIG."""
    if (size := longest(job)) > MAX_BYTES:
        yield Fault(
            "spec.replicaSpecs",
            f"TF_CONFIG, which has the addresses of all tasks, would have {size} bytes, and Linux"
            f" allows {MAX_BYTES}: use fewer tasks, or a shorter name, namespace or"
            " spec.cluster.domain",
        )


def longest(job: TrainingJob) -> int:
    """Return the bytes of the longest TF_CONFIG that a task of the job gets on a cluster.

    The job counts as scaled to `maxReplicas`. If it became invalid only then, its tasks would run
    on without anybody who starts them again.
    """
    counts = {kind: replica.replicas for kind, replica in job.spec.replica_specs.items()}
    if (worker := job.spec.replica_specs.worker) is not None:
        counts[ReplicaType.WORKER] = max(worker.replicas, worker.max_replicas or 0)
    counts = {kind: count for kind, count in counts.items() if count}
    port = job.spec.cluster.port or names.DEFAULT_PORT
    suffix = f".{job.metadata.name}.{job.metadata.namespace}.svc.{job.spec.cluster.domain}:{port}"
    members = {kind: count for kind, count in counts.items() if kind is not ReplicaType.EVALUATOR}
    # First compute the length without the parts that differ: the indices, and the task itself.
    cluster = {"cluster": {kind: [f"{kind}-{suffix}"] for kind in members}}
    rest = {"task": {"type": "", "index": 0}, "environment": "cloud"}
    size = len(json.dumps(cluster | rest)) - len("0")
    for kind, count in members.items():
        size += (count - 1) * len(json.dumps([f"{kind}-{suffix}"])) + _digits(count)
    return size + max((len(kind) + len(str(n - 1)) for kind, n in counts.items()), default=0)


def _digits(count: int) -> int:
    """Return the number of digits in the indices 0 to count - 1 together."""
    return sum(len(str(index)) for index in range(count))
