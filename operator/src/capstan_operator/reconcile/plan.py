"""Decide one pass: from the job, what is remembered and what is seen, to what is to be done.

Rule 1: everything that decides is here, in `rows` and in `policies`; nothing here acts.
Rule 2: the inputs are values. No clock, no client, no log: what is not passed in cannot matter.
Rule 3: level-triggered. A pass asks what is, never what has changed, so no event can be lost.
Rule 4: intent before action. A failure is counted in the same status that names the next attempt,
and that status is written before anything is stopped or started.

Read `plan` first: each step is a question, and the first that has an answer ends the pass.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from capstan_operator.api.names import TaskName
from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Phase, Status, TaskState, TaskStatus
from capstan_operator.reconcile import answer, invalid, moves, obstacle, rows, summary
from capstan_operator.reconcile.actions import Action, Announce, NewsType, Plan, changed
from capstan_operator.reconcile.observe import TEMPLATE_INVALID, Observed, TaskView
from capstan_operator.reconcile.policies import deadline, restart, success
from capstan_operator.reconcile.policies.failure import Failure, Fatal


@dataclass(frozen=True, slots=True)
class Pass:
    """The question of one pass: the arguments of `plan`, sorted by task."""

    job: TrainingJob
    before: Status
    observed: Observed
    there: dict[TaskName, tuple[TaskView, ...]]
    now: datetime

    def view_of(self, row: TaskStatus) -> TaskView | None:
        """Return the life of a task that counts."""
        return rows.sort(row, self.there.get(row.name, ())).current

    def without_a_place(self, status: Status) -> frozenset[TaskName]:
        """Return the tasks that are there and that no node has been found for."""
        views = map(self.view_of, status.tasks)
        return frozenset(view.name for view in views if view is not None and not view.scheduled)

    def status_with(self, table: Iterable[TaskStatus]) -> Status:
        """Return the remembered status with this table and what else is seen."""
        return self.before.model_copy(
            update={
                "tasks": tuple(table),
                "observed_generation": self.job.metadata.generation,
                "start_time": self.before.start_time or self.now,
                "progress": self.observed.progress or self.before.progress,
            }
        )

    def answered(
        self,
        status: Status,
        actions: tuple[Action, ...],
        news: tuple[Announce, ...] = (),
        again_at: datetime | None = None,
    ) -> Plan:
        """Build the plan; a status that is as it was is not written."""
        return Plan(changed(self.before, status), actions, news, again_at)


def plan(job: TrainingJob, status: Status, observed: Observed, now: datetime) -> Plan:
    """Say what must happen next to bring the job to its end.

    `status` is what the last pass wrote, `Status()` before the first; `now` is aware. The answer
    depends on the arguments alone. Asked again with what it answered and the same observation, it
    repeats starts and stops that are not seen yet, and is silent once nothing is left to do.
    """
    this = Pass(job, status, observed, _by_task(job, observed.tasks), now)
    if status.phase.is_final:
        return _clean_up(this)
    if observed.obstacle is not None and observed.obstacle.reason == TEMPLATE_INVALID:
        return _refuse(this, observed.obstacle.message)
    seen, failures = _look(this)
    if success.is_done(job, seen.tasks):
        return _succeed(this, seen, failures)
    answered = answer.answer(job, seen, failures, now)
    if isinstance(answered, answer.GiveUp):
        return _fail(this, seen, failures, answered.why, str(answered.failure))
    late_at = deadline.ends_at(job.spec.run_policy, seen.start_time or now)
    if late_at is not None and now >= late_at:
        return _fail(this, seen, failures, *deadline.too_late(job.spec.run_policy))
    return _go_on(this, answered, late_at)


def _look(this: Pass) -> tuple[Status, list[Failure]]:
    """Bring the table up to what is seen; find the failures, and do not enter them yet."""
    table: list[TaskStatus] = []
    failures: list[Failure] = []
    for row in rows.table(this.job, this.before):
        may_end = restart.may_end(this.job, row.name)
        after, failed = rows.look(row, this.view_of(row), may_end=may_end, now=this.now)
        table.append(after)
        failures += [failed] if failed else []
    return this.status_with(table), failures


def _go_on(this: Pass, answered: answer.GoOn, late_at: datetime | None) -> Plan:
    hindrance = obstacle.find(this.observed)
    hindered = hindrance is not None
    moved = moves.onward(this.job, answered.status, this.there, this.now, hindered=hindered)
    after = answered.status.model_copy(update={"tasks": moved.tasks})
    after = summary.ongoing(after, this.without_a_place(after), hindrance, this.now)
    news = (*obstacle.news(this.before, hindrance), *answered.news)
    if after.phase is Phase.RUNNING and this.before.phase is not Phase.RUNNING:
        news = (*news, Announce(NewsType.NORMAL, "Running", _running(after)))
    times = [time for time in (late_at, moved.again_at) if time is not None]
    return this.answered(after, moved.actions, news, min(times, default=None))


def _succeed(this: Pass, seen: Status, failures: list[Failure]) -> Plan:
    names = ", ".join(sorted(map(str, success.needed(this.job))))
    line = f"{names} succeeded"
    outcome = summary.condition("Succeeded", True, "TrainingDone", line, this.now)
    after = summary.finished(_brought_home(this, seen, failures), outcome, this.now)
    news = Announce(NewsType.NORMAL, "Succeeded", line)
    return _homeward(this, after, (news,))


def _fail(this: Pass, seen: Status, failures: list[Failure], why: Fatal, line: str) -> Plan:
    message = f"{line} ({why.because})"
    outcome = summary.condition("Failed", True, why.reason, message, this.now)
    ended = _brought_home(this, seen, failures).model_copy(update={"failure": line})
    after = summary.finished(ended, outcome, this.now)
    news = Announce(NewsType.WARNING, "Failed", message)
    return _homeward(this, after, (news,))


def _brought_home(this: Pass, seen: Status, failures: list[Failure]) -> Status:
    """End all rows; nothing follows the failures of the last pass any more."""
    failed = {one.task: one for one in failures}
    table = (
        rows.end(row, TaskState.FAILED, failed[row.name], this.now)
        if row.name in failed
        else rows.look_after_the_end(row, this.view_of(row), this.now)
        for row in seen.tasks
    )
    return seen.model_copy(update={"tasks": tuple(table)})


def _refuse(this: Pass, message: str) -> Plan:
    """Touch nothing: not even the table, so that all of it is found when the job is sound."""
    generation = this.job.metadata.generation
    seen = this.before.model_copy(update={"observed_generation": generation})
    return invalid.refused(this.before, seen, TEMPLATE_INVALID, message, this.now)


def _clean_up(this: Pass) -> Plan:
    """Stop what is left of a job that is over, pass after pass, until nothing is."""
    table = (
        rows.look_after_the_end(row, this.view_of(row), this.now)
        for row in rows.table(this.job, this.before)
    )
    return _homeward(this, summary.after_the_end(this.status_with(table)))


def _homeward(this: Pass, after: Status, news: tuple[Announce, ...] = ()) -> Plan:
    """End what is left of a job that is over with this status."""
    moved = moves.homeward(this.job, after, this.there, this.now)
    return this.answered(after, moved.actions, news, moved.again_at)


def _by_task(job: TrainingJob, views: Iterable[TaskView]) -> dict[TaskName, tuple[TaskView, ...]]:
    """Sort the views by task, each life once, in an order that does not depend on theirs."""
    once = {(view.name, view.uid): view for view in views}
    found: dict[TaskName, tuple[TaskView, ...]] = dict.fromkeys(job.tasks(), ())
    for view in sorted(once.values(), key=lambda view: (str(view.name), view.uid)):
        found[view.name] = (*found.get(view.name, ()), view)
    return {name: some for name, some in found.items() if some}


def _running(status: Status) -> str:
    running = sum(row.state is TaskState.RUNNING for row in status.tasks)
    return f"{running} tasks run, epoch {status.epoch}" if running != 1 else "1 task runs"
