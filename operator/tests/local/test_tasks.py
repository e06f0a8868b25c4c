"""The views of a job's processes are like those of pods on a cluster."""

import itertools
import json
import os
import signal
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from processes import DEADLINE_SECONDS, is_running, wait_until

from capstan_operator.api.names import TaskName, Uid
from capstan_operator.local import folder
from capstan_operator.local.process import Command
from capstan_operator.local.tasks import Tasks
from capstan_operator.reconcile.actions import StartTask, StopTask
from capstan_operator.reconcile.observe import Deletion, TaskPhase, TaskView

pytestmark = pytest.mark.alone

WORKER = TaskName.parse("worker-0")
PS = TaskName.parse("ps-0")
WAIT = "import signal; print('ready', flush=True); signal.pause()"
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


class Stage:
    """Tasks that run scripts of the test. The clock advances by a second at each reading."""

    def __init__(self, path: Path) -> None:
        self.folder = folder.claim(path)
        self.folder.begin()
        self.script = WAIT
        ticks = itertools.count()
        self.tasks = Tasks(
            self.folder, self._command, lambda: NOON + timedelta(seconds=next(ticks))
        )

    def _command(self, action: StartTask) -> Command:
        argv = ("python", "-c", self.script)
        return Command(sys.executable, argv, os.environ, self.folder.path)

    def start(self, name: TaskName, attempt: int = 1, script: str = WAIT) -> TaskView:
        self.script = script
        assert self.tasks.start(StartTask(name, attempt, 1))
        return self.view(name)

    def view(self, name: TaskName) -> TaskView:
        (view,) = (view for view in self.tasks.observe().tasks if view.name == name)
        return view

    def ended(self, name: TaskName) -> TaskView:
        while not self.view(name).has_ended:
            self.tasks.wait((), DEADLINE_SECONDS)
        return self.view(name)

    def stop(self, view: TaskView, grace: float = 60) -> bool:
        return self.tasks.stop(StopTask(view.name, view.uid, grace, "the test says so"))

    def report(self, name: TaskName, step: int, at: datetime) -> None:
        text = json.dumps({"step": step, "updatedAt": at.isoformat(), "stepsPerSecond": 2})
        self.folder.progress(str(name)).write_text(text)

    def close(self) -> None:
        while any(self.tasks.living()):
            self.tasks.end([instance.name for instance in self.tasks.living()], 0)
            self.tasks.wait((), DEADLINE_SECONDS)
        self.folder.close()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    built = Stage(tmp_path)
    yield built
    built.close()


def test_a_process_runs_and_is_ready_from_its_start(stage: Stage) -> None:
    view = stage.start(WORKER, attempt=3)
    assert (view.phase, view.ready, view.attempt) == (TaskPhase.RUNNING, True, 3)
    assert (view.started_at, view.finished_at, view.exit_code) == (NOON, None, None)


def test_the_uid_begins_with_the_process(stage: Stage) -> None:
    view = stage.start(WORKER)
    pid = int(view.uid.partition(".")[0])
    assert stage.tasks.pids() == {WORKER: pid}
    os.kill(pid, signal.SIGKILL)
    assert stage.ended(WORKER).exit_code == 137


def test_a_success_and_a_failure_stay_in_view(stage: Stage) -> None:
    stage.start(WORKER, script="print('done')")
    stage.start(PS, script="raise SystemExit('no variables')")
    good, bad = stage.ended(WORKER), stage.ended(PS)
    assert (good.phase, good.exit_code, good.message) == (TaskPhase.SUCCEEDED, 0, "done")
    assert (bad.phase, bad.exit_code, bad.message) == (TaskPhase.FAILED, 1, "no variables")
    assert not good.ready
    assert good.finished_at is not None
    assert good.finished_at > NOON
    assert stage.tasks.pids() == {}


def test_a_second_start_does_nothing_while_there_is_an_instance(stage: Stage) -> None:
    first = stage.start(WORKER)
    assert not stage.tasks.start(StartTask(WORKER, 2, 1))
    assert stage.view(WORKER) == first


def test_a_stop_is_observed_and_then_the_instance_is_gone(stage: Stage) -> None:
    view = stage.start(WORKER)
    assert stage.stop(view)
    assert not stage.stop(view)
    assert stage.view(WORKER).deletion is Deletion.BEFORE_END
    while stage.tasks.observe().tasks:
        stage.tasks.wait((), DEADLINE_SECONDS)


def test_a_stop_removes_an_instance_that_has_ended(stage: Stage) -> None:
    stage.start(WORKER, script="")
    assert stage.stop(stage.ended(WORKER))
    assert stage.tasks.observe().tasks == ()
    assert stage.stop(stage.start(WORKER, 2))


def test_a_stop_of_another_instance_does_nothing(stage: Stage) -> None:
    view = stage.start(WORKER)
    assert not stage.tasks.stop(StopTask(WORKER, Uid("1.99"), 0, "stale"))
    assert not stage.tasks.stop(StopTask(PS, view.uid, 0, "stale"))
    assert is_running(stage.tasks.pids()[WORKER])


def test_every_instance_has_its_own_uid(stage: Stage) -> None:
    uids = set()
    for attempt in range(1, 4):
        stage.start(WORKER, attempt, script="")
        uids.add(stage.ended(WORKER).uid)
        stage.stop(stage.view(WORKER))
    assert len(uids) == 3


def test_each_attempt_has_a_log_of_its_own(stage: Stage) -> None:
    for attempt in (1, 2):
        stage.start(WORKER, attempt, script=f"print('attempt {attempt}')")
        assert stage.ended(WORKER).message == f"attempt {attempt}"
        stage.stop(stage.view(WORKER))
    assert stage.folder.log("worker-0", 1).read_text() == "attempt 1\n"


def test_a_command_that_cannot_start_is_create_failed(stage: Stage) -> None:
    stage.tasks = Tasks(
        stage.folder, lambda _: Command("/no/trainer", ("x",), {}, stage.folder.path), lambda: NOON
    )
    view = stage.start(WORKER)
    assert (view.phase, view.reason, view.exit_code) == (TaskPhase.FAILED, "CreateFailed", 127)
    assert view.message == "No such file or directory: /no/trainer"


def test_steps_are_of_the_current_instance_and_progress_is_of_the_job(stage: Stage) -> None:
    stage.start(WORKER, script="")
    stage.report(WORKER, 120, NOON + timedelta(hours=1))
    assert stage.ended(WORKER).step == 120
    stage.stop(stage.view(WORKER))
    stage.report(WORKER, 120, NOON - timedelta(hours=1))
    view = stage.start(WORKER, 2)
    observed = stage.tasks.observe()
    progress = observed.progress
    # No running task has reported, so nothing is known about the steps of now.
    assert observed.reported_at is None
    assert (view.step, progress and progress.step) == (None, 120)
    assert stage.tasks.reports() == {}


def test_the_metrics_of_the_first_worker_come_before_those_of_a_ps(stage: Stage) -> None:
    for name, value in ((PS, 1), (WORKER, 2)):
        stage.start(name)
        file = stage.folder.progress(str(name))
        file.write_text(json.dumps({"step": 1, "metrics": {"loss": value}}))
    observed = stage.tasks.observe()
    assert observed.reported_at is not None
    assert observed.progress is not None
    assert observed.progress.metrics == {"loss": 2}


def test_waiting_ends_at_its_time_or_when_another_file_is_readable(stage: Stage) -> None:
    stage.start(WORKER)
    stage.tasks.wait((), 0)
    reader, writer = os.pipe()
    os.write(writer, b"!")
    stage.tasks.wait((reader,), DEADLINE_SECONDS)
    os.close(reader)
    os.close(writer)
    assert stage.view(WORKER).phase is TaskPhase.RUNNING


def test_stopping_all_tasks_leaves_no_process(stage: Stage) -> None:
    stage.start(WORKER)
    stage.start(PS)
    pids = list(stage.tasks.pids().values())
    stage.tasks.end([instance.name for instance in stage.tasks.living()], 60)
    wait_until(lambda: not any(map(is_running, pids)), "the end of all")
