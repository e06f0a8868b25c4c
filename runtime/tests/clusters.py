"""Clusters for tests: servers of this process on loopback ports of their own."""

import socket

import capstan as tf


def addresses(count: int) -> list[str]:
    """Ports that were free a moment ago; all are held until the last is found, so they differ."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    found = [f"127.0.0.1:{held_one.getsockname()[1]}" for held_one in held]
    for held_one in held:
        held_one.close()
    return found


def spec(**jobs: int) -> dict[str, list[str]]:
    """A cluster of so many tasks of each job, as `tf.train.ClusterSpec` takes it."""
    free = addresses(sum(jobs.values()))
    return {job: [free.pop() for _ in range(count)] for job, count in jobs.items()}


def start(**jobs: int) -> dict[str, "tf.train.Server"]:
    """Start all tasks of a cluster; servers by `job:index`."""
    cluster = spec(**jobs)
    return {
        f"{job}:{index}": tf.train.Server(cluster, job_name=job, task_index=index)
        for job, tasks in cluster.items()
        for index in range(len(tasks))
    }
