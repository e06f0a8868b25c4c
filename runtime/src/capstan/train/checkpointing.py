"""The hook that saves checkpoints while a session trains (basic_session_run_hooks.py)."""

import os
from collections.abc import Sequence
from typing import Any

from capstan.api import logging
from capstan.framework import collections
from capstan.framework import graph as graphs
from capstan.train import hook, meta_graph, steps, summary_writer, timer


class CheckpointSaverListener:
    """A base class whose methods do nothing. The hook calls them in the session's thread."""

    def begin(self) -> None:
        """Called once, before the graph is finalized."""

    def before_save(self, session: Any, global_step_value: int) -> None:
        """Called before each checkpoint is written."""

    def after_save(self, session: Any, global_step_value: int) -> Any:
        """Called after each checkpoint is written. Return a true value to stop training."""

    def end(self, session: Any, global_step_value: int) -> None:
        """Called after the last checkpoint."""


class CheckpointSaverHook(hook.SessionRunHook):
    """Saves a checkpoint at the start of a session, at intervals, and at the end.

    The interval is `save_secs` seconds or `save_steps` global steps. The saver is `saver`, the
    saver of `scaffold`, or the only saver in the collection SAVERS.

    With each session, the hook also writes the graph to `graph.pbtxt` in the folder, and to the
    writer of FileWriterCache for the folder. This writer also notes each checkpoint.

    Raises:
        ValueError: both `saver` and `scaffold` are given, or both intervals, or no interval.
    """

    def __init__(
        self,
        checkpoint_dir: str,
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Any = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
        listeners: Sequence[CheckpointSaverListener] | None = None,
    ) -> None:
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._saver = saver
        self._scaffold = scaffold
        self._checkpoint_dir = checkpoint_dir
        self._save_path = os.path.join(checkpoint_dir, checkpoint_basename)
        self._timer = timer.SecondOrStepTimer(save_secs, save_steps)
        self._listeners = list(listeners or ())
        self._last_checkpoint_step: int | None = None

    @property
    def last_checkpoint_step(self) -> int | None:
        """The global step of the last checkpoint that this hook wrote. None before the first."""
        return self._last_checkpoint_step

    def begin(self) -> None:
        self._global_step_tensor = steps.require_global_step("CheckpointSaverHook")
        self._summary_writer = summary_writer.FileWriterCache.get(self._checkpoint_dir)
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._write_graphs()
        self._save_at(session, int(session.run(self._global_step_tensor)))

    def _write_graphs(self) -> None:
        """Write the graph. Only now is it final: other hooks may add operations in `begin`."""
        graph = graphs.get_default_graph()
        graph_def = graph.as_graph_def(add_shapes=True)
        meta_graph.write_graph(graph_def, self._checkpoint_dir, "graph.pbtxt")
        saver_def = self._get_saver().as_saver_def()
        meta = meta_graph.create_meta_graph_def(graph_def=graph_def, saver_def=saver_def)
        self._summary_writer.add_graph(graph)
        self._summary_writer.add_meta_graph(meta)

    def before_run(self, run_context: hook.SessionRunContext) -> hook.SessionRunArgs:
        return hook.SessionRunArgs(self._global_step_tensor)

    def after_run(
        self, run_context: hook.SessionRunContext, run_values: hook.SessionRunValues
    ) -> None:
        # `results` may be the global step before this run's update. If a save may be due, read the
        # global step again.
        if not self._timer.should_trigger_for_step(int(run_values.results) + 1):
            return
        step = int(run_context.session.run(self._global_step_tensor))
        if self._timer.should_trigger_for_step(step) and self._save_at(run_context.session, step):
            run_context.request_stop()

    def end(self, session: Any) -> None:
        last_step = self.save_newest(session)
        for listener in self._listeners:
            listener.end(session, last_step)

    def save_newest(self, session: Any) -> int:
        """Save the global step and return it. Do nothing if its checkpoint was the last one."""
        last_step = int(session.run(self._global_step_tensor))
        if last_step != self._timer.last_triggered_step():
            self._save_at(session, last_step)
        return last_step

    def _save_at(self, session: Any, step: int) -> bool:
        """Save, and start the next interval here: a subclass of a program may replace `_save`."""
        self._timer.update_last_triggered_step(step)
        return self._save(session, step)

    def _save(self, session: Any, step: int) -> bool:
        """Write a checkpoint and return whether a listener asks for a stop."""
        logging.info("Saving checkpoints for %d into %s.", step, self._save_path)
        for listener in self._listeners:
            listener.before_save(session, step)
        self._get_saver().save(session, self._save_path, global_step=step)
        self._last_checkpoint_step = step
        self._summary_writer.add_session_log(_checkpoint_log(self._save_path), step)
        # Build a list first, so that every listener is called, even if one has asked for a stop.
        stop_requests = [listener.after_save(session, step) for listener in self._listeners]
        return any(stop_requests)

    def _get_saver(self) -> Any:
        if self._saver is not None:
            return self._saver
        if self._scaffold is not None:
            return self._scaffold.saver
        key = collections.GraphKeys.SAVERS
        savers = graphs.get_default_graph().get_collection(key)
        if not savers:
            raise RuntimeError(
                f"No items in collection {key}. Please add a saver to the collection or provide a "
                "saver or scaffold."
            )
        if len(savers) > 1:
            raise RuntimeError(
                f"More than one item in collection {key}. Please indicate which one to use by "
                "passing it to the constructor."
            )
        self._saver = savers[0]
        return self._saver


def _checkpoint_log(path: str) -> Any:
    from tensorboard.compat.proto import event_pb2

    return event_pb2.SessionLog(status=event_pb2.SessionLog.CHECKPOINT, checkpoint_path=path)
