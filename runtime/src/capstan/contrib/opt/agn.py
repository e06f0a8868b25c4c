"""`tf.contrib.opt.AGNOptimizer` (contrib/opt/python/training/agn_optimizer.py)."""

from collections.abc import Iterable
from typing import Any

from capstan.api import control_flow_ops, creation_ops, state_ops, variable_collections
from capstan.contrib.opt import center_variables
from capstan.contrib.opt.center_variables import GLOBAL_VARIABLE_NAME as GLOBAL_VARIABLE_NAME
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.train import hook, optimizer

GRAD_VARIABLE_NAME = "grad_variable"


class AGNCustomGetter(center_variables.CenterGetter):
    """The custom getter of the variables that an `AGNOptimizer` trains.

    A trainable variable of `tf.get_variable` becomes a local variable on `worker_device`. Its
    center variable, `global_center_variable/<name>`, is a global variable. Open the scope within
    the `tf.device` block of a `tf.train.replica_device_setter`, which places center variables on
    parameter servers. The sum of the gradients, `grad_variable/<name>`, is on `worker_device` too.
    """

    def __init__(self, worker_device: str) -> None:
        super().__init__(worker_device, GRAD_VARIABLE_NAME)
        self._grad_map = self._copies


class AGNOptimizer(optimizer.Optimizer):
    """Accumulated gradient normalization (https://arxiv.org/abs/1710.02368).

    Each worker trains variables of its own with `optimizer`, and adds up the gradients. After each
    `communication_period` steps, it applies the mean of these gradients to the center variables on
    the parameter servers, and continues from the center variables. It does not wait for other
    workers. The global step counts these exchanges.
    """

    def __init__(
        self,
        optimizer: optimizer.Optimizer,
        num_worker: int,
        custom_getter: AGNCustomGetter,
        communication_period: int = 10,
        use_locking: bool = True,
        name: str = "AGNOptimizer",
    ) -> None:
        """Make an optimizer for one worker. `num_worker` has no effect."""
        super().__init__(use_locking, name)
        self._opt, self._num_worker, self._period = optimizer, num_worker, communication_period
        self._global_map, self._grad_map = custom_getter._global_map, custom_getter._grad_map
        self._local_step = center_variables.local_step()

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        global_step: Any = None,
        name: str | None = None,
    ) -> Any:
        """Return a step of this worker. Each `communication_period`-th step makes an exchange.

        An exchange adds one to `global_step`. `name` has no effect.

        Raises:
            ValueError: all gradients are None, or the custom getter did not make a variable.
        """
        pairs = list(grads_and_vars)
        chosen = [var for grad, var in pairs if grad is not None]
        sums, centers = self._sums(chosen), self._centers(chosen)
        with center_variables.local_variables_only():
            applied = [self._opt.apply_gradients(pairs)]
        grads = [grad for grad, _ in pairs if grad is not None]
        for grad, total in zip(grads, sums, strict=True):
            added = state_ops.assign_add(total, convert.convert_to_tensor(grad))
            applied.append(added.op)
        return center_variables.each(
            self._period,
            self._local_step,
            applied,
            lambda: self._exchange(chosen, sums, centers, global_step),
        )

    def _exchange(
        self, chosen: list[Any], sums: list[Any], centers: list[Any], global_step: Any
    ) -> graphs.Operation:
        """Return an operation that trains the centers, and sets the variables to their values."""
        graph = graphs.get_default_graph()
        means = [total.read_value() / self._period for total in sums]
        trained = self._opt.apply_gradients(zip(means, centers, strict=True))
        with graph.control_dependencies([trained]):
            done = center_variables.copied(chosen, centers)
            done += [state_ops.assign(total, creation_ops.zeros_like(total)).op for total in sums]
            if global_step is not None:
                with graph.colocate_with(global_step):
                    done.append(state_ops.assign_add(global_step, 1).op)
        return control_flow_ops.group(*done)

    def get_init_op(self, task_index: int) -> graphs.Operation:
        """Return an operation that sets the worker's variables to the values of their centers.

        It also clears the sums of gradients. `task_index` has no effect.

        Raises:
            ValueError: there are no trainable variables, or the custom getter did not make one.
        """
        chosen = variable_collections.trainable_variables()
        if not chosen:
            raise ValueError("There are no trainable variables to set to their center variables.")
        done = center_variables.copied(chosen, self._centers(chosen))
        done += [state_ops.assign(s, creation_ops.zeros_like(s)).op for s in self._sums(chosen)]
        return control_flow_ops.group(*done)

    def make_session_run_hook(self, is_chief: bool, task_index: int) -> hook.SessionRunHook:
        """Return the hook that runs `get_init_op(task_index)` in each new session.

        Every worker needs the hook. `is_chief` has no effect.
        """
        return center_variables.InitialHook(lambda: self.get_init_op(task_index))

    def _centers(self, chosen: list[Any]) -> list[Any]:
        return center_variables.of(chosen, self._global_map, "AGNCustomGetter")

    def _sums(self, chosen: list[Any]) -> list[Any]:
        return center_variables.of(chosen, self._grad_map, "AGNCustomGetter")
