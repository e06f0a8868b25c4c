"""The folder of a job in local mode: `.capstan/<job>/` of the directory where `capstanctl` runs.

    lock                    held by the `capstanctl` that runs the job, and by its tasks' guards
    status.json             the job's status, replaced atomically at every change
    <task>.<attempt>.log    what an attempt of a task printed
    <task>.progress.json    what the task reports of its progress (CAPSTAN_PROGRESS_FILE)
    checkpoints/            CAPSTAN_CHECKPOINT_DIR
    checkpoints.<time>/     those of a run that succeeded, set aside by the next

Status, logs and progress of a run that came to its end go when the next begins; one that did not is
gone on with. Checkpoints are what training is for: a run goes on from those of a run that did not
succeed, and nothing here ever deletes one.
"""

import contextlib
import fcntl
import os
from pathlib import Path

from capstan_operator import errors
from capstan_operator.reconcile import words

_LAST_WORDS_WITHIN = 4096
"""How many bytes at the end of a log are searched for its last words."""


class Folder:
    """The folder, locked for this process from `claim` to `close`."""

    def __init__(self, path: Path, lock: int) -> None:
        """Take over a locked folder; `claim` is the way to get one."""
        self.path = path
        self.lock = lock

    def close(self) -> None:
        """Give up the lock; guards that still run keep it."""
        os.close(self.lock)

    @property
    def checkpoints(self) -> Path:
        """The folder of checkpoints, which exists from `begin` on."""
        return self.path / "checkpoints"

    @property
    def status(self) -> Path:
        """The file of the status, which exists from the first write on."""
        return self.path / "status.json"

    def log(self, task: str, attempt: int) -> Path:
        """The log of one attempt of a task."""
        return self.path / f"{task}.{attempt}.log"

    def progress(self, task: str) -> Path:
        """The progress file of a task."""
        return self.path / f"{task}.progress.json"

    def clear(self) -> None:
        """Remove status, logs and progress of the run before."""
        for pattern in ("status.json", "*.log", "*.progress.json"):
            for path in self.path.glob(pattern):
                path.unlink()

    def begin(self) -> None:
        """Make what a run needs."""
        self.checkpoints.mkdir(exist_ok=True)

    def set_checkpoints_aside(self, stamp: str) -> Path | None:
        """Rename the folder of checkpoints, so that a run starts from none.

        Return its new name; None when there was none to keep. Raises OSError if that name is taken.
        """
        if not self.checkpoints.is_dir() or not any(self.checkpoints.iterdir()):
            return None
        return self.checkpoints.rename(self.path / f"checkpoints.{stamp}")

    def write_status(self, text: str) -> None:
        """Replace the status: a reader sees the old text or the new one, and nothing between."""
        draft = self.status.with_suffix(".json.new")
        draft.write_text(text, encoding="utf-8")
        draft.replace(self.status)

    def read_status(self) -> str | None:
        """Return what was written last, by whatever run; None when there is nothing."""
        try:
            return self.status.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None

    def last_words(self, task: str, attempt: int) -> str:
        """Return the last line of a log that says something, fit to be printed, or nothing."""
        try:
            with self.log(task, attempt).open("rb") as log:
                log.seek(max(log.seek(0, os.SEEK_END) - _LAST_WORDS_WITHIN, 0))
                return words.last_said(log.read().decode(errors="replace"))
        except OSError:
            return ""


def claim(path: Path) -> Folder:
    """Create the folder if need be, and lock it.

    Raises `errors.Invalid` when it cannot be written, or another `capstanctl` holds the lock, or
    tasks of one that was killed have not ended yet.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as fault:
        raise _refusal(
            f"cannot keep its state in {path}: {fault.strerror}; "
            "run capstanctl in a directory where you may write"
        ) from fault
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(lock, 20).decode(errors="replace").strip()
        os.close(lock)
        raise _refusal(
            f"is run by another capstanctl (process {holder}), or tasks of that are still ending, "
            f"as the lock in {path} says; wait, or stop it, or run this one in another directory"
        ) from None
    with contextlib.suppress(OSError):
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    return Folder(path.absolute(), lock)


def _refusal(message: str) -> errors.Invalid:
    return errors.Invalid((errors.Fault("", message),))
