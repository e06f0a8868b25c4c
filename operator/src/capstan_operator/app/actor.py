"""Carry out the actions of a plan: create and delete pods.

Rule 1: an action that is carried out twice has the effect of one. A pod's name follows from its
task, and a deletion names a UID, so an outdated cache does no harm.
Rule 2: the answer to a POST or a DELETE is in the cache before the next look at the job.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol

from capstan_operator.api import names
from capstan_operator.api.names import TaskName, Uid
from capstan_operator.api.spec import TrainingJob
from capstan_operator.app.name_conflicts import in_the_way
from capstan_operator.app.observer import task_of
from capstan_operator.app.refused_starts import RefusedStarts
from capstan_operator.kube import in_flight, owners, paths, pod_fields
from capstan_operator.kube.cache import Cache
from capstan_operator.kube.errors import AlreadyExists, ApiError, Forbidden, NotFound, Refused
from capstan_operator.kube.rest import Rest
from capstan_operator.kube.table import Key
from capstan_operator.manifests import admitted
from capstan_operator.manifests import pod as pod_manifests
from capstan_operator.manifests.cluster import Environment
from capstan_operator.reconcile.actions import Action, StartTask, StopTask
from capstan_operator.reconcile.observe import NAME_CONFLICT, Obstacle
from capstan_operator.reconcile.policies import failure

MOST_AT_ONCE = in_flight.OF_A_NAMESPACE
"""The most pods of one job that are created at once. The first batches are of 1, 2, 4 ... pods, as
in Kubernetes' Job controller. A template that is refused is therefore tried once and not a thousand
times. If a queue or a scheduler waits for a group of pods, the first batch has the whole group.
`Rest` sends at most this many requests of a namespace at once, in order."""
LOOK_AGAIN = timedelta(seconds=2)
"""After this time, a pass creates no further batch. The next pass first writes a status that shows
the pods so far, and notices that the job was changed or deleted. The number is a guess: a person
who watches the job notices progress, and the API server stores the status of a large job rarely."""

log = logging.getLogger(__name__)


class Group(Protocol):
    """Pods that start together."""

    @property
    def size(self) -> int:
        """The number of pods that the group needs. Later pods of the job join it, too."""

    def joined(self, pod: dict[str, Any], task: TaskName) -> dict[str, Any]:
        """Return the manifest of a pod as a member of the group."""


class Actor:
    """Carries out the actions of one job at a time, and of several jobs at once."""

    def __init__(
        self,
        rest: Rest,
        cache: Cache,
        refused_starts: RefusedStarts,
        clock: Callable[[], datetime],
    ) -> None:
        self._rest = rest
        self._cache = cache
        self._refused_starts = refused_starts
        self._clock = clock

    async def act(
        self,
        key: Key,
        job: TrainingJob,
        actions: Sequence[Action],
        groups: Sequence[Group | Obstacle] = (),
    ) -> bool:
        """Carry out the actions of a pass. Return whether another pass must follow at once.

        The pods that are created join the `groups`. An obstacle in place of a group refuses them.

        Raises a kube.errors.ApiError that does not concern a pod itself, but only after all
        requests that were sent have ended. The next pass finds out which of them succeeded. A pod
        that cannot be deleted delays only the start of its own task.
        """
        stops = [action for action in actions if isinstance(action, StopTask)]
        stopped = await asyncio.gather(
            *(self._stop(key, job, stop) for stop in stops), return_exceptions=True
        )
        failed = {
            stop.task: error
            for stop, error in zip(stops, stopped, strict=True)
            if isinstance(error, BaseException)
        }
        starts = [
            action
            for action in actions
            if isinstance(action, StartTask) and action.task not in failed
        ]
        try:
            again = await self._start_all(key, job, starts, groups)
        except ApiError:
            # Only one error can end the pass. The log shows the others.
            for task, error in failed.items():
                log.warning("%s/%s: the pod of %s was not deleted: %s", *key, task, error)
            raise
        for error in failed.values():
            raise error
        return again or any(stopped)

    async def _start_all(
        self,
        key: Key,
        job: TrainingJob,
        starts: Sequence[StartTask],
        wanted: Sequence[Group | Obstacle],
    ) -> bool:
        """Create pods in batches that grow. Return whether another pass must follow at once.

        It must follow if pods are left after `LOOK_AGAIN`.
        """
        if not starts:
            return False  # The environment of a large job takes milliseconds to make.
        refusal = next((each for each in wanted if isinstance(each, Obstacle)), None)
        if refusal is not None:
            for start in starts:
                self._refused_starts.add(key, job.metadata.uid, start, refusal, self._clock())
            return True
        groups = [each for each in wanted if not isinstance(each, Obstacle)]
        environment = pod_manifests.environment(job)

        def manifest(start: StartTask) -> dict[str, Any]:
            return _manifest(job, start, environment, groups)

        tried = [pod_manifests.pod_name(job, start.task) for start in starts]
        # The scheduler takes the oldest pods first. The pods that a group needs are therefore
        # created before the others, which could take the place of a parameter server.
        together = max((group.size for group in groups), default=1)
        # Each pod that exists has shown that the API server takes the job's pods.
        size = min(max(together, len(self._cache.pods(key))), MOST_AT_ONCE)
        began = self._clock()
        while starts:
            # A pod that runs before its group is complete would take the group from the others.
            has_time = self._clock() < began + LOOK_AGAIN
            if not has_time and len(tried) - len(starts) >= together:
                return True
            batch, starts = starts[:size], starts[size:]
            if any(await _all([self._start(key, job, start, manifest(start)) for start in batch])):
                self._refuse_alike(key, job.metadata.uid, batch, starts)
                return True
            size = min(2 * size, MOST_AT_ONCE)
        return self._must_look(key, tried)

    def _must_look(self, key: Key, started: Iterable[str]) -> bool:
        """Return whether the next pass must look at a created pod.

        The pod may wait for the admission of a queue, or its template may bind it to a lost node.
        No event may report the pod, because the answer to the POST has reported it already.
        """
        found = (
            pod["metadata"]["name"]
            for pod in self._cache.pods(key)
            if pod_fields.condition(pod, "PodScheduled") or pod["spec"].get("nodeName")
        )
        return not set(found).isdisjoint(started)

    async def _start(
        self, key: Key, job: TrainingJob, start: StartTask, manifest: dict[str, Any]
    ) -> bool:
        """Create a pod. Return whether another pass must follow, because the pod exists already or
        was refused.

        Raises kube.errors.Conflict if a quota was charged for another pod at the same moment. As
        after any error of the API server, the pass fails and is repeated after a pause that grows.
        """
        pods, name = paths.pods(key.namespace), manifest["metadata"]["name"]
        try:
            # Validate strictly here too, because a quota may have stopped the dry run of this
            # template.
            created = await self._rest.create(pods, manifest, fieldValidation="Strict")
            # A webhook may have taken the labels from the pod. No watch would report it then.
            refused = self._received(key, job, start.task, created)
            if refused is None:
                return False
        except AlreadyExists:
            refused = await self._adopt(key, job, start.task, name)
        except (Forbidden, Refused, NotFound) as error:
            refused = Obstacle(failure.CREATE_FAILED, error.message)
        if refused is not None:
            self._refused_starts.add(key, job.metadata.uid, start, refused, self._clock())
        return True

    async def _adopt(
        self, key: Key, job: TrainingJob, task: TaskName, name: str
    ) -> Obstacle | None:
        """Read the existing pod that has a task's name. Return None if the pod is this task.

        A pod of a job of this name goes into the cache: it may have started or ended before a watch
        reported it. Any other pod is returned as an obstacle. A pod that has lost its labels is an
        obstacle too, because no pass would ever see it as the task.
        """
        existing = await self._rest.get(paths.pod(key.namespace, name))
        return self._received(key, job, task, existing)

    def _received(
        self, key: Key, job: TrainingJob, task: TaskName, pod: dict[str, Any]
    ) -> Obstacle | None:
        """Put a pod that has a task's name into the cache. Return None if it is this task, and can
        be used.
        """
        if owners.controller(pod, key.name) is None:
            return in_the_way("Pod", pod, job)
        self._cache.pod_event("ADDED", pod)
        metadata = pod["metadata"]
        labels = metadata.get("labels") or {}
        if labels.get(names.LABEL_JOB_NAME) == key.name and task_of(pod, job) == task:
            # A webhook may be younger than the dry run. The next pass deletes the pod.
            changed = admitted.fault_of_task(pod, task, key.name)
            return Obstacle(failure.CREATE_FAILED, changed) if changed else None
        message = f"Pod {metadata['name']} has lost the labels of {task}; delete the pod"
        return Obstacle(NAME_CONFLICT, message)

    def _refuse_alike(
        self, key: Key, job: Uid, tried: Sequence[StartTask], untried: Sequence[StartTask]
    ) -> None:
        """Remember untried starts as refused if a pod of the same type was refused.

        They have the same template, so the API server would refuse each of them too.
        """
        tasks = {start.task for start in tried}
        refusals = {
            view.name.type: Obstacle(view.reason, view.message)
            for view in self._refused_starts.of(key, job)
            if view.name in tasks and view.reason == failure.CREATE_FAILED
        }
        for start in untried:
            refusal = refusals.get(start.task.type)
            if refusal is not None:
                self._refused_starts.add(key, job, start, refusal, self._clock())

    async def _stop(self, key: Key, job: TrainingJob, stop: StopTask) -> bool:
        """Delete a pod, or forget a refused start. Return whether another pass must follow."""
        if self._refused_starts.clear(key, job.metadata.uid, stop):
            return True
        path = paths.pod(key.namespace, pod_manifests.pod_name(job, stop.task))
        seconds = max(0, round(stop.grace_seconds))
        answer = await self._rest.delete(path, uid=stop.uid, grace_seconds=seconds)
        log.info("%s/%s: deleted the pod of %s (%s)", *key, stop.task, stop.why)
        return answer is not None and self._note_stopping(stop, answer)

    def _note_stopping(self, stop: StopTask, answer: dict[str, Any]) -> bool:
        """Put a pod that has time to end into the cache, as the answer to its deletion shows it.

        Without this, a pass that follows before the watch reports the deletion would request the
        deletion again. Return whether the cache has changed: the watch then reports nothing new.
        """
        metadata = answer.get("metadata") or {}
        if metadata.get("uid") != stop.uid or not metadata.get("deletionGracePeriodSeconds"):
            return False
        return bool(self._cache.pod_event("MODIFIED", answer))


def _manifest(
    job: TrainingJob, start: StartTask, environment: Environment, groups: Sequence[Group]
) -> dict[str, Any]:
    """Return the pod of a start, as a member of all groups."""
    manifest = pod_manifests.pod(
        job,
        start.task,
        environment,
        attempt=start.attempt,
        epoch=start.epoch,
        probed=start.probed,
        avoided_node=start.avoided_node,
    )
    for group in groups:
        manifest = group.joined(manifest, start.task)
    return manifest


async def _all(calls: Sequence[Coroutine[Any, Any, bool]]) -> list[bool]:
    """Wait for all calls to end and return their results. If any failed, raise the first error."""
    results = await asyncio.gather(*calls, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result is True for result in results]
