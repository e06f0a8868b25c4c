"""Run monitors as hooks (contrib/learn/python/learn/monitors.py)."""

from collections.abc import Iterable
from typing import Any

from capstan.contrib.learn import monitors as monitors_of
from capstan.train import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    steps,
)


class RunHookAdapterForMonitors(SessionRunHook):
    """A hook that calls monitors."""

    def __init__(self, monitors: Iterable[monitors_of.BaseMonitor]) -> None:
        self._monitors = list(monitors)
        self._step: int | None = None
        self._wanted: list[Any] = []

    def begin(self) -> None:
        self._step = None
        self._global_step = steps.get_global_step()
        for monitor in self._monitors:
            monitor.begin(max_steps=None)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        if self._step is None:
            self._step = int(run_context.session.run(self._global_step)) + 1
        graph = run_context.session.graph
        wanted = [each for monitor in self._monitors for each in monitor.step_begin(self._step)]
        self._wanted = list(dict.fromkeys(wanted))
        tensors = [graph.as_graph_element(each) for each in self._wanted]
        return SessionRunArgs([self._global_step, *tensors])

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        assert self._step is not None
        outputs = dict(zip(self._wanted, run_values.results[1:], strict=True))
        stops = [monitor.step_end(self._step, outputs) for monitor in self._monitors]
        if any(stops):
            run_context.request_stop()
        for monitor in self._monitors:
            monitor.post_step(self._step, run_context.session)
        self._step += 1

    def end(self, session: Any) -> None:
        for monitor in self._monitors:
            monitor.end(session)


def replace_monitors_with_hooks(
    monitors_or_hooks: Iterable[Any] | None, estimator: Any
) -> list[SessionRunHook]:
    """Return the hooks, and one hook for all monitors.

    Workers other than the chief get few monitors.

    Raises:
        ValueError: one is neither a monitor nor a hook.
    """
    given = list(monitors_or_hooks or [])
    hooks = [each for each in given if isinstance(each, SessionRunHook)]
    monitors = [each for each in given if isinstance(each, monitors_of.BaseMonitor)]
    if len(hooks) + len(monitors) < len(given):
        raise ValueError(f"Monitors must be monitors or SessionRunHooks. Given: {given}")
    is_chief = estimator.config.is_chief
    monitors = [each for each in monitors if is_chief or each.run_on_all_workers]
    for monitor in monitors:
        monitor.set_estimator(estimator)
    return [*hooks, RunHookAdapterForMonitors(monitors)] if monitors else hooks
