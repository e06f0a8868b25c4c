"""Refuses calls of processes that were replaced.

A task that is restarted on another node may still run on a lost node. Its process and the new one
have the same name and address book, but different attempts. `Fence` knows the newest attempt of
each task that called, and refuses older ones.

Epochs are not compared. A task that stays alive while a parameter server is replaced keeps the
epoch that it started with, and still belongs to the job.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from capstan import errors


@dataclass(frozen=True, slots=True)
class Caller:
    """A process of a job: the name of its task and its attempt, counted from 1."""

    task: str
    attempt: int


class Fence:
    """The newest attempts of the tasks that called this task. Thread-safe."""

    def __init__(self, drop: Callable[[str], None]) -> None:
        """When a newer attempt of a task calls, `drop` gets the task's name, and must end the links
        of the task's older attempts. Calls of this task wait until `drop` returns.
        """
        self._drop = drop
        self._lock = threading.Lock()
        self._newest: dict[str, int] = {}

    def check(self, caller: Caller | None) -> None:
        """Admit a call. A caller of None is always admitted: no launcher of a job started it.

        Raises:
            FailedPreconditionError: a newer attempt of the caller's task has called before. A
                repeated call gets the same error.
        """
        if caller is None:
            return
        with self._lock:
            newest = self._newest.get(caller.task, 0)
            if caller.attempt > newest:
                self._newest[caller.task] = caller.attempt
                if newest:
                    self._drop(caller.task)
                return
        if caller.attempt < newest:
            raise errors.FailedPreconditionError(
                None,
                None,
                f"Attempt {caller.attempt} of {caller.task} was replaced: attempt {newest} has "
                "called already. End this process",
            )
