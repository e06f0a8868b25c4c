"""`CheckpointInputPipelineHook` (python/data/experimental/ops/iterator_ops.py)."""

from typing import Any

from capstan.api import data_iterators, data_saveable
from capstan.framework import graph as graphs
from capstan.train import checkpoint_state, checkpointing, hook, saver


class CheckpointInputPipelineHook(hook.SessionRunHook):
    """Saves the places of the iterators of a graph, so that training goes on with the next element.

    The checkpoints are in the folder of the estimator, apart from those of the model, and have the
    same intervals. With several workers, each worker has checkpoints of its own. The hook restores
    the newest checkpoint before the first step of a session, or saves the first one.
    """

    def __init__(self, estimator: Any) -> None:
        config = estimator.config
        prefix = "input"
        if config.num_worker_replicas > 1:
            prefix += f"_{config.task_type}_{config.task_id}"
        self._folder = estimator.model_dir
        self._latest_filename = f"checkpoint_{prefix}"
        self._interval = config.save_checkpoints_secs, config.save_checkpoints_steps
        self._basename = f"{prefix}.ckpt"
        self._is_first_run = True

    def begin(self) -> None:
        handles = graphs.get_default_graph().get_collection(data_iterators.GLOBAL_ITERATORS)
        places = [data_saveable.IteratorSaveable(handle) for handle in handles]
        self._saver = _InputSaver(places, self._latest_filename)
        # An estimator adds a hook for its model unless there is a CheckpointSaverHook, so this
        # hook holds one and is none.
        self._saving = checkpointing.CheckpointSaverHook(
            self._folder, *self._interval, self._saver, self._basename
        )
        self._saving.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        # The initializers of the iterators may still have to run.
        self._is_first_run = True

    def before_run(self, run_context: hook.SessionRunContext) -> hook.SessionRunArgs:
        if self._is_first_run:
            self._is_first_run = False
            self._start(run_context.session)
        return self._saving.before_run(run_context)

    def _start(self, session: Any) -> None:
        latest = checkpoint_state.latest_checkpoint(self._folder, self._latest_filename)
        if latest is None:
            self._saving.save_newest(session)
        else:
            self._saver.restore(session, latest)

    def after_run(
        self, run_context: hook.SessionRunContext, run_values: hook.SessionRunValues
    ) -> None:
        self._saving.after_run(run_context, run_values)

    def end(self, session: Any) -> None:
        self._saving.end(session)


class _InputSaver(saver.Saver):
    """A saver with a state file of its own."""

    def __init__(self, var_list: Any, latest_filename: str) -> None:
        super().__init__(var_list)
        self._state_file = latest_filename

    def save(
        self,
        sess: Any,
        save_path: str,
        global_step: Any = None,
        latest_filename: str | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> str | None:
        latest = latest_filename or self._state_file
        return super().save(sess, save_path, global_step, latest, *args, **kwargs)
