"""Kill tasks of a job that runs on this machine, and see them come back.

    python chaos.py .capstan/digits/status.json --kill worker-1@5000 --kill ps-0@10000

The program handles one kill after the other. It waits until the whole job runs and has reached the
global step, sends SIGKILL to the task, and waits until the task is back and training continues. The
program only reads the status file of `capstanctl run`. In this file, the `uid` of a task begins
with the process id of the task's trainer.

Exit status: 0 if every task was killed and came back, 1 if the job ended before that.
"""

import argparse
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

DEFAULT_KILLS = ("worker-1@5000", "ps-0@10000")
"""Kills after 25 % and after 50 % of the 20 000 steps that train.py takes by default."""

LOOK_SECONDS = 0.1

Status = dict[str, Any]


class GoneError(Exception):
    """The job has ended, or the process that started this program has."""


@dataclass(frozen=True, slots=True)
class Kill:
    """Kill `task` when the global step has reached `step`."""

    task: str
    step: int

    @classmethod
    def parse(cls, text: str) -> "Kill":
        task, _, step = text.partition("@")
        if not (task and step.isdecimal()):
            raise argparse.ArgumentTypeError(f"{text!r} is not TASK@STEP, such as worker-1@5000")
        return cls(task, int(step))


class Watch:
    """Reads the status of the current run; the file of an earlier run is ignored."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._began = time.time()
        self._parent = os.getppid()

    def until(self, condition: Callable[[Status], bool]) -> Status:
        """Return the first status that meets the condition.

        Raises GoneError if the job, or the process that started this program, ends before that.
        """
        while True:
            status = self._read()
            if status is not None and condition(status):
                return status
            if status is not None and status["phase"] in ("Succeeded", "Failed", "Suspended"):
                raise GoneError(f"the job has {status['phase'].lower()}")
            if os.getppid() != self._parent:
                raise GoneError("the process that started this program has ended")
            threading.Event().wait(LOOK_SECONDS)

    def _read(self) -> Status | None:
        try:
            if self._path.stat().st_mtime < self._began:
                return None
            status: Status = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return status


def row(status: Status, task: str) -> Status:
    """Return the row of a task, or an empty row if the job has no such task."""
    rows: list[Status] = status.get("tasks", [])
    return next((row for row in rows if row["name"] == task), {})


def strike(watch: Watch, kill: Kill) -> None:
    """Kill the task, and return when it is back and the job trains again."""
    status = watch.until(
        lambda status: status["phase"] == "Running" and step_of(status) >= kill.step
    )
    before = row(status, kill.task)
    if not before:
        raise GoneError(f"the job has no task {kill.task}")
    pid = int(before["uid"].partition(".")[0])
    say(f"step {step_of(status)}: SIGKILL to {kill.task}, process {pid}")
    os.kill(pid, signal.SIGKILL)
    status = watch.until(lambda status: is_back(status, kill.task, before))
    after = row(status, kill.task)
    say(f"step {step_of(status)}: {kill.task} is back as attempt {after['attempt']}")


def is_back(status: Status, task: str, before: Status) -> bool:
    """Return whether the task runs again and the job has reported progress since then."""
    now = row(status, task)
    if status["phase"] != "Running" or now["attempt"] <= before["attempt"]:
        return False
    if "step" in before and "step" not in now:
        return False
    reported = status.get("progress", {}).get("updatedAt", now["startedAt"])
    return datetime.fromisoformat(reported) > datetime.fromisoformat(now["startedAt"])


def step_of(status: Status) -> int:
    return int(status.get("progress", {}).get("step", 0))


def say(words: str) -> None:
    print(f"chaos: {words}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill tasks of a running job, in this order.")
    parser.add_argument("status", type=Path, help=".capstan/JOB/status.json of the job")
    parser.add_argument(
        "--kill",
        action="append",
        type=Kill.parse,
        metavar="TASK@STEP",
        help=f"task to kill, and global step (default: {', then '.join(DEFAULT_KILLS)})",
    )
    options = parser.parse_args()
    # A shell starts background commands with SIGINT ignored, but Ctrl-C must end this program.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    watch = Watch(options.status)
    try:
        for kill in options.kill or map(Kill.parse, DEFAULT_KILLS):
            strike(watch, kill)
    except GoneError as gone:
        say(str(gone))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
