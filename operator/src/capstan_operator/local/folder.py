"""The folder of a job in local mode: `.capstan/<job>/` of the directory where `capstanctl` runs.

    lock                    held by the `capstanctl` that runs the job, and by its tasks' guards
    status.json             the job's status, replaced atomically at every change
    <task>.<attempt>.log    the output of one attempt of a task
    <task>.progress.json    the progress that the task reports (CAPSTAN_PROGRESS_FILE)
    checkpoints/            CAPSTAN_CHECKPOINT_DIR
    checkpoints.<time>/     the checkpoints of a run that succeeded, set aside by the next run

The next run removes the status, the logs and the progress of a finished run, and continues an
unfinished run. Checkpoints are never deleted: a run continues from them unless the last run had
succeeded.
"""

import contextlib
import fcntl
import os
import threading
from pathlib import Path

from capstan_operator import errors
from capstan_operator.reconcile import words

_TRIES = 5
_PAUSE_SECONDS = 0.02
"""How often, and after which pauses, `claim` tries again: `is_held` takes the lock for a moment."""
_LAST_WORDS_WITHIN = 4096
"""How many bytes at the end of a log are searched for its last line."""


class Folder:
    """The folder, locked for this process from `claim` to `close`."""

    def __init__(self, path: Path, lock: int) -> None:
        """Take over a locked folder. Call `claim` to get one."""
        self.path = path
        self.lock = lock

    def close(self) -> None:
        """Release the lock. Guards that still run hold it until they end."""
        os.close(self.lock)

    @property
    def checkpoints(self) -> Path:
        """The folder of checkpoints, which `begin` creates."""
        return self.path / "checkpoints"

    @property
    def status(self) -> Path:
        """The file of the status, which the first `write_status` creates."""
        return self.path / "status.json"

    def log(self, task: str, attempt: int) -> Path:
        """Return the log of one attempt of a task."""
        return self.path / f"{task}.{attempt}.log"

    def progress(self, task: str) -> Path:
        """Return the progress file of a task."""
        return self.path / f"{task}.progress.json"

    def clear(self) -> None:
        """Remove the status, the logs and the progress of the last run."""
        for pattern in ("status.json", "*.log", "*.progress.json"):
            for path in self.path.glob(pattern):
                path.unlink()

    def begin(self) -> None:
        """Create the folders that a run needs."""
        self.checkpoints.mkdir(exist_ok=True)

    def has_checkpoints(self) -> bool:
        return self.checkpoints.is_dir() and any(self.checkpoints.iterdir())

    def set_checkpoints_aside(self, stamp: str) -> Path | None:
        """Rename the folder of checkpoints, so that a run starts without any.

        Return its new path; None if there were no checkpoints. Raises OSError if the path exists.
        """
        if not self.has_checkpoints():
            return None
        return self.checkpoints.rename(self.path / f"checkpoints.{stamp}")

    def write_status(self, text: str) -> None:
        """Replace the status atomically: a reader sees the old text or the new one."""
        draft = self.status.with_suffix(".json.new")
        draft.write_text(text, encoding="utf-8")
        draft.replace(self.status)

    def read_status(self) -> str | None:
        """Return the status that any run wrote last, or None if there is none."""
        try:
            return self.status.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None

    def last_words(self, task: str, attempt: int) -> str:
        """Return the last line of a log that is not blank, in printable form, or "" without one."""
        try:
            with self.log(task, attempt).open("rb") as log:
                log.seek(max(log.seek(0, os.SEEK_END) - _LAST_WORDS_WITHIN, 0))
                return words.last_said(log.read().decode(errors="replace"))
        except OSError:
            return ""


def claim(path: Path) -> Folder:
    """Create the folder if it does not exist, and lock it.

    Raises `errors.Invalid` if it cannot be written or locked, if another `capstanctl` holds the
    lock, or if tasks of a killed `capstanctl` have not ended yet.
    """
    while True:
        lock = _opened(path)
        try:
            is_free = _locked(lock)
        except OSError as fault:
            os.close(lock)
            raise _refusal(
                f"cannot lock {path / 'lock'}: {fault.strerror}; run capstanctl in a directory of "
                "a file system with locks, for example of this machine's disk"
            ) from fault
        if not is_free:
            holder = os.read(lock, 20).decode(errors="replace").strip()
            os.close(lock)
            raise _refusal(
                f"is run by another capstanctl (process {holder}), or some of its tasks have not "
                f"ended yet; wait for their end, or stop that capstanctl ({path / 'lock'} is held)"
            )
        if _is_at(path / "lock", lock):
            break
        os.close(lock)  # somebody has removed the folder since it was opened
    with contextlib.suppress(OSError):
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    return Folder(path.absolute(), lock)


def is_held(path: Path) -> bool:
    """Say whether a `capstanctl run` runs the job of a folder, or some of its tasks still run."""
    try:
        lock = os.open(path / "lock", os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # the file system has no locks, so no run has claimed the folder
        return False
    finally:
        os.close(lock)
    return False


def _opened(path: Path) -> int:
    """Create the folder and its lock if they do not exist, and open the lock."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        return os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as fault:
        raise _refusal(
            f"cannot keep its state in {path}: {fault.strerror}; "
            "run capstanctl in a directory where you may write"
        ) from fault


def _is_at(path: Path, opened: int) -> bool:
    """Say whether an open file is still the file at this path."""
    try:
        return os.path.samestat(path.stat(), os.fstat(opened))
    except FileNotFoundError:
        return False


def _locked(lock: int) -> bool:
    """Try to take the lock; say whether it was free."""
    for _ in range(_TRIES):
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        threading.Event().wait(_PAUSE_SECONDS)
    return False


def _refusal(message: str) -> errors.Invalid:
    return errors.Invalid((errors.Fault("", message),))
