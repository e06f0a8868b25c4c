"""The tasks of a cluster, as the master of one of them finds them."""

import logging
import time
from collections.abc import Callable, Iterator, Sequence

from capstan import errors
from capstan.core import config, devices
from capstan.services import registrations, worker
from capstan.transport import cancellation as cancellations
from capstan.transport import interfaces

Tasks = Callable[[], Sequence[str]]
"""Returns the names of the tasks that the cluster has now."""
Connect = Callable[[str], interfaces.WorkerApi]
"""Takes the name of a task. Returns its worker service, which may not be reachable yet."""

_POLL_SECONDS = 0.2
_COMPLAIN_SECONDS = 10.0


class ClusterTasks:
    """The tasks of the cluster, of which `home` is one. Thread-safe."""

    def __init__(self, home: worker.Worker, tasks: Tasks, connect: Connect) -> None:
        self._home = home
        self._tasks = tasks
        self._connect = connect
        self._is_closed = False

    def close(self) -> None:
        """End every wait for tasks."""
        self._is_closed = True

    def workers(self) -> Iterator[interfaces.WorkerApi]:
        """Iterate over the worker services of all tasks."""
        return map(self._worker, self._tasks())

    def answering(
        self, settings: config.SessionConfig, cancellation: cancellations.Cancellation
    ) -> list[registrations.Task]:
        """Wait until every task that `settings` allow answers. Return these tasks.

        Raises:
            DeadlineExceededError: a task did not answer within `settings.operation_timeout_ms`.
            CancelledError: `cancellation` was set, or `close` called, before all tasks had
                answered.
            FailedPreconditionError: the address of a task belongs to another task.
        """
        limit = settings.operation_timeout_ms
        deadline = time.monotonic() + limit / 1000 if limit else None
        answers = [
            self._await(name, deadline, cancellation)
            for name in self._tasks()
            if name == self._home.task or devices.matches_any(settings.device_filters, name)
        ]
        return [task for task in answers if task is not None]

    def _worker(self, name: str) -> interfaces.WorkerApi:
        return self._home if name == self._home.task else self._connect(name)

    def _await(
        self, name: str, deadline: float | None, cancellation: cancellations.Cancellation
    ) -> registrations.Task | None:
        """Ask a task for its status until it answers. Return None if it leaves the cluster."""
        complain = time.monotonic() + _COMPLAIN_SECONDS
        while True:
            peer = self._worker(name)
            try:
                status = peer.get_status()
            except (errors.UnavailableError, errors.DeadlineExceededError) as error:
                now, reason = time.monotonic(), error.message
            else:
                _check_task(name, status)
                self._warn_of_another_job(name, status)
                return registrations.Task(name, peer, status)
            if name not in self._tasks():
                return None
            if deadline is not None and now > deadline:
                raise errors.DeadlineExceededError(
                    None, None, f"CreateSession: no answer from worker: {name}. {reason}"
                )
            if now > complain:
                logging.getLogger("capstan").warning(
                    "CreateSession still waiting for response from worker: %s. %s", name, reason
                )
                complain = now + _COMPLAIN_SECONDS
            if cancellation.wait(_POLL_SECONDS) or self._is_closed:
                raise errors.CancelledError(
                    None, None, f"Session was closed before worker {name} had answered"
                )

    def _warn_of_another_job(self, name: str, status: interfaces.WorkerStatus) -> None:
        if status.other_address:
            logging.getLogger("capstan").warning(
                "The server of %s was started with another cluster: there, %s is at %s. If this "
                "server is of another job, end it, and start the server of this job",
                name, self._home.task, status.other_address,
            )  # fmt: skip


def _check_task(name: str, status: interfaces.WorkerStatus) -> None:
    """Raise FailedPreconditionError if the address of a task belongs to another task."""
    for device in status.devices:
        if devices.task_of(device.name) != name:
            raise errors.FailedPreconditionError(
                None,
                None,
                f"The server at the address of {name} is {devices.task_of(device.name)}: correct "
                "the addresses of the ClusterSpec, or end the server that has taken the address",
            )
