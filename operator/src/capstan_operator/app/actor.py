"""Actions become calls of the API server: pods are created and deleted.

Rule 1: twice is once. A pod's name is derived from its task, and a deletion names the uid, so that
what a cache did not know yet does no harm.
Rule 2: what a POST answers is in the cache before anybody looks again.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from typing import Any

from capstan_operator.api import names
from capstan_operator.api.names import TaskName, Uid
from capstan_operator.api.spec import TrainingJob
from capstan_operator.app import prepare
from capstan_operator.app.observer import Refusals, is_this_task
from capstan_operator.kube import paths
from capstan_operator.kube.cache import Cache, Key
from capstan_operator.kube.errors import (
    AlreadyExists,
    Conflict,
    Forbidden,
    NotFound,
    Refused,
)
from capstan_operator.kube.rest import Rest
from capstan_operator.manifests import pod as pods
from capstan_operator.manifests.cluster import Environment
from capstan_operator.reconcile.actions import Action, StartTask, StopTask
from capstan_operator.reconcile.observe import NAME_CONFLICT, Obstacle
from capstan_operator.reconcile.policies import failure

MOST_AT_ONCE = 50
"""Creations of one job in flight, after a slow start of 1, 2, 4 ...: as Kubernetes' Job controller,
so that a pod that cannot be created is tried once and not a thousand times."""

log = logging.getLogger(__name__)


class Actor:
    """Carries out the actions of one job at a time; several jobs may be at it at once."""

    def __init__(
        self, rest: Rest, cache: Cache, refusals: Refusals, clock: Callable[[], datetime]
    ) -> None:
        self._rest = rest
        self._cache = cache
        self._refusals = refusals
        self._clock = clock

    async def act(self, key: Key, job: TrainingJob, actions: Sequence[Action]) -> bool:
        """Carry out the actions of a pass; return whether another pass must follow at once.

        Raises a kube.errors.ApiError that says nothing of a pod itself, after all calls that were
        begun have ended: the next pass finds out what was done. What cannot be deleted keeps only
        its own task from being started.
        """
        stops = [action for action in actions if isinstance(action, StopTask)]
        stopped = await asyncio.gather(
            *(self._stop(key, job, stop) for stop in stops), return_exceptions=True
        )
        failed = {stop.task: why for stop, why in zip(stops, stopped, strict=True)
                  if isinstance(why, BaseException)}  # fmt: skip
        again = [one for one in stopped if not isinstance(one, BaseException)]
        starts = [one for one in actions if isinstance(one, StartTask) and one.task not in failed]
        again += await self._start_all(key, job, starts)
        for why in failed.values():
            raise why
        return any(again)

    async def _start_all(
        self, key: Key, job: TrainingJob, starts: Sequence[StartTask]
    ) -> list[bool]:
        again: list[bool] = []
        batch = 1
        told = pods.environment(job)
        while starts:
            now, starts = starts[:batch], starts[batch:]
            found = await _all([self._start(key, job, told, start) for start in now])
            again += found
            if any(found):
                self._refuse_alike(key, job.metadata.uid, now, starts)
                break
            batch = min(2 * batch, MOST_AT_ONCE)
        return again

    async def _start(self, key: Key, job: TrainingJob, told: Environment, start: StartTask) -> bool:
        """Create a pod; return whether another pass must follow: it was there, or was refused."""
        manifest = pods.pod(job, start.task, told, attempt=start.attempt, epoch=start.epoch)
        where = paths.pods(key.namespace)
        try:
            # Strict: a template may be here that nobody could probe, for a quota stood before it.
            created = await self._rest.create(where, manifest, fieldValidation="Strict")
            self._cache.pod_event("ADDED", created)
            return False
        except AlreadyExists:
            why = await self._adopt(key, job, start.task, manifest["metadata"]["name"])
        except Conflict:
            # Of a quota that another pod was charged to at the same time.
            return True
        except (Forbidden, Refused, NotFound) as error:
            why = Obstacle(failure.CREATE_FAILED, error.message)
        if why is not None:
            self._refusals.add(key, job.metadata.uid, start, why, self._clock())
        return True

    async def _adopt(
        self, key: Key, job: TrainingJob, task: TaskName, name: str
    ) -> Obstacle | None:
        """Take a pod that has the name of one of ours for what it is; return it if in the way.

        It may have started or ended already, and no watch will tell: it is known from now on. What
        has lost its labels is not this task, and would be found again in every pass.
        """
        there = await self._rest.get(paths.pod(key.namespace, name))
        if prepare.whose(there, job) is None:
            return prepare.in_the_way("Pod", there, job)
        self._cache.pod_event("ADDED", there)
        labels = there["metadata"].get("labels") or {}
        if labels.get(names.LABEL_JOB_NAME) == key.name and is_this_task(there, job, task):
            return None
        return Obstacle(NAME_CONFLICT, f"Pod {name} has lost the labels of {task}; delete it")

    def _refuse_alike(
        self, key: Key, job: Uid, tried: Sequence[StartTask], untried: Sequence[StartTask]
    ) -> None:
        """Take as refused what is of the same type as a pod that the API server has refused.

        They have one template: to try them, each in a pass of its own, would say the same.
        """
        tasks = {start.task for start in tried}
        why = {
            view.name.type: Obstacle(view.reason, view.message)
            for view in self._refusals.of(key, job)
            if view.name in tasks and view.reason == failure.CREATE_FAILED
        }
        for start in untried:
            if start.task.type in why:
                self._refusals.add(key, job, start, why[start.task.type], self._clock())

    async def _stop(self, key: Key, job: TrainingJob, stop: StopTask) -> bool:
        """Delete a pod, or clear away a refused start; return whether another pass must follow."""
        if self._refusals.clear(key, job.metadata.uid, stop):
            return True
        path = paths.pod(key.namespace, pods.pod_name(job, stop.task))
        await self._rest.delete(path, uid=stop.uid, grace_seconds=_whole(stop.grace_seconds))
        log.info("%s/%s: deleted the pod of %s (%s)", *key, stop.task, stop.why)
        return False


async def _all(calls: Sequence[Coroutine[Any, Any, bool]]) -> list[bool]:
    """Wait for all calls, and raise the first error only then."""
    answers = []
    for result in await asyncio.gather(*calls, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result
        answers.append(result)
    return answers


def _whole(seconds: float) -> int:
    return max(0, round(seconds))
