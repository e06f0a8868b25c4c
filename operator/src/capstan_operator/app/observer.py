"""What is seen of one job: pods in the cache, pods that the API server refused, nodes in doubt."""

import asyncio
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from capstan_operator.api import names
from capstan_operator.api.names import TaskName, Uid
from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Status
from capstan_operator.app import prepare
from capstan_operator.kube import pods
from capstan_operator.kube.cache import Cache, Key
from capstan_operator.kube.nodes import Nodes
from capstan_operator.manifests import pod as manifest
from capstan_operator.reconcile.actions import StartTask, StopTask
from capstan_operator.reconcile.observe import Observed, Obstacle, TaskPhase, TaskView
from capstan_operator.reconcile.rows import ENDED

Pod = Mapping[str, Any]


class Refusals:
    """Starts that the API server refused, until `plan` has had them cleared away. They are no
    state: who forgets them is refused again.
    """

    def __init__(self) -> None:
        self._views: dict[Key, tuple[Uid, dict[TaskName, TaskView]]] = {}

    def of(self, key: Key, job: Uid) -> tuple[TaskView, ...]:
        """Return the refused starts of a job, as lives that failed at once."""
        return tuple(self._of(key, job).values())

    def add(self, key: Key, job: Uid, start: StartTask, why: Obstacle, at: datetime) -> None:
        """Keep why a start was refused: `reason` and `message` become the row's."""
        self._of(key, job)[start.task] = TaskView(
            name=start.task,
            attempt=start.attempt,
            uid=Uid(f"refused-{start.attempt}"),
            phase=TaskPhase.FAILED,
            reason=why.reason,
            message=why.message,
            finished_at=at,
        )

    def clear(self, key: Key, job: Uid, stop: StopTask) -> bool:
        """Forget a refused start; return whether it was one."""
        found = self._of(key, job)
        if stop.task not in found or found[stop.task].uid != stop.uid:
            return False
        del found[stop.task]
        return True

    def forget(self, key: Key) -> None:
        """Forget all of a job."""
        self._views.pop(key, None)

    def _of(self, key: Key, job: Uid) -> dict[TaskName, TaskView]:
        """Return what was refused of this job, and forget an earlier one of the same name."""
        known, views = self._views.get(key, (job, {}))
        if known != job:
            views = {}
        self._views[key] = job, views
        return views


@dataclass(frozen=True, slots=True)
class Seen:
    """One look at a job. `again_at`: when something may be otherwise without an event; `gone`:
    whether a task was seen whose pod is gone by now.
    """

    observed: Observed
    again_at: datetime | None
    gone: bool = False


class Observer:
    """Looks at jobs. Nothing but nodes in doubt is asked of the API server."""

    def __init__(self, cache: Cache, nodes: Nodes, refusals: Refusals) -> None:
        self._cache = cache
        self._nodes = nodes
        self._refusals = refusals

    async def look(
        self, key: Key, job: TrainingJob, status: Status, obstacle: Obstacle | None
    ) -> Seen:
        """Say what there is of a job, and how those of its tasks ended whose pod is gone.

        Raises kube.errors.ApiError if a node cannot be looked at.
        """
        found = [pod for pod in self._cache.pods(key) if is_task(pod, job)]
        doubtful = sorted(
            {_node(pod) for pod in found if pods.doubtful(pod, trainer=_trainer(pod, job))}
        )
        looks = await asyncio.gather(*(self._nodes.look(name) for name in doubtful))
        lost = {name for name, look in zip(doubtful, looks, strict=True) if look.lost}
        gone = self._gone(key, job, status)
        views = (*self._views(job, found, lost), *gone, *self._refusals.of(key, job.metadata.uid))
        again = [look.look_again for look in looks if look.look_again is not None]
        return Seen(Observed(views, obstacle=obstacle), min(again, default=None), bool(gone))

    def _views(self, job: TrainingJob, found: Sequence[Pod], lost: set[str]) -> Iterator[TaskView]:
        for pod in found:
            node_lost = pod["spec"].get("nodeName") in lost
            view = pods.view(pod, trainer=_trainer(pod, job), node_lost=node_lost)
            if prepare.whose(pod, job) == job.metadata.uid:
                yield view
            else:
                # Of a deleted job of the same name: its pods are collected, and waited for.
                yield dataclasses.replace(view, attempt=0, deleting=True)

    def _gone(self, key: Key, job: TrainingJob, status: Status) -> list[TaskView]:
        """Return the ends of pods that are gone, as long as a row is waiting to hear of them."""
        waited_for = {row.uid for row in status.tasks if row.state not in ENDED}
        left = [one for one in self._cache.remains(key) if one["metadata"]["uid"] in waited_for]
        views = [pods.view(pod, trainer=_trainer(pod, job), node_lost=False) for pod in left]
        return [view for view in views if view.has_ended]


def is_this_task(pod: Pod, job: TrainingJob, task: TaskName) -> bool:
    """Whether a pod is this task of this job, or of a deleted one of the same name."""
    return is_task(pod, job) and pods.identity(pod)[0] == task


def is_task(pod: Pod, job: TrainingJob) -> bool:
    """Whether a pod is a task of this job, or of a deleted one of the same name.

    One with the labels of another task is none: it would be taken for that, and is called as this.
    """
    owner = prepare.whose(pod, job)
    if owner is None or not pods.belongs(pod, owner):
        return False
    task, _ = pods.identity(pod)
    return bool(pod["metadata"]["name"] == manifest.pod_name(job, task))


def _trainer(pod: Pod, job: TrainingJob) -> str:
    """Return the name of the container that is the task. Of a type that the job does not have, as
    a deleted job of its name had, nobody needs to know.
    """
    task, _ = pods.identity(pod)
    replica = job.spec.replica_specs.get(task.type)
    return names.TRAINER if replica is None else replica.template.trainer.name


def _node(pod: Pod) -> str:
    return str(pod["spec"]["nodeName"])
