"""The jobs whose status the API server refuses, because its CRD is older than the operator.

Their status cannot say so, because it is not written. An event of the job and a metric say it. This
need not survive the process: the next process writes the same status, and is refused again.
"""

from collections.abc import Mapping
from typing import Any

from capstan_operator.app.metrics import Metrics
from capstan_operator.app.recorder import Recorder
from capstan_operator.kube.errors import OldDefinition
from capstan_operator.kube.table import Key
from capstan_operator.reconcile.actions import Announce, NewsType

DEFINITION_OUTDATED = "DefinitionOutdated"


class RefusedStatuses:
    """The refused statuses of all jobs."""

    def __init__(self, recorder: Recorder, metrics: Metrics) -> None:
        self._recorder = recorder
        self._metrics = metrics
        self._jobs: set[Key] = set()

    def add(self, key: Key, manifest: Mapping[str, Any], refused: OldDefinition) -> None:
        """Note that the status of a job was refused. The first refusal becomes an event."""
        if key in self._jobs:
            return
        self._jobs.add(key)
        self._count()
        news = Announce(NewsType.WARNING, DEFINITION_OUTDATED, refused.message)
        self._recorder.record(manifest, [news], mark="refused-")

    def clear(self, key: Key) -> None:
        """Note that the job is gone, or that nothing of its status is refused any more."""
        self._jobs.discard(key)
        self._count()

    def _count(self) -> None:
        self._metrics.refused_statuses.set(len(self._jobs))
