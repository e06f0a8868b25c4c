"""Keep the ConfigMaps with the live clusters of jobs whose number of workers has changed.

Rule 1: a ConfigMap is written after the status that decided it, and before the pods that it names.
Rule 2: without the file, a task uses the cluster in TF_CONFIG. A ConfigMap that the API server
refuses is therefore logged and tried again later. It keeps no task from starting.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from capstan_operator.api import names
from capstan_operator.api.names import Uid
from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Status
from capstan_operator.kube import paths
from capstan_operator.kube.errors import Forbidden, NotFound, Refused
from capstan_operator.kube.rest import Rest
from capstan_operator.kube.table import Key
from capstan_operator.manifests import cluster_file, pod

TRUSTED = timedelta(minutes=4)
"""No watch reports ConfigMaps. A pass later than this writes the same content again."""
AGAIN = timedelta(seconds=30)
"""The pause before a ConfigMap that the API server refused is written again."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Content:
    """The facts that decide the content of a ConfigMap."""

    job: Uid
    version: int
    epoch: int


class ClusterFiles:
    """The ConfigMaps of all jobs. Only one pass of a job at a time may call `write`."""

    def __init__(self, rest: Rest, clock: Callable[[], datetime]) -> None:
        self._rest = rest
        self._clock = clock
        self._settled: dict[Key, tuple[_Content, datetime]] = {}
        """The last content that was sent, and when a pass has to send the same content again."""

    def forget(self, key: Key) -> None:
        """Forget a job that is gone."""
        self._settled.pop(key, None)

    async def write(self, key: Key, job: TrainingJob, status: Status) -> float | None:
        """Write the cluster of an unfinished job whose number of workers has ever changed.

        Return the seconds until the next try if the API server refused the ConfigMap, and else
        None. Raises kube.errors.ApiError if the API server does not answer.
        """
        if not status.cluster_version or status.phase.is_final:
            return None
        content = _Content(job.metadata.uid, status.cluster_version, status.epoch)
        now = self._clock()
        sent, until = self._settled.get(key, (None, now))
        if sent == content and until - TRUSTED <= now < until:
            return None
        manifest = cluster_file.config_map(
            job, pod.address(job), version=content.version, epoch=content.epoch
        )
        path = paths.config_map(key.namespace, manifest["metadata"]["name"])
        try:
            await self._rest.apply(path, manifest, manager=names.FIELD_MANAGER)
        except (Forbidden, Refused, NotFound) as error:
            log.warning("%s/%s: its cluster file was not written: %s", *key, error)
            self._settled[key] = content, now + AGAIN
            return AGAIN.total_seconds()
        self._settled[key] = content, now + TRUSTED
        return None
