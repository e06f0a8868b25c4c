"""`tf.contrib.opt.ModelAverageOptimizer` (contrib/opt/python/training)."""

from collections.abc import Iterable
from typing import Any

from capstan.api import (
    accumulators,
    control_flow_ops,
    creation_ops,
    data_flow_ops,
    math_ops,
    state_ops,
    variable_collections,
)
from capstan.contrib.opt import center_variables
from capstan.contrib.opt.center_variables import GLOBAL_VARIABLE_NAME as GLOBAL_VARIABLE_NAME
from capstan.core import dtypes
from capstan.framework import graph as graphs
from capstan.train import hook, optimizer


class ModelAverageCustomGetter(center_variables.CenterGetter):
    """The custom getter of the variables that a `ModelAverageOptimizer` trains.

    A trainable variable of `tf.get_variable` becomes a local variable on `worker_device`. Its
    center variable, `global_center_variable/<name>`, is a global variable. Open the scope within
    the `tf.device` block of a `tf.train.replica_device_setter`, which places center variables on
    parameter servers.
    """

    def __init__(self, worker_device: str) -> None:
        super().__init__(worker_device)
        self._local_2_global = self._global_map


class ModelAverageOptimizer(optimizer.Optimizer):
    """Model averaging: workers train alone, and average their variables from time to time.

    Each worker trains variables of its own with `opt`. After each `interval_steps` steps, the
    workers wait for each other. The chief sets the center variables on the parameter servers to the
    means of the workers' variables, and all workers continue from these means. The global step
    counts the averages.
    """

    def __init__(
        self,
        opt: optimizer.Optimizer,
        num_worker: int,
        is_chief: bool,
        ma_custom_getter: ModelAverageCustomGetter,
        interval_steps: int = 100,
        use_locking: bool = True,
        name: str = "ModelAverageOptimizer",
    ) -> None:
        """Make an optimizer for one of `num_worker` workers. One of them is the chief."""
        super().__init__(use_locking, name)
        self._opt, self._num_worker, self._is_chief = opt, num_worker, is_chief
        self._local_2_global = ma_custom_getter._local_2_global
        self._interval_steps = interval_steps
        self._chief_init_op: graphs.Operation | None = None
        self._local_step = center_variables.local_step()

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """Do what the wrapped optimizer does."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        global_step: Any = None,
        name: str | None = None,
    ) -> Any:
        """Return a step of this worker. Each `interval_steps`-th step waits for the average.

        An average adds one to `global_step`. `name` has no effect.

        Raises:
            ValueError: there are no variables, all gradients are None, there is no global step, or
                the custom getter did not make a variable.
        """
        pairs = list(grads_and_vars or ())
        if not pairs:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required")
        chosen = [var for grad, var in pairs if grad is not None]
        centers = self._centers(chosen)
        with center_variables.local_variables_only():
            applied = self._opt.apply_gradients(pairs)
        sums = self._accumulators(centers, global_step)
        queues = _token_queues(global_step)

        def average() -> graphs.Operation:
            synchronised = self._synchronised(chosen, centers, sums, queues, global_step)
            with graphs.get_default_graph().control_dependencies([synchronised]):
                return control_flow_ops.group(*center_variables.copied(chosen, centers))

        return center_variables.each(self._interval_steps, self._local_step, [applied], average)

    def _accumulators(
        self, centers: list[Any], global_step: Any
    ) -> list[accumulators.ConditionalAccumulator]:
        """Return the sums of the workers' variables, which the workers share.

        After a restart, the chief sets their steps to the global step.
        """
        graph, sums, ready = graphs.get_default_graph(), [], []
        for center in centers:
            with graph.device(center.device), graph.name_scope(f"{self._name}/global"):
                accumulator = accumulators.ConditionalAccumulator(
                    center.dtype.base_dtype,
                    shape=center.get_shape(),
                    shared_name=f"{center.name}/var_accum",
                )
                sums.append(accumulator)
                ready.append(accumulator.set_global_step(global_step, name="SetGlobalStep"))
        self._chief_init_op = control_flow_ops.group(*ready)
        return sums

    def _synchronised(
        self,
        chosen: list[Any],
        centers: list[Any],
        sums: list[Any],
        queues: list[Any],
        global_step: Any,
    ) -> Any:
        """Return an operation that ends when the centers are the means of all workers."""
        graph = graphs.get_default_graph()
        step = global_step.read_value()
        added = []
        for var, accumulator in zip(chosen, sums, strict=True):
            value = var.read_value()
            with graph.colocate_with(accumulator.accumulator_ref.op):
                added.append(accumulator.apply_grad(value, local_step=step))
        with graph.device(global_step.device):
            tokens = data_flow_ops.QueueBase.from_list(math_ops.mod(step, 2), queues)
        if not self._is_chief:
            with graph.control_dependencies(added), graph.device(global_step.device):
                return tokens.dequeue()
        updated = []
        with graph.control_dependencies(added):
            for center, accumulator in zip(centers, sums, strict=True):
                with graph.device(center.device):
                    mean = accumulator.take_grad(self._num_worker)
                    updated.append(state_ops.assign(center, mean).op)
        with graph.control_dependencies(updated), graph.device(global_step.device):
            counted = state_ops.assign_add(global_step, 1).op
            with graph.control_dependencies([counted]):
                others = creation_ops.fill([self._num_worker - 1], False)
                return tokens.enqueue_many((others,))

    def get_init_op(self) -> graphs.Operation:
        """Return an operation that sets the worker's variables to the values of their centers.

        Raises:
            ValueError: there are no trainable variables, or the custom getter did not make one.
        """
        chosen = variable_collections.trainable_variables()
        if not chosen:
            raise ValueError("There are no trainable variables to set to their center variables.")
        return control_flow_ops.group(*center_variables.copied(chosen, self._centers(chosen)))

    def make_session_run_hook(self) -> hook.SessionRunHook:
        """Return the hook that runs `get_init_op()` in each new session. Every worker needs it.

        In the chief, the hook also prepares the averages for the global step, which may come from a
        checkpoint. Call `apply_gradients` before the session is made.
        """
        return center_variables.InitialHook(self._initial)

    def _initial(self) -> graphs.Operation:
        if not self._is_chief:
            return self.get_init_op()
        if self._chief_init_op is None:
            raise ValueError(
                "ModelAverageOptimizer.apply_gradients must be called before a session is made "
                "with the hook."
            )
        return control_flow_ops.group(self.get_init_op(), self._chief_init_op)

    def _centers(self, chosen: list[Any]) -> list[Any]:
        return center_variables.of(chosen, self._local_2_global, "ModelAverageCustomGetter")


def _token_queues(global_step: Any) -> list[data_flow_ops.QueueBase]:
    """Return the queues of tokens for averages of even and of odd steps.

    A fast worker that waits for the next average must not take the token of a slow one.
    """
    with graphs.get_default_graph().device(global_step.device):
        return [
            data_flow_ops.FIFOQueue(-1, [dtypes.bool_], shapes=[[]], shared_name=name)
            for name in ("sync_queue_even", "sync_queue_odd")
        ]
