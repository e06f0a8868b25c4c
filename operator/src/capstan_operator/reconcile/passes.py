"""One pass: the arguments of `plan`, and what several of its cases compute from them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from capstan_operator.api.names import TaskName
from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Status, TaskStatus
from capstan_operator.manifests import labels
from capstan_operator.reconcile import instances, moves, rows
from capstan_operator.reconcile.actions import Action, Announce, Plan, changed
from capstan_operator.reconcile.observe import Observed, TaskView
from capstan_operator.reconcile.policies import clock, queue, stall
from capstan_operator.reconcile.policies.queue import Queued


@dataclass(frozen=True, slots=True)
class Pass:
    """The arguments of `plan`, with the views by task."""

    job: TrainingJob
    before: Status
    observed: Observed
    views: dict[TaskName, tuple[TaskView, ...]]
    now: datetime

    @classmethod
    def of(cls, job: TrainingJob, status: Status, observed: Observed, now: datetime) -> Self:
        """Return the pass of these arguments of `plan`."""
        return cls(job, status, observed, _by_task(job, observed.tasks), now)

    def view_of(self, row: TaskStatus) -> TaskView | None:
        """Return the current instance of a task."""
        current = instances.sort(row, self.views.get(row.name, ())).current
        return None if current is None else clock.seen(current, row, self.now)

    def ended(self, row: TaskStatus) -> TaskStatus:
        """Return the row of a finished job, in line with the current instance of its task."""
        stops = moves.stops_living(self.job)
        return rows.update_after_end(row, self.view_of(row), stops=stops, now=self.now)

    def unscheduled(self, status: Status) -> frozenset[TaskName]:
        """Return the tasks whose current pod has no node."""
        views = map(self.view_of, status.tasks)
        return frozenset(view.name for view in views if view is not None and view.is_unscheduled)

    def queued(self, status: Status) -> Queued | None:
        """Return the queue in which current pods wait, or None if the job has no queue."""
        views = map(self.view_of, status.tasks)
        return queue.find(self.job, (view for view in views if view is not None))

    def status_with(self, table: Iterable[TaskStatus]) -> Status:
        """Return the remembered status with this table and the observed progress."""
        return self.before.model_copy(
            update={
                "tasks": tuple(table),
                "observed_generation": self.job.metadata.generation,
                "start_time": self.before.start_time or self.now,
                "progress": stall.advanced(self.before.progress, self.observed.progress, self.now),
                "selector": labels.workers(self.job),
            }
        )

    def outcome(
        self,
        status: Status,
        actions: tuple[Action, ...],
        news: tuple[Announce, ...] = (),
        again_at: datetime | None = None,
    ) -> Plan:
        """Return the plan. Its status is None if the status has not changed."""
        return Plan(changed(self.before, status), actions, news, again_at)


def _by_task(job: TrainingJob, views: Iterable[TaskView]) -> dict[TaskName, tuple[TaskView, ...]]:
    """Return the views by task, each instance once. The order of `views` does not matter."""
    once = {(view.name, view.uid): view for view in views}
    found: dict[TaskName, tuple[TaskView, ...]] = dict.fromkeys(job.tasks(), ())
    for view in sorted(once.values(), key=lambda view: (str(view.name), view.uid)):
        found[view.name] = (*found.get(view.name, ()), view)
    return {name: some for name, some in found.items() if some}
