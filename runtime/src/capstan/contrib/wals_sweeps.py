"""The sweeps over rows and columns in which `WALSMatrixFactorization` trains.

Checkpoints have the state of the sweep, so that a job that starts again goes on with it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from capstan.api import (
    context,
    control_flow_ops,
    creation_ops,
    logging,
    math_ops,
    reduce_ops,
    state_ops,
    variables,
)
from capstan.core import dtypes
from capstan.framework.raw import raw
from capstan.train import hook, steps, summary

COMPLETED_SWEEPS = "completed_sweeps"
LOSS = "WALS_loss"
RWSE = "WALS_RWSE"


class Axis(NamedTuple):
    """The operations of an axis: one that forgets which items it has seen, and a step."""

    reset: Any
    step: Any


class Progress:
    """The variables that tell how far a sweep has come, in the default graph."""

    def __init__(self) -> None:
        self.is_row_sweep = _state(True, "is_row_sweep")
        self.is_done = _state(False, "is_sweep_done")
        self.completed = _state(0, COMPLETED_SWEEPS)
        self.loss = _state(0.0, LOSS)
        self._error = _state(0.0, RWSE)
        summary.scalar("loss", self.loss)
        summary.scalar("root_weighted_squared_error", self._error)
        summary.scalar("completed_sweeps", self.completed)

    def axis(self, name: str, count: int, batch: Any, update: Any) -> Axis:
        """Return the operations of an axis of `count` items.

        `batch` is a SparseTensor of some of them, and `update` the result of
        `WALSModel.update_row_factors` for this batch.
        """
        seen = _state(creation_ops.fill([count], False), f"processed_{name}")
        _, step, loss, penalty, total = update
        items = batch.indices[:, 0]
        results = [
            step,
            state_ops.assign(self.loss, loss + penalty),
            state_ops.assign(self._error, raw.Sqrt(loss / total)),
        ]
        with context.control_dependencies(results), context.colocate_with(seen):
            marked = state_ops.scatter_update(
                seen, items, creation_ops.ones_like(items, dtypes.bool_),
                name=f"update_processed_{name}_indices",
            )  # fmt: skip
        with context.control_dependencies([marked]):
            # Another device could read the variable itself before the change.
            is_done = reduce_ops.reduce_all(marked)
            group = control_flow_ops.group(
                state_ops.assign(self.is_done, is_done),
                state_ops.assign_add(self.completed, math_ops.cast(is_done, dtypes.int32)),
                name=f"{name}_sweep_train_op",
            )
        return Axis(seen.initializer, group)


def _state(value: Any, name: str) -> Any:
    return variables.Variable(value, trainable=False, name=name)


class SweepHook(hook.SessionRunHook):
    """Lets a step train rows or columns, and prepares the model at the start of a sweep.

    `init` is run once in a process. `rows` and `columns` are the operations of the axis, and those
    that run one after another before its sweep.
    """

    def __init__(
        self,
        progress: Progress,
        init: Any,
        rows: tuple[Axis, Sequence[Any]],
        columns: tuple[Axis, Sequence[Any]],
    ) -> None:
        self._progress, self._init = progress, init
        self._axes = {True: rows, False: columns}
        self._switch = control_flow_ops.group(
            state_ops.assign(progress.is_row_sweep, raw.LogicalNot(progress.is_row_sweep)),
            rows[0].reset,
            columns[0].reset,
            name="sweep_switch_op",
        )
        self._is_prepared = False

    def before_run(self, run_context: hook.SessionRunContext) -> hook.SessionRunArgs:
        session = run_context.session
        is_done = session.run(self._progress.is_done)
        if not self._is_prepared:
            session.run(self._init)
        if is_done:
            logging.info("SweepHook starting the next sweep.")
            session.run(self._switch)
        axis, first = self._axes[bool(session.run(self._progress.is_row_sweep))]
        if is_done or not self._is_prepared:
            for operation in first:
                session.run(operation)
        self._is_prepared = True
        return hook.SessionRunArgs([axis.step])


class StepHook(hook.SessionRunHook):
    """Adds 1 to the global step before each step of training."""

    def __init__(self) -> None:
        self._add = state_ops.assign_add(steps.get_global_step(), 1, name="global_step_incr").op

    def before_run(self, run_context: hook.SessionRunContext) -> None:
        run_context.session.run(self._add)


class StopAtSweepHook(hook.SessionRunHook):
    """Stops training after a number of sweeps."""

    def __init__(self, progress: Progress, last_sweep: int) -> None:
        self._completed, self._last = progress.completed, last_sweep

    def before_run(self, run_context: hook.SessionRunContext) -> hook.SessionRunArgs:
        return hook.SessionRunArgs(self._completed)

    def after_run(
        self, run_context: hook.SessionRunContext, run_values: hook.SessionRunValues
    ) -> None:
        if run_values.results >= self._last:
            run_context.request_stop()
