"""What a cluster shows of a job, counted apart from the operator, to compare with its status."""

from datetime import datetime, timedelta

from capstan_operator.api.names import Uid
from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Phase, Status, TaskState
from capstan_operator.reconcile.observe import SCHEDULING_GATED, Deletion, Observed, TaskPhase
from capstan_operator.reconcile.policies import reporter


class Tally:
    """The uids of the failed instances, from the observations of all passes."""

    def __init__(self) -> None:
        self.known: set[Uid] = set()
        self.done: set[Uid] = set()
        self.failed: set[Uid] = set()
        self.stopped: set[Uid] = set()
        self.gated: set[Uid] = set()
        """The pods that waited at a scheduling gate when they were last seen. They have not run."""

    def see(self, observed: Observed) -> None:
        existing = {instance.uid for instance in observed.tasks}
        self.done |= self.gated - existing - self.failed
        self.gated = {
            found.uid
            for found in observed.tasks
            if found.reason == SCHEDULING_GATED and not found.has_ended
        }
        self.failed |= self.known - existing - self.done
        self.known |= existing
        for instance in observed.tasks:
            if (
                instance.phase is TaskPhase.SUCCEEDED
                and instance.deletion is not Deletion.BEFORE_END
            ):
                self.done |= {instance.uid} - self.failed
            elif instance.has_ended and instance.uid not in self.stopped:
                self.failed.add(instance.uid)

    def suspend(self, observed: Observed) -> None:
        """Count no instance that exists during a suspension as failed, unless it failed before."""
        self.stop(self.known | {instance.uid for instance in observed.tasks})

    def remove(self, job: TrainingJob, observed: Observed) -> None:
        """Count no instance of a task that the job no longer has, unless it failed before."""
        tasks = {str(task) for task in job.tasks()}
        uids = self.known | {instance.uid for instance in observed.tasks}
        self.stop({uid for uid in uids if uid.partition("#")[0] not in tasks})

    def stop(self, uids: set[Uid]) -> None:
        self.stopped |= uids
        self.stopped -= self.failed
        self.done |= self.stopped


WAITS = frozenset({Phase.PENDING, Phase.STARTING, Phase.DEGRADED, Phase.RESTARTING})
"""The phases in which a task is to come."""


class Stopwatch:
    """The times since which a job makes no step, runs, or waits for tasks.

    Call `see` once after each status that was written.
    """

    def __init__(self) -> None:
        self.step: int | None = None
        self.stepped_at: datetime | None = None
        self.running_since: datetime | None = None
        self.waiting_since: datetime | None = None

    def see(self, before: Status, after: Status, observed: Observed, now: datetime) -> None:
        if observed.progress is not None and observed.progress.step != self.step:
            self.step, self.stepped_at = observed.progress.step, now
        if after.phase is Phase.RUNNING and before.phase is not Phase.RUNNING:
            self.running_since = now
        self.waiting_since = (self.waiting_since or now) if after.phase in WAITS else None

    def has_waited(self, job: TrainingJob, now: datetime) -> bool:
        """Return whether tasks were missing for longer than the job allows."""
        seconds = job.spec.run_policy.pending_deadline_seconds
        if seconds is None or self.waiting_since is None:
            return False
        return now >= self.waiting_since + timedelta(seconds=seconds)

    def is_overdue(
        self, job: TrainingJob, status: Status, observed: Observed, now: datetime
    ) -> bool:
        """Return whether a new report shows that the running job has made no step for too long.

        `status` is the last status that was written.
        """
        seconds = job.spec.run_policy.progress_deadline_seconds
        if seconds is None or status.phase is not Phase.RUNNING or observed.progress is None:
            return False
        new_step = observed.progress.step != self.step
        begin, reported = self.running_since, observed.reported_at
        assert begin is not None
        assert reported is not None
        last_step = now if new_step or self.stepped_at is None else self.stepped_at
        return min(reported, now) >= max(begin, last_step) + timedelta(seconds=seconds)


def stalled(job: TrainingJob, before: Status, after: Status) -> Uid | None:
    """Return the instance that a written status has counted as stalled, or None."""
    if before.phase is Phase.SUSPENDED or after.phase.is_final:
        return None
    rows = {row.name: row for row in after.tasks}
    for row in before.tasks:
        now = rows.get(row.name)
        if now is not None and now.attempt > row.attempt and now.reason == "Stalled":
            assert row.name == reporter.of(job)
            assert row.uid is not None
            return row.uid
    return None


def reporter_runs(job: TrainingJob, status: Status) -> bool:
    """Return whether the task that reports the progress runs according to the status."""
    return status.task(reporter.of(job)).state is TaskState.RUNNING
