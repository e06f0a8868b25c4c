"""The tasks of a cluster whose number of workers may change while its tasks run.

The launcher of a job may name a file in the variable CAPSTAN_CLUSTER_FILE. The file appears when
the number of workers changes for the first time, and is replaced at every further change. Until it
appears, the cluster is the cluster with which the task started.
"""

import json
import logging
import os
import threading
from collections.abc import Iterator, Mapping
from typing import Final

from capstan.core import cluster as clusters

VARIABLE: Final = "CAPSTAN_CLUSTER_FILE"


class Members(Mapping[str, str]):
    """The addresses of all tasks that a cluster has or had, by the names of the tasks. Thread-safe.

    The tasks that the cluster had are kept, because a running session may still use them.
    """

    def __init__(self, cluster: clusters.ClusterSpec, task: str, path: str | None) -> None:
        """Begin with `cluster`, and follow the file at `path`. `task` always stays a member."""
        self._task = task
        self._path = path
        self._lock = threading.Lock()
        self._known = cluster.tasks()
        self._present = tuple(self._known)
        self._seen: object = None

    def present(self) -> tuple[str, ...]:
        """Return the names of the tasks that the cluster has now. Reads the file if it is new."""
        with self._lock:
            self._follow()
            return self._present

    def __getitem__(self, task: str) -> str:
        with self._lock:
            if task not in self._known:
                self._follow()
            return self._known[task]

    def __iter__(self) -> Iterator[str]:
        with self._lock:
            self._follow()
            return iter(tuple(self._known))

    def __len__(self) -> int:
        with self._lock:
            self._follow()
            return len(self._known)

    def _follow(self) -> None:
        """Take over the file if it was replaced. Keep the last cluster if it cannot be read."""
        if self._path is None:
            return
        try:
            state = os.stat(self._path)
            seen = (state.st_dev, state.st_ino, state.st_mtime_ns, state.st_size)
            if seen == self._seen:
                return
            with open(self._path, encoding="utf-8") as file:
                text = file.read()
        except OSError:
            return  # the number of workers has not changed yet
        self._seen = seen
        try:
            now = clusters.ClusterSpec(json.loads(text)["cluster"]).tasks()
        except (ValueError, TypeError, KeyError) as error:
            logging.getLogger("capstan").warning(
                "%s=%s is ignored until it changes, because it describes no cluster: %r",
                VARIABLE, self._path, error,
            )  # fmt: skip
            return
        own = {self._task: self._known[self._task]}
        self._present = tuple(now if self._task in now else now | own)
        self._known = {**self._known, **now, **own}


def of_process(cluster: clusters.ClusterSpec, task: str) -> Members:
    """Return the members of `cluster`, in which this process is `task`.

    They follow CAPSTAN_CLUSTER_FILE only if `cluster` is the cluster in TF_CONFIG. A program that
    makes a cluster of its own keeps it.
    """
    path = os.environ.get(VARIABLE) or None
    try:
        given = clusters.from_tf_config(os.environ.get("TF_CONFIG", "")).cluster
    except ValueError:
        given = None
    return Members(cluster, task, path if given == cluster else None)
