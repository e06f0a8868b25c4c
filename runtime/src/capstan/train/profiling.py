"""A hook that saves timelines of training steps (python/training/basic_session_run_hooks.py)."""

import os
from typing import Any

from capstan.api import logging
from capstan.client import timeline
from capstan.resources import file_names, files
from capstan.train import hook, steps, summary_writer, timer


class ProfilerHook(hook.SessionRunHook):
    """Traces a step every `save_steps` steps or `save_secs` seconds, and saves its timeline.

    The first trace is due one interval after the first run. The files in `output_dir` are called
    `timeline-<global step>.json` and have Chrome's trace format. The RunMetadata of the step also
    goes to the writer of FileWriterCache for that folder, under the tag `step_<global step>`, so
    that TensorBoard shows them beside the graph.

    Raises:
        ValueError: both intervals are given, or neither is.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str | os.PathLike[str] = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
    ) -> None:
        self._timer = timer.SecondOrStepTimer(save_secs, save_steps)
        self._output_dir = os.fspath(output_dir)
        self._show_dataflow = show_dataflow
        self._show_memory = show_memory

    def begin(self) -> None:
        """Find the global step.

        Raises:
            RuntimeError: the graph has no global step.
        """
        self._next_step: int | None = None
        self._global_step_tensor = steps.require_global_step("ProfilerHook")
        self._summary_writer = summary_writer.FileWriterCache.get(self._output_dir)

    def before_run(self, run_context: hook.SessionRunContext) -> hook.SessionRunArgs:
        from tensorboard.compat.proto import config_pb2

        self._is_due = self._next_step is not None and self._timer.should_trigger_for_step(
            self._next_step
        )
        options = None
        if self._is_due:
            options = config_pb2.RunOptions(trace_level=config_pb2.RunOptions.FULL_TRACE)
        return hook.SessionRunArgs(self._global_step_tensor, options=options)

    def after_run(
        self, run_context: hook.SessionRunContext, run_values: hook.SessionRunValues
    ) -> None:
        before = int(run_values.results)
        if self._next_step is None:
            self._timer.update_last_triggered_step(before)
        step = before + 1
        if self._is_due:
            step = int(run_context.session.run(self._global_step_tensor))
            self._timer.update_last_triggered_step(step)
            self._save(step, run_values.run_metadata.step_stats)
            self._summary_writer.add_run_metadata(run_values.run_metadata, f"step_{step}")
        self._next_step = step + 1

    def _save(self, step: int, step_stats: Any) -> None:
        path = file_names.joined(self._output_dir, f"timeline-{step}.json")
        logging.info("Saving timeline for %d into '%s'.", step, path)
        trace = timeline.Timeline(step_stats).generate_chrome_trace_format(
            self._show_dataflow, self._show_memory
        )
        files.write_all(path, trace.encode())
