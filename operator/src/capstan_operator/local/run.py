"""Run one job to its end, in a loop: observe, plan, write the status, act, report the news, wait.

The loop is level-triggered: after each event it observes the whole job again. `reconcile.plan`
makes all decisions, as it does for pods.
"""

import contextlib
import dataclasses
import json
import math
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import pydantic

from capstan_operator.api import status_json
from capstan_operator.api.names import TaskName
from capstan_operator.api.spec import TrainingJob
from capstan_operator.api.status import Phase, Status
from capstan_operator.local import command, folder
from capstan_operator.local.interrupts import Interrupts
from capstan_operator.local.process import Command
from capstan_operator.local.tasks import Tasks
from capstan_operator.manifests import cluster
from capstan_operator.reconcile import plan, suspend
from capstan_operator.reconcile.actions import Action, Announce, StartTask, StopTask
from capstan_operator.reconcile.policies import stopping

PROGRESS_SECONDS = 1.0
"""The interval between two reads of the progress files. The loop sees the end of a process at
once."""


@dataclass(frozen=True, slots=True)
class Row:
    """Facts about a task that are shown beside its row in the status."""

    pid: int | None = None
    steps_per_second: float | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a job that is shown after a pass. `rows` has an entry for every task."""

    status: Status
    rows: Mapping[TaskName, Row]


class Listener(Protocol):
    """Shows the run to the user. The loop calls its methods, so they must not block for long."""

    def note(self, line: str) -> None:
        """Show a line about the run as a whole."""

    def tell(self, news: Announce) -> None:
        """Show one line of news."""

    def show(self, snapshot: Snapshot) -> None:
        """Show the current state of the job."""


class LocalRun:
    """A job that is ready to run on this machine.

    `prepare.prepare` checks a job and makes its LocalRun. Call `to_the_end` once.
    """

    def __init__(
        self,
        job: TrainingJob,
        directory: Path,
        state: folder.Folder,
        addresses: Mapping[TaskName, str],
    ) -> None:
        """Take over a job that `prepare.prepare` has checked, and its locked folder."""
        self._written = job
        self._job = command.without_ignored(job)
        self._directory = directory
        self._folder = state
        self._environment = cluster.environment(job, addresses.__getitem__, str(state.checkpoints))
        self._status = Status()
        self._tasks = Tasks(state, self._command, _now)

    @property
    def name(self) -> str:
        """The name of the job."""
        return self._job.metadata.name

    def to_the_end(self, listener: Listener, interrupts: Interrupts) -> Status | int:
        """Run the job until it is finished or a signal arrives.

        Return the status of the job, or the number of the signal. Blocks. When this method returns
        or raises, no process of the job is left, and the written status shows this. A second signal
        ends the grace period of the tasks. A signal after the job has finished only shortens the
        clean-up.
        """
        self._begin(listener)
        why = ""
        try:
            came = self._until_a_signal(listener, interrupts)
            if came is not None:
                why = f"{signal.Signals(came).name} came, and capstanctl ended all tasks"
            if came == signal.SIGINT and any(self._tasks.living()):
                listener.note("the tasks are ending; a second Ctrl-C ends them at once")
        except BrokenPipeError:
            why = "nobody read the output of capstanctl any more, and it ended all tasks"
            raise
        except BaseException as fault:
            why = f"an error ended capstanctl: {type(fault).__name__}: {fault}"
            raise
        finally:
            self._end_all(interrupts)
            self._write_last(why)
        return self._status if came is None or self._status.phase.is_final else came

    def _until_a_signal(self, listener: Listener, interrupts: Interrupts) -> int | None:
        """Run the job until it is finished and no task is left; then return None.

        If a signal arrives before, return its number.
        """
        while True:
            again_at = self._settle(listener)
            if self._status.phase.is_final and not any(self._tasks.living()):
                return None
            self._tasks.wait((interrupts.fileno(),), self._seconds_until(again_at))
            if came := interrupts.take():
                return came

    def _begin(self, listener: Listener) -> None:
        """Continue the last run if it did not finish. Otherwise begin with an empty status."""
        if ignored := command.ignored(self._written):
            of = "field" if len(ignored) == 1 else "fields"
            are = "is" if len(ignored) == 1 else "are"
            named = f"the {of} {', '.join(ignored)} {are} ignored"
            listener.note(f"{named}, because tasks are local processes")
        before = _status_of(self._folder)
        if before is not None and before.phase is Phase.SUCCEEDED:
            stamp = f"{before.completion_time or _now():%Y%m%dT%H%M%S.%fZ}"
            if aside := self._folder.set_checkpoints_aside(stamp):
                listener.note(f"the last run succeeded: its checkpoints are now in {aside.name}")
        if before is None or before.phase.is_final:
            self._folder.clear()
            if self._folder.has_checkpoints():
                listener.note(
                    "the last run did not succeed: this run begins with its checkpoints"
                    f" (remove {os.path.relpath(self._folder.path)} to start from scratch)"
                )
        else:
            self._status = suspend.run_again(before)
            listener.note(
                "the last run did not finish: this run continues it"
                f" (remove {os.path.relpath(self._folder.path)} to start from scratch)"
            )
        self._folder.begin()
        listener.note(f"logs, status and checkpoints: {os.path.relpath(self._folder.path)}")

    def _settle(self, listener: Listener) -> datetime | None:
        """Plan and act until there is nothing to do.

        Return when to look again at the latest, or None if the plan names no time.
        """
        while True:
            observed = self._tasks.observe()
            decided = plan.plan(self._job, self._status, observed, _now())
            if decided.status is not None:
                self._write(decided.status)
            effects = [self._act(action) for action in decided.actions]
            for news in decided.news:
                listener.tell(news)
            listener.show(self._snapshot())
            if not any(effects):
                return decided.again_at

    def _write(self, status: Status) -> None:
        self._folder.write_status(json.dumps(status_json.render(status), indent=1))
        self._status = status

    def _write_last(self, why: str) -> None:
        """Write the status of a job whose processes have all ended."""
        last = suspend.suspended(self._job, self._status, self._tasks.observe(), why, _now())
        if last != self._status:
            # If the disk is full, the first error reports it.
            with contextlib.suppress(OSError):
                self._write(last)

    def _act(self, action: Action) -> bool:
        match action:
            case StartTask():
                return self._tasks.start(action)
            case StopTask():
                return self._tasks.stop(action)

    def _snapshot(self) -> Snapshot:
        pids, reports = self._tasks.pids(), self._tasks.reports()
        rows = {
            name: Row(
                pids.get(name),
                reports[name].steps_per_second if name in reports and name in pids else None,
            )
            for name in self._job.tasks()
        }
        return Snapshot(self._status, rows)

    def _seconds_until(self, again_at: datetime | None) -> float:
        left = PROGRESS_SECONDS if again_at is None else (again_at - _now()).total_seconds()
        return min(max(left, 0.0), PROGRESS_SECONDS)

    def _command(self, action: StartTask) -> Command:
        template = self._job.replica(action.task.type).template
        given = self._environment.of(action.task, attempt=action.attempt, epoch=action.epoch)
        given["CAPSTAN_PROGRESS_FILE"] = str(self._folder.progress(str(action.task)))
        rendered = command.render(template.trainer, given, self._directory)
        return dataclasses.replace(rendered, grace_seconds=command.grace_seconds(template))

    def _end_all(self, interrupts: Interrupts) -> None:
        """Stop all tasks and wait for their ends. A signal ends the grace periods.

        The tasks of an unfinished job are stopped in the order that lets the chief save.
        """
        grace = math.inf
        while living := [instance.name for instance in self._tasks.living()]:
            at_once = self._status.phase.is_final or not grace
            group = living if at_once else stopping.next_group(self._job, living)
            self._tasks.end(group, grace)
            self._tasks.wait((interrupts.fileno(),), None)
            if interrupts.take():
                grace = 0.0


def _status_of(state: folder.Folder) -> Status | None:
    """Return the status that the last run wrote, or None if there is none, or it cannot be read."""
    text = state.read_status()
    if text is None:
        return None
    try:
        return status_json.load(json.loads(text))
    except (ValueError, pydantic.ValidationError):
        return None


def _now() -> datetime:
    return datetime.now(UTC)
