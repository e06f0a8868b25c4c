"""Whether the addresses of a job fit the one variable, TF_CONFIG, that tells every task of all.

No rule of the CustomResourceDefinition can say so: the namespace is part of each address, and rules
are not told of it. So an API server takes a job that has too many, and the operator refuses it.
"""

import json
from collections.abc import Iterator

from capstan_operator.api import names
from capstan_operator.api.names import ReplicaType
from capstan_operator.api.spec import TrainingJob
from capstan_operator.errors import Fault

MAX_BYTES = (128 << 10) - len("TF_CONFIG=") - 1
"""Of the value. Linux starts no program with a longer `NAME=value`, whose end is a zero byte."""


def faults(job: TrainingJob) -> Iterator[Fault]:
    """Yield what is wrong with a job whose tasks could not be started for it."""
    if (size := longest(job)) > MAX_BYTES:
        yield Fault(
            "spec.replicaSpecs",
            f"TF_CONFIG, which tells every task the addresses of all, would have {size} bytes, and"
            f" Linux takes {MAX_BYTES}: have fewer tasks, or a shorter name, namespace or"
            " spec.cluster.domain",
        )


def longest(job: TrainingJob) -> int:
    """Return the bytes of the longest TF_CONFIG that a task of the job gets on a cluster."""
    counts = {kind: one.replicas for kind, one in job.spec.replica_specs.items() if one.replicas}
    port = job.spec.cluster.port or names.DEFAULT_PORT
    where = f".{job.metadata.name}.{job.metadata.namespace}.svc.{job.spec.cluster.domain}:{port}"
    members = {kind: count for kind, count in counts.items() if kind is not ReplicaType.EVALUATOR}
    # Without what differs: the indices, and the task that is told.
    told = {"cluster": {kind: [f"{kind}-{where}"] for kind in members}}
    rest = {"task": {"type": "", "index": 0}, "environment": "cloud"}
    size = len(json.dumps(told | rest)) - len("0")
    for kind, count in members.items():
        size += (count - 1) * len(json.dumps([f"{kind}-{where}"])) + _digits(count)
    return size + max((len(kind) + len(str(n - 1)) for kind, n in counts.items()), default=0)


def _digits(count: int) -> int:
    """Return how many digits the indices of so many tasks have together."""
    return sum(len(str(index)) for index in range(count))
