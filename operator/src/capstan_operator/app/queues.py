"""Give back the quota of jobs that are over or suspended.

Kueue waits for a replacement of each pod of a group that did not succeed, and keeps its quota for
it. When no replacement will come, a pod of the group must say so by an annotation. The group then
ends as soon as all its pods have ended. Without any pod, the group ends by itself.
"""

import logging
from typing import Any

from capstan_operator.api import names
from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Phase, Status
from capstan_operator.kube import paths, pod_fields
from capstan_operator.kube.cache import Cache
from capstan_operator.kube.errors import Conflict, Forbidden, NotFound, Refused
from capstan_operator.kube.rest import Rest
from capstan_operator.kube.table import Key
from capstan_operator.manifests import queue

Manifest = dict[str, Any]

log = logging.getLogger(__name__)


class Queues:
    """The groups of all jobs in Kueue's queues."""

    def __init__(self, rest: Rest, cache: Cache) -> None:
        self._rest = rest
        self._cache = cache

    async def end(self, key: Key, job: TrainingJob, status: Status) -> None:
        """End the groups of a job that is over or suspended. Do nothing if they have ended before.

        Only a pod that has ended and stays is changed. If the API server refuses the change, it is
        logged and tried in each pass.
        """
        rests = status.phase.is_final or status.phase is Phase.SUSPENDED
        if job.spec.scheduling.queue_name is None or not rests:
            return
        groups: dict[str, list[Manifest]] = {}
        for pod in self._cache.pods(key):
            if name := queue.group_of(pod):
                groups.setdefault(name, []).append(pod)
        for pods in groups.values():
            ended = next(filter(_stays, pods), None)
            if ended is not None and not any(map(queue.is_last, pods)):
                await self._mark(key, ended)

    async def _mark(self, key: Key, pod: Manifest) -> None:
        metadata = pod["metadata"]
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": metadata["name"],
                "uid": metadata["uid"],
                "annotations": {queue.LAST: "false"},
            },
        }
        path = paths.pod(key.namespace, metadata["name"])
        try:
            changed = await self._rest.apply(path, body, manager=names.FIELD_MANAGER)
        except (Conflict, Forbidden, NotFound, Refused) as error:
            log.warning("%s/%s: its quota in Kueue was not given back: %s", *key, error)
        else:
            self._cache.pod_event("MODIFIED", changed)


def _stays(pod: Manifest) -> bool:
    """Return whether a pod has ended and is not being deleted."""
    return pod_fields.is_final(pod) and pod_fields.due(pod) is None
