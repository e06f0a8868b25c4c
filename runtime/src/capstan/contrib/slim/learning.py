"""`slim.learning`: a training loop with a Supervisor (contrib/slim/python/slim/learning.py)."""

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from capstan import errors
from capstan.api import logging, logic_ops, math_ops, variable_collections
from capstan.api.lookup import factories
from capstan.contrib import train_ops
from capstan.contrib.slim.train_step import train_step as train_step
from capstan.contrib.train_ops import add_gradients_summaries as add_gradients_summaries
from capstan.contrib.train_ops import clip_gradient_norms as clip_gradient_norms
from capstan.contrib.train_ops import multiply_gradients as multiply_gradients
from capstan.framework import convert, grouping
from capstan.framework import graph as graphs
from capstan.train import optimizer as optimizers
from capstan.train import saver as savers
from capstan.train import steps, summary, supervisor, sync_replicas

_USE_DEFAULT: Any = 0
_SECONDS_BETWEEN_LOOKS = 1.0


def create_train_op(
    total_loss: Any,
    optimizer: Any,
    global_step: Any = _USE_DEFAULT,
    update_ops: Sequence[Any] | None = None,
    variables_to_train: Sequence[Any] | None = None,
    clip_gradient_norm: float = 0,
    summarize_gradients: bool = False,
    gate_gradients: int = optimizers.Optimizer.GATE_OP,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    gradient_multipliers: Mapping[Any, Any] | None = None,
    check_numerics: bool = True,
) -> Any:
    """Return a tensor that trains the variables by one step and gives the loss.

    A norm above 0 bounds each gradient. `gradient_multipliers` has factors for gradients, by
    variables or their names. `tf.contrib.training.create_train_op` describes the rest.
    """

    def transformed(pairs: Any) -> Any:
        graph = graphs.get_default_graph()
        if gradient_multipliers:
            with graph.name_scope("multiply_grads"):
                pairs = multiply_gradients(pairs, gradient_multipliers)
        if clip_gradient_norm > 0:
            with graph.name_scope("clip_grads"):
                pairs = clip_gradient_norms(pairs, clip_gradient_norm)
        return pairs

    return train_ops.create_train_op(
        total_loss, optimizer, global_step, update_ops, variables_to_train, transformed,
        summarize_gradients, gate_gradients, aggregation_method, colocate_gradients_with_ops,
        check_numerics,
    )  # fmt: skip


def train(
    train_op: Any,
    logdir: str | None,
    train_step_fn: Callable[..., Any] = train_step,
    train_step_kwargs: Any = _USE_DEFAULT,
    log_every_n_steps: int = 1,
    graph: Any = None,
    master: str = "",
    is_chief: bool = True,
    global_step: Any = None,
    number_of_steps: int | None = None,
    init_op: Any = _USE_DEFAULT,
    init_feed_dict: Any = None,
    local_init_op: Any = _USE_DEFAULT,
    init_fn: Callable[[Any], Any] | None = None,
    ready_op: Any = _USE_DEFAULT,
    summary_op: Any = _USE_DEFAULT,
    save_summaries_secs: float = 600,
    summary_writer: Any = _USE_DEFAULT,
    startup_delay_steps: int = 0,
    saver: Any = None,
    save_interval_secs: float = 600,
    sync_optimizer: Any = None,
    session_config: Any = None,
    session_wrapper: Callable[[Any], Any] | None = None,
    trace_every_n_steps: int | None = None,
    ignore_live_threads: bool = False,
) -> Any:
    """Run `train_step_fn` until it says to stop, and return the last loss.

    Without `number_of_steps`, the training ends when the input ends. The chief writes checkpoints
    and summaries to `logdir`, and a last checkpoint at the end. A session that is aborted, because
    a task was restarted, is replaced by a new session. Blocks.

    Raises:
        ValueError: `train_op` is missing, or arguments do not go together.
    """
    sync = [sync_optimizer] if _is_sync(sync_optimizer) else sync_optimizer
    _check(train_op, logdir, summary_op, saver, trace_every_n_steps, sync, startup_delay_steps,
           number_of_steps)  # fmt: skip
    graph = graph or graphs.get_default_graph()
    with graph.as_default():
        if global_step is None:
            global_step = steps.get_or_create_global_step()
        saver = saver or savers.Saver()
        with graph.name_scope("init_ops"):
            inits = _inits(init_op, ready_op, local_init_op, sync, is_chief)
        if summary_op is _USE_DEFAULT:
            summary_op = summary.merge_all()
        if summary_writer is _USE_DEFAULT:
            summary_writer = supervisor.Supervisor.USE_DEFAULT
        chief_of = (sync or ()) if is_chief else ()
        tokens = [each.get_init_tokens_op() for each in chief_of]
        runners = [each.get_chief_queue_runner() for each in chief_of]
        if train_step_kwargs is _USE_DEFAULT:
            with graph.name_scope("train_step"):
                train_step_kwargs = _step_arguments(
                    global_step, number_of_steps, log_every_n_steps,
                    trace_every_n_steps if is_chief else None, logdir,
                )  # fmt: skip
    sv = supervisor.Supervisor(
        graph=graph, is_chief=is_chief, logdir=logdir, init_feed_dict=init_feed_dict,
        summary_op=summary_op, summary_writer=summary_writer, global_step=global_step, saver=saver,
        save_summaries_secs=save_summaries_secs, save_model_secs=save_interval_secs,
        init_fn=init_fn, **inits,
    )  # fmt: skip
    if summary_writer is not None:
        train_step_kwargs["summary_writer"] = sv.summary_writer
    loop = _Loop(
        sv, lambda session: train_step_fn(session, train_op, global_step, train_step_kwargs),
        global_step, tokens, runners, min(startup_delay_steps, number_of_steps or sys.maxsize),
        session_wrapper, ignore_live_threads,
    )  # fmt: skip
    while True:
        try:
            return loop.run(master, session_config)
        except errors.AbortedError:
            logging.info("Retrying training!")


@dataclasses.dataclass(frozen=True)
class _Loop:
    """The steps of one task, in the sessions of a Supervisor."""

    sv: Any
    step: Callable[[Any], Any]
    global_step: Any
    tokens: Sequence[Any]
    runners: Sequence[Any]
    first_step: int
    wrapper: Callable[[Any], Any] | None
    ignore_live_threads: bool

    def run(self, master: str, config: Any) -> Any:
        """Run steps in a new session until one says to stop or the input ends."""
        sv = self.sv
        managed = sv.managed_session(master, start_standard_services=False, config=config)
        with managed as unwrapped:
            logging.info("Starting Session.")
            session = unwrapped if self.wrapper is None else self.wrapper(unwrapped)
            threads = self._start(session)
            loss = self._steps(session)
            if sv.save_path and sv.is_chief:
                logging.info("Finished training! Saving model to disk.")
                sv.saver.save(session, sv.save_path, global_step=sv.global_step)
                sv.stop(
                    threads,
                    close_summary_writer=True,
                    ignore_live_threads=self.ignore_live_threads,
                )
        return loss

    def _start(self, session: Any) -> list[Any]:
        """Start the threads of this task. Tasks that are not the chief may begin later."""
        if not self.sv.is_chief:
            while steps.global_step(session, self.global_step) < self.first_step:
                self.sv.coord.wait_for_stop(_SECONDS_BETWEEN_LOOKS)
        elif self.sv.save_path:
            self.sv.start_standard_services(session)
        threads = list(self.sv.start_queue_runners(session))
        if self.tokens:
            self.sv.start_queue_runners(session, self.runners)
            session.run(self.tokens)
        return threads

    def _steps(self, session: Any) -> Any:
        loss = None
        try:
            while not self.sv.should_stop():
                loss, should_stop = self.step(session)
                if should_stop:
                    logging.info("Stopping Training.")
                    self.sv.request_stop()
                    break
        except errors.OutOfRangeError as error:
            logging.info("Caught OutOfRangeError. Stopping Training. %s", error)
        return loss


def _is_sync(value: Any) -> bool:
    return isinstance(value, sync_replicas.SyncReplicasOptimizer)


def _check(
    train_op: Any, logdir: Any, summary_op: Any, saver: Any, trace_every: Any, sync: Any,
    delay: int, number_of_steps: Any,
) -> None:  # fmt: skip
    if train_op is None:
        raise ValueError("train_op cannot be None.")
    if logdir is None:
        for name, is_given in (
            ("summary_op", summary_op is not _USE_DEFAULT and summary_op is not None),
            ("saver", saver is not None),
            ("trace_every_n_steps", trace_every is not None),
        ):
            if is_given:
                raise ValueError(f"Cannot provide {name} because logdir=None")
    if sync is not None and delay > 0:
        raise ValueError("startup_delay_steps must be zero when sync_optimizer is supplied.")
    if not all(_is_sync(each) for each in sync or ()):
        raise ValueError("`sync_optimizer` must be a tf.train.SyncReplicasOptimizer.")
    if number_of_steps is not None and number_of_steps <= 0:
        raise ValueError("`number_of_steps` must be either None or a positive number.")


def _inits(
    init_op: Any, ready_op: Any, local_init_op: Any, sync: Any, is_chief: bool
) -> dict[str, Any]:
    """Return the operations with which a Supervisor initializes a model."""
    if init_op is _USE_DEFAULT:
        init_op = variable_collections.global_variables_initializer()
    if ready_op is _USE_DEFAULT:
        ready_op = variable_collections.report_uninitialized_variables()
    if local_init_op is _USE_DEFAULT:
        local_init_op = grouping.group(
            variable_collections.local_variables_initializer(), factories.tables_initializer()
        )
    ready_for_local = None
    if sync:
        before = [] if local_init_op is None else [local_init_op]
        with graphs.get_default_graph().control_dependencies(before):
            local_init_op = grouping.group(
                *(each.chief_init_op if is_chief else each.local_step_init_op for each in sync)
            )
        ready_for_local = grouping.group(*(each.ready_for_local_init_op for each in sync))
    return {
        "init_op": init_op, "ready_op": ready_op, "local_init_op": local_init_op,
        "ready_for_local_init_op": ready_for_local,
    }  # fmt: skip


def _step_arguments(
    global_step: Any, number_of_steps: Any, log_every: int, trace_every: Any, logdir: Any
) -> dict[str, Any]:
    """Return the default tensors that `train_step` looks at."""
    should_stop = (
        logic_ops.greater_equal(global_step, number_of_steps)
        if number_of_steps
        else convert.constant(False)
    )
    arguments = {"should_stop": should_stop}
    if log_every > 0:
        arguments["should_log"] = logic_ops.equal(math_ops.mod(global_step, log_every), 0)
    if trace_every is not None:
        arguments["should_trace"] = logic_ops.equal(math_ops.mod(global_step, trace_every), 0)
        arguments["logdir"] = logdir
    return arguments
