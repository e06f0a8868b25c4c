"""Look at one job: its cached pods, the starts that were refused, nodes in doubt, its progress."""

import asyncio
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from capstan_operator.api import names
from capstan_operator.api.names import TaskName
from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Status, TaskStatus
from capstan_operator.app.certificates import Certificates
from capstan_operator.app.refused_starts import RefusedStarts
from capstan_operator.app.reports import Received, Reports, Target
from capstan_operator.kube import owners, pods
from capstan_operator.kube.cache import Cache
from capstan_operator.kube.nodes import Nodes
from capstan_operator.kube.table import Key
from capstan_operator.manifests import admitted, cluster
from capstan_operator.manifests import certificates as manifests
from capstan_operator.manifests import pod as pod_manifests
from capstan_operator.reconcile import instances
from capstan_operator.reconcile.observe import Deletion, Observed, Obstacle, TaskPhase, TaskView
from capstan_operator.reconcile.policies import failure, reporter
from capstan_operator.reconcile.rows import ENDED

Pod = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Look:
    """One look at a job.

    `again_seconds` is the time until a doubtful node may have changed without an event. It is None
    if there is no such node. `gone` says whether a view describes a pod that is already deleted.
    """

    observed: Observed
    again_seconds: float | None
    gone: bool = False


class Observer:
    """Looks at jobs. It reads only the nodes of doubtful pods from the API server."""

    def __init__(
        self,
        cache: Cache,
        nodes: Nodes,
        refused_starts: RefusedStarts,
        reports: Reports,
        certificates: Certificates,
    ) -> None:
        self._cache = cache
        self._certificates = certificates
        self._reports = reports
        self._nodes = nodes
        self._refused_starts = refused_starts

    async def look(
        self, key: Key, job: TrainingJob, status: Status, obstacle: Obstacle | None
    ) -> Look:
        """Return the views of a job's tasks, and the ends of tasks whose pods are gone.

        Raises kube.errors.ApiError if a node cannot be read.
        """
        tasks = _tasks(self._cache.pods(key), job)
        doubtful = sorted(
            {
                str(pod["spec"]["nodeName"])
                for task, pod in tasks
                if pods.doubtful(pod, trainer=_trainer(task, job))
            }
        )
        sights = await asyncio.gather(*(self._nodes.look(node) for node in doubtful))
        lost = {node for node, sight in zip(doubtful, sights, strict=True) if sight.lost}
        gone = self._gone(key, job, status)
        refused = self._refused_starts.of(key, job.metadata.uid)
        views = (*self._views(job, tasks, lost), *gone, *refused)
        views, received = self._with_report(key, job, status, views)
        again = [sight.again_seconds for sight in sights if sight.again_seconds is not None]
        observed = Observed(views, obstacle=obstacle)
        if received is not None:
            progress = received.report.progress()
            observed = dataclasses.replace(observed, progress=progress, reported_at=received.at)
        return Look(observed, min(again, default=None), bool(gone))

    def _with_report(
        self, key: Key, job: TrainingJob, status: Status, views: tuple[TaskView, ...]
    ) -> tuple[tuple[TaskView, ...], Received | None]:
        """Return the views with the step that the job's reporter has reported, and the report.

        Have the reporter asked while its task runs.
        """
        if status.phase.is_final:
            self._reports.forget(key)
            return views, None
        current = _reporter(job, status, views)
        if current is None:
            self._reports.follow(key, None)
            return views, None
        self._reports.follow(key, self._target(key, job, current))
        received = self._reports.last(key, current.uid)
        if received is None:
            return views, None
        with_step = dataclasses.replace(current, step=received.report.step)
        return tuple(with_step if view is current else view for view in views), received

    def _target(self, key: Key, job: TrainingJob, view: TaskView) -> Target | None:
        """Return how to ask a task, or None if it does not run or its certificates are missing."""
        if view.phase is not TaskPhase.RUNNING:
            return None
        identity = None
        if manifests.is_mutual(job):
            identity = self._certificates.identity(key, manifests.hosts(job, view.name)[0])
            if identity is None:
                return None
        for pod in self._cache.pods(key):
            ip = pod["status"].get("podIP")
            if pod["metadata"]["uid"] == view.uid and ip:
                host = f"[{ip}]" if ":" in ip else ip
                return Target(view.uid, f"{host}:{cluster.port(job)}", identity)
        return None

    def _views(
        self, job: TrainingJob, tasks: Sequence[tuple[TaskName, Pod]], lost: set[str]
    ) -> Iterator[TaskView]:
        for task, pod in tasks:
            node_lost = pod["spec"].get("nodeName") in lost
            view = pods.view(pod, trainer=_trainer(task, job), node_lost=node_lost)
            if owners.controller(pod, job.metadata.name) == job.metadata.uid:
                changed = admitted.fault_of_task(pod, task, job.metadata.name)
                yield _unusable(view, changed) if changed and not view.has_ended else view
            else:
                # The pod belongs to a deleted job of the same name, and Kubernetes deletes it.
                yield dataclasses.replace(view, deletion=Deletion.WITH_ITS_JOB)

    def _gone(self, key: Key, job: TrainingJob, status: Status) -> list[TaskView]:
        """Return views of the deleted pods whose ends the status does not record yet."""
        waited_for = {row.uid for row in status.tasks if row.state not in ENDED}
        # A pod whose labels were changed by hand before its deletion counts as lost.
        views = [
            pods.view(pod, trainer=_trainer(task, job), node_lost=False)
            for task, pod in _tasks(self._cache.remains(key), job)
            if pod["metadata"]["uid"] in waited_for
        ]
        return [view for view in views if view.has_ended]


def _unusable(view: TaskView, why: str) -> TaskView:
    """Return the view of a pod that is there but cannot be used: its start counts as refused."""
    return dataclasses.replace(view, ready=False, reason=failure.CREATE_FAILED, message=why)


def task_of(pod: Pod, job: TrainingJob) -> TaskName | None:
    """Return the task that a pod runs for this job or for a deleted job of the same name.

    Return None if the pod runs no such task. A pod with the labels of one task and the name of
    another task runs neither. Otherwise the pod would count as the first task and block the second
    task.
    """
    labelled = owners.task(pod)
    if owners.controller(pod, job.metadata.name) is None or labelled is None:
        return None
    task, _ = labelled
    return task if pod["metadata"]["name"] == pod_manifests.pod_name(job, task) else None


def _tasks(found: Iterable[Pod], job: TrainingJob) -> list[tuple[TaskName, Pod]]:
    """Return the pods that run a task of the job, each with its task."""
    return [(task, pod) for pod in found if (task := task_of(pod, job)) is not None]


def _trainer(task: TaskName, job: TrainingJob) -> str:
    """Return the name of the trainer container of a task's pod.

    If the job has no replicas of the task's type, the pod belongs to a deleted job of the same
    name. Any name will then do.
    """
    replica = job.spec.replica_specs.get(task.type)
    return names.TRAINER if replica is None else replica.template.trainer.name


def _reporter(job: TrainingJob, status: Status, views: Iterable[TaskView]) -> TaskView | None:
    """Return the current instance of the task that reports the progress of the job."""
    name = reporter.of(job)
    row = next((row for row in status.tasks if row.name == name), TaskStatus(name=name))
    return instances.sort(row, (view for view in views if view.name == name)).current
