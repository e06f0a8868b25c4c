"""A cluster whose pods behave as in Kubernetes, and a controller that sees them late and may crash.

A name has one pod at a time. The cluster removes a deleted pod when its task ends. It removes a
force-deleted pod at once. It also removes an ended pod at once, unless `Cluster.held` is set. The
controller works on a cache. Events reach the cache late and in order. A pod that the controller
creates is in the cache at once. The controller reads the pods of a task again before it counts an
end of that task. A write of the status fails if another client changed it after it was read.
"""

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from reconcile.world import START

from capstan_operator.api import status_json
from capstan_operator.api.names import TaskName, Uid
from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Progress, Status
from capstan_operator.reconcile.actions import Action, Announce, Plan, StartTask, StopTask
from capstan_operator.reconcile.observe import Deletion, Observed, Obstacle, TaskPhase, TaskView
from capstan_operator.reconcile.plan import plan
from capstan_operator.reconcile.rows import ENDED


@dataclass(frozen=True)
class Pod:
    view: TaskView
    version: int
    lost: bool = False
    """True while the node of the pod is lost."""


class Cluster:
    """The true state. `events` holds the undelivered events: pods, and uids of deleted pods."""

    def __init__(self, job: TrainingJob) -> None:
        self.job = job
        self.now = START
        self.pods: dict[TaskName, Pod] = {}
        self.events: list[Pod | Uid] = []
        self.memory = json.dumps(status_json.render(Status()))
        self.version = 0
        self.written: list[Status] = [Status()]
        self.refusing: frozenset[TaskName] = frozenset()
        self.obstacle: Obstacle | None = None
        self.made: list[TaskView] = []
        self.changes = 0
        self.forced: list[TaskView] = []
        self.progress: Progress | None = None
        self.reported_at: datetime | None = None
        self.held = False
        """True if a sidecar or a finalizer delays the deletion of pods whose task has ended."""

    @property
    def status(self) -> Status:
        return status_json.load(json.loads(self.memory))

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def report(self, step: int) -> None:
        """Report the step of the training."""
        self.progress, self.reported_at = Progress(step=step), self.now

    def write(self, status: Status, version: int) -> bool:
        """Write the status if its version still is `version`. Return whether it was written."""
        if version != self.version:
            return False
        self.memory = json.dumps(status_json.render(status))
        self.version += 1
        self.written.append(status)
        return True

    def create(self, task: TaskName, attempt: int) -> Pod | None:
        """Return a new pod or the existing pod of this name, or None if the start is refused."""
        if task in self.pods:
            return self.pods[task]
        if task in self.refusing:
            return None
        uid = Uid(f"{task}#{len(self.made)}")
        view = TaskView(
            name=task,
            attempt=attempt,
            uid=uid,
            phase=TaskPhase.PENDING,
            pod=f"digits-{task}",
        )
        self.made.append(view)
        return self.put(view)

    def put(self, view: TaskView, *, lost: bool = False) -> Pod:
        self.changes += 1
        pod = Pod(view, self.changes, lost)
        self.pods[view.name] = pod
        self.events.append(pod)
        return pod

    def delete(self, uid: Uid, *, force: bool) -> None:
        for pod in [pod for pod in self.pods.values() if pod.view.uid == uid]:
            if force:
                self.forced.append(pod.view)
            ended = pod.view.has_ended
            if force or pod.view.is_unscheduled or (ended and not self.held):
                self.remove(pod.view.name)
            elif pod.view.deletion is Deletion.NOT_REQUESTED:
                deletion = Deletion.AFTER_END if ended else Deletion.BEFORE_END
                leaving = dataclasses.replace(pod.view, deletion=deletion)
                self.put(leaving, lost=pod.lost)

    def remove(self, task: TaskName) -> None:
        self.events.append(self.pods.pop(task).view.uid)

    def end(self, pod: Pod, code: int | None, reason: str = "") -> None:
        """End a pod as its kubelet would report it. The caller must remove a deleted pod."""
        self.put(
            dataclasses.replace(
                pod.view,
                phase=TaskPhase.FAILED if code != 0 else TaskPhase.SUCCEEDED,
                ready=False,
                exit_code=code,
                reason=reason,
                finished_at=self.now,
            )
        )

    def view_of(self, pod: Pod) -> TaskView:
        """Return the view of a pod for the controller, including the state of its node."""
        if pod.lost and not pod.view.has_ended:
            return dataclasses.replace(
                pod.view, phase=TaskPhase.FAILED, ready=False, reason="NodeLost"
            )
        return pod.view


class Controller:
    """Makes passes as the operator does. The caller may abandon a pass between two effects."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.cache: dict[Uid, Pod] = {}
        self.gone: set[Uid] = set()
        self.refusals: dict[TaskName, TaskView] = {}
        self.news: list[Announce] = []
        self.status, self.version = cluster.status, cluster.version
        cluster.events.clear()  # a new controller lists all objects before it acts
        for pod in cluster.pods.values():
            self.see(pod)

    def see(self, event: Pod | Uid) -> None:
        """Apply an event to the cache. An event older than the cached state changes nothing."""
        if not isinstance(event, Pod):
            self.gone.add(event)
            self.cache.pop(event, None)
            return
        uid = event.view.uid
        known = self.cache.get(uid)
        if uid not in self.gone and (known is None or known.version < event.version):
            self.cache[uid] = event

    def observed(self) -> Observed:
        # The operator reads nodes and does not watch them. Cached pods therefore have the current
        # state of their nodes.
        now_lost = {pod.view.uid for pod in self.cluster.pods.values() if pod.lost}
        pods = (dataclasses.replace(pod, lost=uid in now_lost) for uid, pod in self.cache.items())
        views = (*map(self.cluster.view_of, pods), *self.refusals.values())
        cluster = self.cluster
        return Observed(views, cluster.progress, cluster.obstacle, cluster.reported_at)

    def decide(self) -> Plan:
        return plan(self.cluster.job, self.status, self.observed(), self.cluster.now)

    def steps(self) -> Iterator[Plan]:
        """Make one pass. Yield the plan before each effect. The caller may abandon it there."""
        decided = self.decide()
        if counted := _counted(self.status, decided.status):
            yield decided
            self.read_again(counted)
            decided = self.decide()
        if decided.status is not None:
            yield decided
            if not self.cluster.write(decided.status, self.version):
                self.status, self.version = self.cluster.status, self.cluster.version
                return
            self.status, self.version = self.cluster.status, self.cluster.version
            self.news += decided.news
        for action in decided.actions:
            yield decided
            self.act(action)

    def read_again(self, tasks: set[TaskName]) -> None:
        for uid, pod in list(self.cache.items()):
            if pod.view.name in tasks:
                existing = self.cluster.pods.get(pod.view.name)
                if existing is None or existing.view.uid != uid:
                    self.see(uid)
                if existing is not None:
                    self.see(existing)

    def act(self, action: Action) -> None:
        match action:
            case StartTask(task, attempt):
                pod = self.cluster.create(task, attempt)
                if pod is None:
                    self.refusals[task] = _refused(task, attempt)
                else:
                    self.see(pod)
            case StopTask(task, uid, grace_seconds):
                if task in self.refusals and self.refusals[task].uid == uid:
                    del self.refusals[task]
                else:
                    self.cluster.delete(uid, force=not grace_seconds)

    def at_rest(self, decided: Plan) -> bool:
        return decided.status is None and not decided.actions


def _refused(task: TaskName, attempt: int) -> TaskView:
    return TaskView(
        name=task,
        attempt=attempt,
        uid=Uid(f"{task}-refused-{attempt}"),
        phase=TaskPhase.FAILED,
        reason="CreateFailed",
        message="forbidden",
    )


def _counted(before: Status, after: Status | None) -> set[TaskName]:
    """Return the tasks whose current attempt ends according to the new table of this pass."""
    rows = {row.name: row for row in before.tasks}
    return {
        row.name
        for row in (() if after is None else after.tasks)
        if (old := rows.get(row.name)) is not None
        and (row.attempt != old.attempt or (row.state in ENDED and old.state not in ENDED))
    }
