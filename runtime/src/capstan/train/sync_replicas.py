"""Synchronous training with several replicas (python/training/sync_replicas_optimizer.py).

Each replica adds its gradients to accumulators, one for each variable. The chief's queue runner
waits for enough gradients, updates the variables with their means, and puts tokens into a queue.
A replica takes a token before it begins its next step.
"""

import contextlib
from collections.abc import Callable, Iterable
from typing import Any

from capstan.api import (
    accumulators,
    array_ops,
    control_flow_ops,
    data_flow_ops,
    logging,
    math_ops,
    state_ops,
    variable_collections,
    variables,
)
from capstan.core import dtypes
from capstan.framework import collections, indexed_slices
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.train import hook, optimizer, queue_runner, sync_replicas_hook


class SyncReplicasOptimizer(optimizer.Optimizer):
    """Updates variables with the mean of the gradients of `replicas_to_aggregate` batches.

    `opt` computes and applies the gradients. If `total_num_replicas` is greater than
    `replicas_to_aggregate`, the other replicas are backups: the first gradients of each step count,
    and later ones are dropped. If it is less, replicas compute several batches for each update.

    `variable_averages` is an ExponentialMovingAverage that is applied to `variables_to_average`
    after each update. Not thread-safe.

    Without `stall_timeout_secs`, an update waits for its gradients as long as that takes, so a dead
    replica ends the progress of all others if there is no backup. TensorFlow always does this. With
    `stall_timeout_secs`, an update waits at most this time after its first gradient. It then takes
    the mean of the gradients that have arrived. Later updates need `replicas_to_aggregate`
    gradients again: the live replicas also compute the batches of the dead replica, so a dead
    replica delays training only once. A replica that continues or restarts takes part again. Its
    gradients of earlier steps are dropped. `stall_timeout_secs` should be longer than a replica
    needs for a batch.

    Raises:
        ValueError: `stall_timeout_secs` is negative.
    """

    def __init__(
        self,
        opt: optimizer.Optimizer,
        replicas_to_aggregate: int,
        total_num_replicas: int | None = None,
        variable_averages: Any = None,
        variables_to_average: Any = None,
        use_locking: bool = False,
        name: str = "sync_replicas",
        stall_timeout_secs: float | None = None,
    ) -> None:
        if stall_timeout_secs is not None and stall_timeout_secs < 0:
            raise ValueError(
                "stall_timeout_secs must be 0 or more, or None to wait for all gradients: "
                f"{stall_timeout_secs}"
            )
        super().__init__(use_locking, name)
        total = replicas_to_aggregate if total_num_replicas is None else total_num_replicas
        logging.info(
            "SyncReplicasV2: replicas_to_aggregate=%s; total_num_replicas=%s",
            replicas_to_aggregate,
            total,
        )
        self._opt = opt
        self._replicas_to_aggregate = replicas_to_aggregate
        self._total_num_replicas = total
        self._variable_averages = variable_averages
        self._variables_to_average = variables_to_average
        self._timeout_ms = None if stall_timeout_secs is None else round(stall_timeout_secs * 1000)
        self._chief_queue_runner: queue_runner.QueueRunner | None = None

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """Return the gradients that `opt` computes from the batch of this replica."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        global_step: Any = None,
        name: str | None = None,
    ) -> Any:
        """Return the train op of a replica: add the gradients, then wait for a token.

        The chief's queue runner adds one to `global_step` with each update. `name` has no effect.

        This method sets `local_step_init_op`, `chief_init_op` and `ready_for_local_init_op`, for
        programs that do not use the hook.

        Raises:
            ValueError: there are no variables, no global step, or a gradient is neither a Tensor
                nor an IndexedSlices.
        """
        pairs = list(grads_and_vars or ())
        if not pairs:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        graph = graphs.get_default_graph()
        self._global_step = global_step
        self._local_step = _local_step(graph, global_step)
        self.local_step_init_op = state_ops.assign(self._local_step, global_step)
        self.ready_for_local_init_op = variable_collections.report_uninitialized_variables(
            variable_collections.global_variables()
        )
        with graph.name_scope(self._name):
            return self._synchronised(graph, pairs)

    def _synchronised(self, graph: graphs.Graph, pairs: list[tuple[Any, Any]]) -> Any:
        made = [self._accumulated(graph, grad, var) for grad, var in pairs]
        added = [add for _, add, _ in made if add is not None]
        means = [(mean, var) for (_, _, mean), (_, var) in zip(made, pairs, strict=True)]
        with self._beside_global_step(graph):
            update = self._opt.apply_gradients(means, self._global_step)
        with self._beside_global_step(graph):
            self._tokens = self._queue(self._global_step.dtype.base_dtype, -1, "sync_token_q")
            # The queue runner closes its queue when the chief ends. The tokens must stay usable
            # for the next chief, so the queue runner gets a queue that nothing else uses.
            unused = self._queue(dtypes.int32, 1, "dummy_queue")
        with self._beside_global_step(graph):
            with graph.control_dependencies(added):
                token = self._tokens.dequeue()
            train_op = state_ops.assign(self._local_step, self._step_of(graph, token))
            with graph.control_dependencies([update]):
                released = self._released(self._tokens_of_an_update())
            if self._variable_averages is not None:
                with graph.control_dependencies([released]), graph.name_scope(""):
                    released = self._variable_averages.apply(self._variables_to_average)
            self._chief_queue_runner = queue_runner.QueueRunner(unused, [released])
        initial: list[Any] = [self.local_step_init_op]
        for (accumulator, _, _), (_, var) in zip(made, pairs, strict=True):
            if accumulator is not None:
                with graph.device(var.device):
                    step = accumulator.set_global_step(self._global_step, name="SetGlobalStep")
                    initial.append(step)
        self.chief_init_op = control_flow_ops.group(*initial)
        return train_op

    def _accumulated(self, graph: graphs.Graph, grad: Any, var: Any) -> tuple[Any, Any, Any]:
        """Return the accumulator of a variable, the op that adds `grad`, and the mean gradient."""
        step = self._local_step
        shared_name = f"{var.name}/grad_accum"
        if grad is None:
            return None, None, None
        with graph.device(var.device):
            if isinstance(grad, graphs.Tensor):
                dense = accumulators.ConditionalAccumulator(
                    grad.dtype, shape=var.get_shape(), shared_name=shared_name
                )
                added = dense.apply_grad(grad, local_step=step)
                return dense, added, self._taken(dense.take_grad, dense.take_grad_up_to)
            if not isinstance(grad, indexed_slices.IndexedSlices):
                raise ValueError("Unknown grad type!")  # noqa: TRY004, TensorFlow's
            sparse = accumulators.SparseConditionalAccumulator(
                grad.dtype, shape=(), shared_name=shared_name
            )
            added = sparse.apply_indexed_slices_grad(grad, local_step=step)
            mean = self._taken(
                sparse.take_indexed_slices_grad, sparse.take_indexed_slices_grad_up_to
            )
            return sparse, added, mean

    def _taken(self, take: Callable[..., Any], take_up_to: Callable[..., Any]) -> Any:
        """Return the mean gradient. `take` waits without a limit, and `take_up_to` with a limit."""
        if self._timeout_ms is None:
            return take(self._replicas_to_aggregate)
        return take_up_to(self._replicas_to_aggregate, self._timeout_ms)

    def _beside_global_step(self, graph: graphs.Graph) -> Any:
        """Return a block whose operations are on the global step's device and in no name scope."""
        stack = contextlib.ExitStack()
        stack.enter_context(graph.device(self._global_step.device))
        stack.enter_context(graph.name_scope(""))
        return stack

    def _queue(self, dtype: dtypes.DType, capacity: int, name: str) -> data_flow_ops.FIFOQueue:
        return data_flow_ops.FIFOQueue(capacity, dtype, shapes=(), name=name, shared_name=name)

    def _released(self, count: int) -> Any:
        """Return an op that puts `count` tokens into the queue. A token is the global step.

        With a time limit, tokens of replicas that are gone stay in the queue. The op then only
        fills the queue up to `count` tokens.
        """
        # The tokens may be made on a GPU. A copy of the variable to the GPU may come before the
        # update, so the step is read here, after the update.
        step = self._global_step.read_value()
        if self._timeout_ms is None:
            return self._tokens.enqueue_many((raw.Fill([count], step),))
        missing = math_ops.maximum(count - self._tokens.size(), 0)
        tokens = raw.Fill(array_ops.expand_dims(missing, 0), step)
        return self._tokens.enqueue_many((tokens,))

    def _step_of(self, graph: graphs.Graph, token: Any) -> Any:
        """Return the step of the gradients that a replica computes after it has taken `token`."""
        if self._timeout_ms is None:
            return token
        # A token that no replica took in its own step names an earlier step.
        with graph.control_dependencies([token]):
            return self._global_step.read_value()

    def get_chief_queue_runner(self) -> queue_runner.QueueRunner:
        """Return the queue runner that the chief starts. It updates the variables.

        Raises:
            ValueError: `apply_gradients` was not called.
        """
        if self._chief_queue_runner is None:
            raise ValueError("Should be called after apply_gradients().")
        return self._chief_queue_runner

    def get_init_tokens_op(self, num_tokens: int = -1) -> Any:
        """Return an op with which the chief puts the first tokens into the queue.

        With -1, there are `replicas_to_aggregate` tokens. Gradients of these tokens' step that come
        after its update are dropped.

        Raises:
            ValueError: `apply_gradients` was not called, or the tokens are too few for the replicas
                to compute all batches of the first update.
        """
        if self._chief_queue_runner is None:
            raise ValueError("get_init_tokens_op() should be called after apply_gradients().")
        needed = self._replicas_to_aggregate - self._total_num_replicas
        if num_tokens == -1:
            num_tokens = self._replicas_to_aggregate
        elif num_tokens < needed:
            raise ValueError(
                "Too few tokens to finish the first step: "
                f"{num_tokens} (given) vs {needed} (needed)"
            )
        if num_tokens <= 0:
            return control_flow_ops.no_op(name="no_init_tokens")
        with self._beside_global_step(graphs.get_default_graph()):
            return self._released(num_tokens)

    def get_last_tokens_op(self) -> Any:
        """Return an op with which the chief releases the replicas that wait when it ends.

        TensorFlow has no such op. The hook of the chief runs it. A program that has no hook may run
        it before it closes its session. The next chief finds the tokens that no replica took, and
        drops the gradients of their steps.

        Raises:
            ValueError: `apply_gradients` was not called.
        """
        if self._chief_queue_runner is None:
            raise ValueError("get_last_tokens_op() should be called after apply_gradients().")
        with self._beside_global_step(graphs.get_default_graph()):
            return self._released(self._tokens_of_an_update())

    def _tokens_of_an_update(self) -> int:
        return max(self._total_num_replicas, self._replicas_to_aggregate)

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> hook.SessionRunHook:
        """Return the hook with which a monitored session trains synchronously.

        The hook sets the local step. In the chief it also puts `num_tokens` tokens into the queue
        and starts the queue runner.
        """
        return sync_replicas_hook.SyncReplicasHook(self, is_chief, num_tokens)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> list[Any]:
        """Return the variables of `opt`. The local step is not one of them."""
        return self._opt.variables()


def _local_step(graph: graphs.Graph, global_step: Any) -> variables.Variable:
    """Return a local variable on the device of the replica, even within a device setter."""
    with graph.colocate_with(control_flow_ops.no_op()):
        return variables.Variable(
            0,
            trainable=False,
            collections=[collections.GraphKeys.LOCAL_VARIABLES],
            dtype=global_step.dtype.base_dtype,
            name="sync_rep_local_step",
        )
