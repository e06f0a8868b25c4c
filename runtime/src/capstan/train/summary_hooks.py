"""The hook that writes summaries while a session trains (basic_session_run_hooks.py)."""

from collections.abc import Iterator
from typing import Any

from capstan.framework import graph as graphs
from capstan.train import hook, scaffold, steps, summary_writer, timer


class SummarySaverHook(hook.SessionRunHook):
    """Runs summary operations every `save_steps` steps or `save_secs` seconds, and writes them.

    The summaries are `summary_op`, a tensor or a list of tensors, or the `summary_op` of
    `scaffold`. They are also written in the first run. The writer is `summary_writer`, or the
    writer of FileWriterCache for the folder `output_dir`. If there is neither, nothing is written.

    Raises:
        ValueError: both `scaffold` and `summary_op` are given or neither is, or both intervals are
            given or neither is.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: Any = None,
        scaffold: "scaffold.Scaffold | None" = None,
        summary_op: Any = None,
    ) -> None:
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._summary_op = summary_op
        self._summary_writer = summary_writer
        self._output_dir = output_dir
        self._scaffold = scaffold
        self._timer = timer.SecondOrStepTimer(save_secs, save_steps)

    def begin(self) -> None:
        """Open the writer and find the global step.

        Raises:
            RuntimeError: the graph has no global step.
        """
        self._global_step_tensor = steps.require_global_step("SummarySaverHook")
        # The sum is a new tensor. A plain read may share the memory that the run updates.
        with graphs.get_default_graph().control_dependencies(None):
            self._step_before = self._global_step_tensor + 0
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = summary_writer.FileWriterCache.get(self._output_dir)
        self._next_step: int | None = None

    def before_run(self, run_context: hook.SessionRunContext) -> hook.SessionRunArgs:
        self._is_due = self._next_step is None or self._timer.should_trigger_for_step(
            self._next_step
        )
        fetches: dict[str, Any] = {"global_step": self._step_before}
        if self._is_due and (summaries := list(self._summaries())):
            fetches["summary"] = summaries
        return hook.SessionRunArgs(fetches)

    def after_run(
        self, run_context: hook.SessionRunContext, run_values: hook.SessionRunValues
    ) -> None:
        if self._summary_writer is None:
            return
        step = int(run_values.results["global_step"]) + 1
        if self._next_step is None or self._is_due:
            # The value that this run returned may be older than the update of the run.
            step = int(run_context.session.run(self._global_step_tensor))
        if self._next_step is None:
            self._write_start(step)
        if self._is_due:
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summary", ()):
                self._summary_writer.add_summary(summary, step)
        self._next_step = step + 1

    def end(self, session: Any) -> None:
        if self._summary_writer is not None:
            self._summary_writer.flush()

    def _summaries(self) -> Iterator[Any]:
        summaries = self._summary_op
        if summaries is None and self._scaffold is not None:
            summaries = self._scaffold.summary_op
        if isinstance(summaries, list | tuple):
            yield from summaries
        elif summaries is not None:
            yield summaries

    def _write_start(self, step: int) -> None:
        from tensorboard.compat.proto import event_pb2

        log = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
        self._summary_writer.add_session_log(log, step)
