"""Asks the tasks of a cluster for their status before a session opens (TensorFlow: master.cc)."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from capstan import errors
from capstan.core import config, devices
from capstan.services import registrations, together, worker
from capstan.transport import cancellation as cancellations
from capstan.transport import interfaces

Tasks = Callable[[], Sequence[str]]
"""Returns the names of the tasks that the cluster has now."""
Connect = Callable[[str], interfaces.WorkerApi]
"""Takes the name of a task. Returns its worker service, which may not be reachable yet."""

_POLL_SECONDS = 0.2
_COMPLAIN_SECONDS = 10.0


class RollCall:
    """The tasks that the sessions of one master may use. Thread-safe."""

    def __init__(
        self, home: worker.Worker, tasks: Tasks, connect: Connect, calls: together.Together
    ) -> None:
        """`home` is the worker of the master's task. `calls` makes the calls to the tasks."""
        self._calls = calls
        self._home = home
        self._tasks = tasks
        self._connect = connect
        self._is_closed = False

    def close(self) -> None:
        """End every `gather` that waits."""
        self._is_closed = True

    def worker(self, name: str) -> interfaces.WorkerApi:
        """Return the worker service of a task, which may not be reachable yet."""
        return self._home if name == self._home.task else self._connect(name)

    def gather(
        self,
        caller: str,
        settings: config.SessionConfig,
        cancellation: cancellations.Cancellation | None = None,
    ) -> list[registrations.Task]:
        """Wait until every chosen task answers. Return the tasks with the devices that count.

        All devices of the master's task count, whatever the filters are. Messages name `caller`,
        the call of the master that waits.

        Raises:
            DeadlineExceededError: a task did not answer within `settings.operation_timeout_ms`.
            CancelledError: `cancellation` was set, or `close` was called, before.
            FailedPreconditionError: the address of a task belongs to another task.
        """
        limit = settings.operation_timeout_ms
        deadline = time.monotonic() + limit / 1000 if limit else None
        complain = time.monotonic() + _COMPLAIN_SECONDS
        waiting = cancellation or cancellations.Cancellation()
        chosen = self.chosen(settings.device_filters)
        found: dict[str, registrations.Task] = {}
        asked = chosen
        while silent := self._ask(asked, found):
            now = time.monotonic()
            if deadline is not None and now > deadline:
                name, reason = next(iter(silent.items()))
                raise errors.DeadlineExceededError(
                    None, None, f"{caller}: no answer from worker: {name}. {reason}"
                )
            if now > complain:
                _complain(caller, silent)
                complain = now + _COMPLAIN_SECONDS
            if waiting.wait(_POLL_SECONDS) or self._is_closed:
                raise errors.CancelledError(
                    None,
                    None,
                    f"{caller} was cancelled by its client, or by the end of this server, before "
                    f"{', '.join(silent)} had answered",
                )
            asked = list(silent)
        return [
            task if task.name == self._home.task else _filtered(task, settings.device_filters)
            for task in (found[name] for name in chosen if name in found)
        ]

    def chosen(self, device_filters: Sequence[str]) -> list[str]:
        """Return the tasks that the filters match, and the task of this master."""
        return [
            name
            for name in self._tasks()
            if name == self._home.task or devices.matches_any(device_filters, name)
        ]

    def _ask(self, names: Sequence[str], found: dict[str, registrations.Task]) -> dict[str, str]:
        """Ask tasks for their status, and add those that answer to `found`.

        Return why each of the others is silent. A task that leaves the cluster is not among them.
        """
        workers = [self.worker(name) for name in names]
        answers = self._calls.call([peer.get_status for peer in workers])
        silent = {}
        for name, peer, answer in zip(names, workers, answers, strict=True):
            try:
                status = answer.result()
            except (errors.UnavailableError, errors.DeadlineExceededError) as error:
                silent[name] = error.message
            else:
                _check_task(name, status)
                self._warn_of_another_job(name, status)
                found[name] = registrations.Task(name, peer, status)
        return {name: reason for name, reason in silent.items() if name in self._tasks()}

    def _warn_of_another_job(self, name: str, status: interfaces.WorkerStatus) -> None:
        if status.other_address:
            logging.getLogger("capstan").warning(
                "The server of %s was started with another cluster: there, %s is at %s. If this "
                "server is of another job, end it, and start the server of this job",
                name, self._home.task, status.other_address,
            )  # fmt: skip


def _complain(caller: str, silent: Mapping[str, str]) -> None:
    for name, reason in silent.items():
        logging.getLogger("capstan").warning(
            "%s still waiting for response from worker: %s. %s", caller, name, reason
        )


def _filtered(task: registrations.Task, device_filters: Sequence[str]) -> registrations.Task:
    """Return a task with only the devices that the filters match."""
    seen = tuple(
        device for device in task.status.devices if devices.matches_any(device_filters, device.name)
    )
    return replace(task, status=replace(task.status, devices=seen))


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
