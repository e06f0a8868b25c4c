"""The master of a task: sessions over the cluster (TensorFlow: master.cc, master_session.cc).

A session opens once every task that its device filters allow has answered. A step contacts only the
tasks that run a part of the step, so it succeeds even if another task is dead. A session keeps the
tasks with which it opened. Only later sessions have tasks that join the cluster.
"""

import functools
import itertools
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import config, function, node
from capstan.services import (
    master_session,
    open_sessions,
    placement_log,
    refusals,
    registrations,
    roll_call,
    signature,
    step,
    together,
    worker,
)
from capstan.transport import api, interfaces
from capstan.transport import cancellation as cancellations

Array = np.ndarray[Any, Any]


class Master:
    """Implements `interfaces.MasterApi`. Thread-safe."""

    def __init__(
        self,
        home: worker.Worker,
        tasks: roll_call.Tasks,
        connect: roll_call.Connect,
        links: api.Links,
        late_message: str | None = None,
        *,
        thread_pools: int | None = None,
    ) -> None:
        """`late_message` is as for `step.Steps`.

        `thread_pools` is the number of thread pools that a step chooses from. In a cluster it is
        None: no session has pools, and a step ignores the choice.
        """
        self._late_message = late_message
        self._thread_pools = thread_pools
        self._home = home
        self._calls = together.Together()
        self._roll_call = roll_call.RollCall(home, tasks, connect, self._calls)
        self._links = links
        self._sessions = open_sessions.OpenSessions()
        self._leftovers = registrations.Leftovers()
        self._steps = itertools.count(1)
        self._epoch = secrets.randbits(32) << 32

    def create_session(
        self,
        nodes: Sequence[node.Node],
        settings: config.SessionConfig,
        cancellation: cancellations.Cancellation | None = None,
        functions: Sequence[function.Function] = (),
    ) -> str:
        """Wait until every task answers. Then open a session and return its handle.

        Raises:
            UnimplementedError: `settings` bring a cluster of their own.
            InvalidArgumentError: `settings` have thread pools, which sessions of a cluster lack.
            DeadlineExceededError: a task did not answer within `settings.operation_timeout_ms`.
            CancelledError: `cancellation` was set, or this master was closed, before all tasks
                had answered.
        """
        refusals.check_session(settings, self._thread_pools)
        tasks = self._roll_call.gather("CreateSession", settings, cancellation)
        steps = step.Steps(self._links, self._next_step, self._late_message)
        registered = registrations.Registrations(
            secrets.token_hex(8),
            self._home.task,
            {task.name: task for task in tasks},
            self._leftovers,
            self._calls,
            settings.isolate_session_state,
        )
        session = master_session.MasterSession(
            self._home, registered, settings, steps, is_in_process=self._thread_pools is not None
        )
        session.begin(nodes, functions)
        _log_placement(session, nodes)
        self._sessions.add(session)
        return session.handle

    def extend_session(
        self,
        handle: str,
        nodes: Sequence[node.Node],
        version: int,
        functions: Sequence[function.Function] = (),
    ) -> int:
        """Add `nodes` and `functions` to a session at `version`. Return the new version.

        If this raises, the session has none of them. A function may be sent again.

        Raises:
            AbortedError: there is no such session, or it is at another version.
            InvalidArgumentError: a new node has the name of a node of the session, or a new
                function has the name of a different function of the session.
        """
        session = self._sessions.get(handle)
        extended = session.extend(nodes, version, functions)
        _log_placement(session, nodes)
        return extended

    def run_step(
        self,
        handle: str,
        feeds: Mapping[str, Array],
        fetches: Sequence[str],
        targets: Sequence[str],
        options: interfaces.StepOptions,
        cancellation: cancellations.Cancellation | None = None,
    ) -> list[Array]:
        """Run a step in the caller's thread. Return copies of the fetches.

        Raises:
            AbortedError: there is no such session.
            InvalidArgumentError: the session has no such thread pool.
            OpError: as `master_session.MasterSession.run`.
        """
        refusals.check_step(options, self._thread_pools)
        session = self._sessions.get(handle)
        requested = _signature(feeds, fetches, targets, options)
        deadline = _deadline(session, options)
        if options.watches:
            values, _ = session.run_with_metadata(
                requested, list(feeds.values()), options, deadline, cancellation
            )
            return values
        if options.is_repeated:
            return session.repeat(requested, list(feeds.values()), deadline, cancellation)
        return session.run(requested, list(feeds.values()), deadline, cancellation)

    def run_step_with_metadata(
        self,
        handle: str,
        feeds: Mapping[str, Array],
        fetches: Sequence[str],
        targets: Sequence[str],
        options: interfaces.StepOptions,
        cancellation: cancellations.Cancellation | None = None,
    ) -> tuple[list[Array], Any]:
        """Run a step, as `master_session.MasterSession.run_with_metadata`."""
        refusals.check_step(options, self._thread_pools)
        session = self._sessions.get(handle)
        requested = _signature(feeds, fetches, targets, options)
        deadline = _deadline(session, options)
        return session.run_with_metadata(
            requested, list(feeds.values()), options, deadline, cancellation
        )

    def make_callable(
        self,
        handle: str,
        feeds: Sequence[str],
        fetches: Sequence[str],
        targets: Sequence[str],
        options: interfaces.StepOptions,
    ) -> int:
        """Remember a signature of a session, as `master_session.MasterSession.make_callable`."""
        requested = _signature(feeds, fetches, targets, options)
        return self._sessions.get(handle).callables.make(requested, options)

    def run_callable(
        self,
        handle: str,
        callable_handle: int,
        feeds: Sequence[Array],
        cancellation: cancellations.Cancellation | None = None,
    ) -> tuple[list[Array], Any]:
        """Run a remembered signature as `run_step_with_metadata` does.

        `feeds` are in the order of the signature.
        """
        session = self._sessions.get(handle)
        requested, options = session.callables.get(callable_handle)
        refusals.check_step(options, self._thread_pools)
        if len(feeds) != len(requested.feeds):
            raise errors.InvalidArgumentError(
                None, None, f"Expected {len(requested.feeds)} feeds, but got {len(feeds)}"
            )
        deadline = _deadline(session, options)
        return session.run_with_metadata(requested, feeds, options, deadline, cancellation)

    def release_callable(self, handle: str, callable_handle: int) -> None:
        """Forget a remembered signature."""
        self._sessions.get(handle).callables.release(callable_handle)

    def partial_run_setup(
        self, handle: str, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]
    ) -> str:
        """Begin a partial run, as `master_session.MasterSession.partial_run_setup`."""
        requested = signature.Signature(tuple(feeds), tuple(fetches), tuple(targets))
        return self._sessions.get(handle).partial_run_setup(requested)

    def partial_run(
        self,
        handle: str,
        partial_run_handle: str,
        feeds: Mapping[str, Array],
        fetches: Sequence[str],
        options: interfaces.StepOptions,
        cancellation: cancellations.Cancellation | None = None,
    ) -> list[Array]:
        """Feed and fetch a portion of a partial run. The options act as in `run_step`."""
        session = self._sessions.get(handle)
        deadline = _deadline(session, options)
        return session.partial_runs.run(partial_run_handle, feeds, fetches, deadline, cancellation)

    def close_session(self, handle: str) -> None:
        """End a session. A step in flight raises CancelledError, unless it still succeeds."""
        self._sessions.close(handle)

    def reset(
        self,
        containers: Sequence[str],
        device_filters: Sequence[str] = (),
        timeout_ms: int = 0,
    ) -> None:
        """Close every session of this master, and clear `containers` on every task.

        If `containers` is empty, clear the default container of each task. With `device_filters`,
        clear only the tasks that they match, and the task of this master. Ignores `timeout_ms`.

        Raises:
            OpError: a task could not be cleared. All others are.
        """
        self._sessions.close_all()
        names = self._roll_call.chosen(device_filters)
        workers = [self._roll_call.worker(name) for name in names]
        cleared = self._calls.call(
            [functools.partial(each.cleanup_all, containers) for each in workers]
        )
        for name, each in zip(names, cleared, strict=True):
            try:
                each.result()
            except errors.OpError as fault:
                raise errors.from_code(fault.error_code, f"From {name}:\n{fault.message}") from None

    def list_devices(
        self, handle: str, cancellation: cancellations.Cancellation | None = None
    ) -> tuple[interfaces.Device, ...]:
        """Return the devices that the session may use, or those of all tasks if `handle` is empty.

        Blocks until every task has answered, if `handle` is empty.

        Raises:
            InvalidArgumentError: there is no such session.
            CancelledError: `cancellation` was set, or this master was closed, before all tasks
                had answered.
        """
        if not handle:
            tasks = self._roll_call.gather("ListDevices", config.SessionConfig(), cancellation)
            return tuple(device for task in tasks for device in task.status.devices)
        try:
            session = self._sessions.get(handle)
        except errors.AbortedError as unknown:
            raise errors.InvalidArgumentError(None, None, unknown.message) from None
        return session.list_devices()

    def close(self) -> None:
        """Close every session. End every call that waits for a task. Called when the task ends."""
        self._roll_call.close()
        self._sessions.close_all()
        self._calls.close()

    def _next_step(self) -> int:
        return self._epoch | (next(self._steps) & 0xFFFFFFFF)


def _deadline(
    session: master_session.MasterSession, options: interfaces.StepOptions
) -> float | None:
    asked, usual = options.timeout_ms, session.settings.operation_timeout_ms
    limit = asked if asked > 0 else usual
    return time.monotonic() + limit / 1000 if limit else None


def _signature(
    feeds: Iterable[str],
    fetches: Iterable[str],
    targets: Iterable[str],
    options: interfaces.StepOptions,
) -> signature.Signature:
    names = tuple(feeds), tuple(fetches), tuple(targets)
    return signature.Signature(*names, collective_graph_key=options.collective_graph_key)


def _log_placement(session: master_session.MasterSession, nodes: Sequence[node.Node]) -> None:
    if not session.settings.log_device_placement:
        return
    placement_log.report(session.placed(nodes), session.placement_notes)
