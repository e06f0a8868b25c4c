"""The tasks of one job as processes: views of them for `plan`, and its actions on them."""

import dataclasses
import math
import selectors
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from capstan_operator.api.names import TaskName, Uid
from capstan_operator.api.report import Report
from capstan_operator.local import process, progress
from capstan_operator.local.folder import Folder
from capstan_operator.local.process import Command, Process
from capstan_operator.reconcile.actions import StartTask, StopTask
from capstan_operator.reconcile.observe import Deletion, Observed, TaskPhase, TaskView
from capstan_operator.reconcile.policies import failure


@dataclass(slots=True)
class _Instance:
    """The process of one attempt of a task, from its start until it is forgotten."""

    name: TaskName
    attempt: int
    uid: Uid
    process: Process
    started_at: datetime
    finished_at: datetime | None = None
    stopping: bool = False


class Tasks:
    """The processes of a job's tasks. Not thread-safe.

    `command` returns the command of an attempt. `clock` returns aware times. A uid is
    `<pid>.<count>`: the process id, and how many processes this object had started by then.
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
        self._instances: dict[TaskName, _Instance] = {}
        self._reports: dict[TaskName, Report] = {}
        self._started = 0

    def start(self, action: StartTask) -> bool:
        """Start an attempt, unless its task has an instance. Return whether it was started."""
        if action.task in self._instances:
            return False
        log = self._folder.log(str(action.task), action.attempt)
        started_at = self._clock()
        started = Process(self._command(action), log, self._folder.lock)
        self._started += 1
        self._instances[action.task] = _Instance(
            action.task,
            action.attempt,
            Uid(f"{started.pid}.{self._started}"),
            started,
            started_at,
            None if started.exit is None else started_at,
        )
        return True

    def stop(self, action: StopTask) -> bool:
        """Stop an instance, or forget it if it has ended. Return whether that changed anything."""
        instance = self._instances.get(action.task)
        if instance is None or instance.uid != action.uid:
            return False
        if instance.process.exit is not None:
            del self._instances[instance.name]
            return True
        instance.process.stop(action.grace_seconds)
        first, instance.stopping = not instance.stopping, True
        return first

    def end(self, tasks: Collection[TaskName], at_most_seconds: float = math.inf) -> None:
        """Stop these tasks, with their commands' grace periods but at most `at_most_seconds`.

        A second call can only shorten the time.
        """
        for instance in self.living():
            if instance.name in tasks:
                instance.process.stop(min(instance.process.grace_seconds, at_most_seconds))

    def living(self) -> Iterator[_Instance]:
        """Yield the instances that have not ended."""
        return (instance for instance in self._instances.values() if instance.process.exit is None)

    def pids(self) -> Mapping[TaskName, int]:
        """Return the process id of every task that runs."""
        return {instance.name: instance.process.pid for instance in self.living()}

    def reports(self) -> Mapping[TaskName, Report]:
        """Return the report of each task's current instance, as the last `observe` read it."""
        return {
            name: report
            for name, report in self._reports.items()
            if name in self._instances and report.updated_at >= self._instances[name].started_at
        }

    def wait(self, others: Iterable[int], timeout: float | None) -> None:
        """Wait until a task ends, one of the files `others` is readable, or the time is up."""
        with selectors.DefaultSelector() as waiting:
            for instance in self.living():
                waiting.register(instance.process, selectors.EVENT_READ, instance)
            for file in others:
                waiting.register(file, selectors.EVENT_READ, None)
            for key, _ in waiting.select(timeout):
                if key.data is not None:
                    self._receive(key.data)

    def _receive(self, instance: _Instance) -> None:
        """Receive messages of an instance's guard, and record the end of the instance."""
        instance.process.hear()
        if instance.process.exit is None:
            return
        instance.finished_at = self._clock()
        if instance.stopping:
            # When a stopped process has ended, it is forgotten, so that `observe` no longer
            # reports it. A deleted pod also disappears.
            del self._instances[instance.name]

    def observe(self) -> Observed:
        """Return a view of each instance, and the progress that the tasks report."""
        for name in self._instances:
            report = progress.read(self._folder.progress(str(name)))
            if report is not None:
                self._reports[name] = report
        current = self.reports()
        return Observed(
            tuple(
                self._view(instance, current.get(instance.name))
                for instance in self._instances.values()
            ),
            progress.of_job(self._reports),
            reported_at=self._clock() if current else None,
        )

    def _view(self, instance: _Instance, report: Report | None) -> TaskView:
        """Return the view of an instance, which has the step of its report."""
        view = TaskView(
            name=instance.name,
            attempt=instance.attempt,
            uid=instance.uid,
            phase=TaskPhase.RUNNING,
            ready=True,
            deletion=Deletion.BEFORE_END if instance.stopping else Deletion.NOT_REQUESTED,
            started_at=instance.started_at,
            step=None if report is None else report.step,
        )
        if instance.process.exit is None:
            return view
        return dataclasses.replace(
            view,
            phase=TaskPhase.FAILED if instance.process.exit.code else TaskPhase.SUCCEEDED,
            ready=False,
            exit_code=instance.process.exit.code,
            reason=self._reason(instance, instance.process.exit),
            message=self._last_words(instance, instance.process.exit),
            finished_at=instance.finished_at,
        )

    @staticmethod
    def _reason(instance: _Instance, exit_: process.Exit) -> str:
        if not instance.process.pid:
            return failure.CREATE_FAILED
        return failure.GUARD_KILLED if exit_.message else ""

    def _last_words(self, instance: _Instance, exit_: process.Exit) -> str:
        return exit_.message or self._folder.last_words(str(instance.name), instance.attempt)
