"""The tasks of one job as processes: what `plan` sees of them, and the actions done to them."""

import dataclasses
import math
import selectors
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from capstan_operator.api.names import TaskName, Uid
from capstan_operator.local import process, progress
from capstan_operator.local.folder import Folder
from capstan_operator.local.process import Command, Process
from capstan_operator.reconcile.actions import StartTask, StopTask
from capstan_operator.reconcile.observe import Observed, TaskPhase, TaskView
from capstan_operator.reconcile.policies import failure


@dataclass(slots=True)
class _Life:
    """One attempt of a task, from its start until it is cleared away."""

    name: TaskName
    attempt: int
    uid: Uid
    process: Process
    started_at: datetime
    finished_at: datetime | None = None
    stopping: bool = False


class Tasks:
    """The lives of a job's tasks. Not thread-safe.

    `command` says what to execute for an attempt. `clock` gives aware times. A uid is
    `<pid>.<count>`: the process, and how many this object had started by then.
    """

    def __init__(
        self,
        folder: Folder,
        command: Callable[[StartTask], Command],
        clock: Callable[[], datetime],
    ) -> None:
        self._folder = folder
        self._command = command
        self._clock = clock
        self._lives: dict[TaskName, _Life] = {}
        self._reports: dict[TaskName, progress.Report] = {}
        self._started = 0

    def start(self, action: StartTask) -> bool:
        """Start an attempt, unless its task has a life in view. Return whether it was started."""
        if action.task in self._lives:
            return False
        log = self._folder.log(str(action.task), action.attempt)
        started_at = self._clock()
        started = Process(self._command(action), log, self._folder.lock)
        self._started += 1
        self._lives[action.task] = _Life(
            action.task,
            action.attempt,
            Uid(f"{started.pid}.{self._started}"),
            started,
            started_at,
            None if started.exit is None else started_at,
        )
        return True

    def stop(self, action: StopTask) -> bool:
        """End a life, or clear it away if it has ended. Return whether that was news to it."""
        life = self._lives.get(action.task)
        if life is None or life.uid != action.uid:
            return False
        if life.process.exit is not None:
            del self._lives[life.name]
            return True
        life.process.stop(action.grace_seconds)
        first, life.stopping = not life.stopping, True
        return first

    def stop_all(self, at_most_seconds: float = math.inf) -> None:
        """End every life, each in the time of its own command or in less; calling it again can
        shorten the time.
        """
        for life in self.living():
            life.process.stop(min(life.process.grace_seconds, at_most_seconds))

    def living(self) -> Iterator[_Life]:
        """Yield the lives that have not ended."""
        return (life for life in self._lives.values() if life.process.exit is None)

    def pids(self) -> Mapping[TaskName, int]:
        """Return the process of every task that runs."""
        return {life.name: life.process.pid for life in self.living()}

    def reports(self) -> Mapping[TaskName, progress.Report]:
        """Return what each task reported in its current life, as of the last `observe`."""
        return {
            name: report
            for name, report in self._reports.items()
            if name in self._lives and report.updated_at >= self._lives[name].started_at
        }

    def wait(self, others: Iterable[int], timeout: float | None) -> None:
        """Wait until a task ends, one of the files `others` is readable, or the time is up."""
        with selectors.DefaultSelector() as waiting:
            for life in self.living():
                waiting.register(life.process, selectors.EVENT_READ, life)
            for file in others:
                waiting.register(file, selectors.EVENT_READ, None)
            for key, _ in waiting.select(timeout):
                if key.data is not None:
                    self._hear(key.data)

    def _hear(self, life: _Life) -> None:
        life.process.hear()
        if life.process.exit is None:
            return
        life.finished_at = self._clock()
        if life.stopping:
            # Like a pod that was deleted: when it has ended, it is gone.
            del self._lives[life.name]

    def observe(self) -> Observed:
        """Say what is there, and read what the tasks report."""
        for name in self._lives:
            report = progress.read(self._folder.progress(str(name)))
            if report is not None:
                self._reports[name] = report
        current = self.reports()
        return Observed(
            tuple(self._view(life, current.get(life.name)) for life in self._lives.values()),
            progress.of_job(self._reports),
        )

    def _view(self, life: _Life, report: progress.Report | None) -> TaskView:
        view = TaskView(
            name=life.name,
            attempt=life.attempt,
            uid=life.uid,
            phase=TaskPhase.RUNNING,
            ready=True,
            deleting=life.stopping,
            started_at=life.started_at,
            step=None if report is None else report.step,
        )
        if life.process.exit is None:
            return view
        return dataclasses.replace(
            view,
            phase=TaskPhase.FAILED if life.process.exit.code else TaskPhase.SUCCEEDED,
            ready=False,
            exit_code=life.process.exit.code,
            reason="" if life.process.pid else failure.CREATE_FAILED,
            message=self._last_words(life, life.process.exit),
            finished_at=life.finished_at,
        )

    def _last_words(self, life: _Life, exit_: process.Exit) -> str:
        return exit_.message or self._folder.last_words(str(life.name), life.attempt)
