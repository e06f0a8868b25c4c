"""A dict of instances in place of a cluster, and a controller that runs `plan` on it.

    world = World(make_job(workers=2)).settle()
    world.fail("worker-1", code=1).settle()
    assert world.states() == {...}

The controller keeps only the status, as text. Every pass is therefore like the first after a crash.
"""

import dataclasses
import functools
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Self

from capstan_operator.api import status as statuses
from capstan_operator.api import status_json
from capstan_operator.api.names import TaskName, Uid
from capstan_operator.api.parse import parse
from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Status
from capstan_operator.reconcile.actions import Action, Announce, Plan, StartTask, StopTask
from capstan_operator.reconcile.observe import (
    Deletion,
    Observed,
    Obstacle,
    Progress,
    TaskPhase,
    TaskView,
)
from capstan_operator.reconcile.plan import plan

START = datetime(2026, 11, 2, 10, 0, tzinfo=UTC)
MANY = 60
"""`World.settle` fails if the world still changes after this number of passes."""

TEMPLATE = {"spec": {"containers": [{"name": "trainer", "command": ["python", "train.py"]}]}}


def make_job(
    *,
    chief: int = 0,
    ps: int = 1,
    workers: int = 2,
    evaluator: int = 0,
    each: Mapping[str, Mapping[str, Any]] | None = None,
    run: Mapping[str, Any] | None = None,
    **spec: Any,
) -> TrainingJob:
    """Return a job as a user would write it.

    `each` adds fields to replica types, and `run` is the run policy.
    """
    counts = {"chief": chief, "ps": ps, "worker": workers, "evaluator": evaluator}
    replicas = {
        kind: {"replicas": count, "template": TEMPLATE, **(each or {}).get(kind, {})}
        for kind, count in counts.items()
        if count
    }
    document = {
        "apiVersion": "capstan.dev/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": "digits"},
        "spec": {"replicaSpecs": replicas, "runPolicy": run or {}, **spec},
    }
    return _read(json.dumps(document)).with_uid(Uid("a-job"))


@functools.cache
def _read(text: str) -> TrainingJob:
    """Parse a job once for all tests: many tests have the same job, and no job can be changed."""
    return parse(text)


def task(name: str) -> TaskName:
    return TaskName.parse(name)


def view(name: str, phase: TaskPhase = TaskPhase.RUNNING, **fields: Any) -> TaskView:
    """Return an instance of a task, by default of its first attempt."""
    known = {"attempt": 1, "uid": Uid(f"{name}#1"), "ready": phase is TaskPhase.RUNNING}
    return TaskView(name=task(name), phase=phase, **(known | fields))


class World:
    """Tasks that run until a test changes them. Most methods that change the world return it.

    With `pods` the instances have the names and nodes of pods. `refused` maps each task whose start
    is refused to the reason.
    """

    def __init__(self, job: TrainingJob, *, pods: bool = False) -> None:
        self.job = job
        self.pods = pods
        self.obstacle: Obstacle | None = None
        self.held_by: tuple[str, ...] = ()
        self.refused: dict[str, str] = {}
        self.now = START
        self.instances: dict[Uid, TaskView] = {}
        self.memory = json.dumps(status_json.render(Status()))
        self.progress: Progress | None = None
        self.reported_at: datetime | None = None
        self.news: list[Announce] = []
        self.done: list[Action] = []
        self.writes = 0
        self.started = 0
        self.again_at: datetime | None = None

    @property
    def status(self) -> Status:
        return status_json.load(json.loads(self.memory))

    def observed(self) -> Observed:
        instances = tuple(self.instances.values())
        return Observed(
            instances, self.progress, self.obstacle, self.reported_at, held_by=self.held_by
        )

    def decide(self) -> Plan:
        """Return the plan of a pass at this moment, and change nothing."""
        return plan(self.job, self.status, self.observed(), self.now)

    def tick(self, *, effects: int | None = None) -> Plan:
        """Make one pass. With `effects` the controller crashes after this number of effects.

        The write, each action, and each line of news are one effect each.
        """
        decided = self.decide()
        steps: list[Callable[[], None]] = []
        if decided.status is not None:
            steps.append(partial(self._write, decided.status))
        steps += [partial(self._act, action) for action in decided.actions]
        steps += [partial(self.news.append, news) for news in decided.news]
        for step in steps[:effects]:
            step()
        self.again_at = decided.again_at
        return decided

    def settle(self) -> Self:
        """Make passes, and end the stopping tasks, until a pass changes nothing."""
        for _ in range(MANY):
            decided = self.tick()
            removed_any = self.end_stopping_instances()
            if decided.status is None and not decided.actions and not removed_any:
                assert not decided.news, "a pass that changes nothing announced news"
                return self
        raise AssertionError(f"no fixed point: {decided}")

    def end_stopping_instances(self) -> bool:
        """Remove all instances that were asked to stop. Return True if there were any."""
        staying = {
            uid: instance
            for uid, instance in self.instances.items()
            if instance.deletion is not Deletion.BEFORE_END
        }
        removed, self.instances = len(self.instances) - len(staying), staying
        return removed > 0

    def wait(self, seconds: float) -> Self:
        self.now += timedelta(seconds=seconds)
        return self

    def wait_for_retry(self) -> Self:
        """Advance the clock to the next pass that the last plan requested, and settle."""
        assert self.again_at is not None
        self.now = max(self.now, self.again_at)
        return self.settle()

    def instance(self, name: str) -> TaskView:
        """Return the newest instance of a task."""
        wanted = task(name)
        return [instance for instance in self.instances.values() if instance.name == wanted][-1]

    def change(self, name: str, **fields: Any) -> Self:
        instance = self.instance(name)
        self.instances[instance.uid] = dataclasses.replace(instance, **fields)
        return self

    def fail(self, name: str, code: int | None = 1, *, reason: str = "", words: str = "") -> Self:
        return self.change(
            name,
            phase=TaskPhase.FAILED,
            ready=False,
            exit_code=code,
            reason=reason,
            message=words,
            finished_at=self.now,
        )

    def succeed(self, name: str) -> Self:
        return self.change(
            name, phase=TaskPhase.SUCCEEDED, ready=False, exit_code=0, finished_at=self.now
        )

    def delete(self, name: str) -> Self:
        """Delete a task as a user would, not as the controller does."""
        return self.change(name, deletion=Deletion.BEFORE_END, ready=False)

    def vanish(self, name: str) -> Self:
        del self.instances[self.instance(name).uid]
        return self

    def lose_node(self, name: str, *, silent_seconds: float = 0) -> Self:
        """Lose the node of a task, which has been silent for so long. Nobody sees the task end."""
        since = self.now - timedelta(seconds=silent_seconds)
        self.fail(name, None, reason="NodeLost", words="no word from its node")
        return self.change(name, finished_at=None, silent_since=since)

    @property
    def reasons(self) -> list[str]:
        """The reasons of the news so far."""
        return [news.reason for news in self.news]

    def states(self) -> dict[str, str]:
        return {str(row.name): row.state.value for row in self.status.tasks}

    def row(self, name: str) -> statuses.TaskStatus:
        return self.status.task(task(name))

    def _write(self, status: Status) -> None:
        self.memory = json.dumps(status_json.render(status))
        self.writes += 1

    def _act(self, action: Action) -> None:
        self.done.append(action)
        match action:
            case StartTask(name, attempt, _):
                self._start(name, attempt)
            case StopTask(_, uid, grace_seconds):
                instance = self.instances[uid]
                if instance.has_ended or not grace_seconds:
                    del self.instances[uid]
                else:
                    self.instances[uid] = dataclasses.replace(
                        instance, deletion=Deletion.BEFORE_END, ready=False
                    )

    def _start(self, name: TaskName, attempt: int) -> None:
        existing = [instance for instance in self.instances.values() if instance.name == name]
        if any(instance.attempt == attempt for instance in existing):
            return
        assert not existing, f"{name} is started although it has the instances {existing}"
        if str(name) in self.refused:
            self._refuse(name, attempt)
            return
        self.started += 1
        uid = Uid(f"{name}#{self.started}")
        self.instances[uid] = TaskView(
            name=name,
            attempt=attempt,
            uid=uid,
            phase=TaskPhase.RUNNING,
            ready=True,
            started_at=self.now,
            pod=f"{self.job.metadata.name}-{name}" if self.pods else "",
            node=f"node-{self.job.tasks().index(name)}" if self.pods else "",
        )

    def _refuse(self, name: TaskName, attempt: int) -> None:
        uid = Uid(f"{name}-refused-{attempt}")
        self.instances[uid] = TaskView(
            name=name,
            attempt=attempt,
            uid=uid,
            phase=TaskPhase.FAILED,
            reason=self.refused[str(name)],
            message="the API server said no",
        )
