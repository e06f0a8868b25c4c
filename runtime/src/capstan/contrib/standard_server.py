"""`tf.contrib.distribute.run_standard_tensorflow_server`: a task that only serves.

Source: tensorflow/python/distribute/distribute_coordinator.py.
"""

import os
from typing import Any

from capstan.core import cluster as clusters
from capstan.services import server as servers


def run_standard_tensorflow_server(session_config: Any = None) -> servers.Server:
    """Start the server of the task that TF_CONFIG describes, and return it. Does not block.

    `session_config` is the ConfigProto of the server. The program calls `join` on the server.

    Raises:
        ValueError: TF_CONFIG names no cluster, no task of the cluster, or a cluster with neither a
            chief nor a worker.
    """
    found = clusters.from_tf_config(os.environ.get("TF_CONFIG", ""))
    if not found.cluster:
        raise ValueError('"cluster" is not found in TF_CONFIG.')
    if found.task_type is None:
        raise ValueError('"task" with a type is not found in TF_CONFIG.')
    if not {"chief", "worker"} & set(found.cluster.jobs):
        raise ValueError(
            f"TF_CONFIG must have a job chief or worker. It has {', '.join(found.cluster.jobs)}."
        )
    return servers.Server(
        found.cluster,
        job_name=found.task_type,
        task_index=found.task_index,
        config=session_config,
    )
