"""`tf.contrib.opt.ElasticAverageOptimizer` (contrib/opt/python/training)."""

from collections.abc import Iterable
from typing import Any

from capstan.api import (
    control_flow_ops,
    data_flow_ops,
    math_ops,
    nn,
    partitioned_variables,
    state_ops,
    variable_collections,
)
from capstan.contrib.opt import center_variables
from capstan.contrib.opt.center_variables import GLOBAL_VARIABLE_NAME as GLOBAL_VARIABLE_NAME
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.train import hook, optimizer, saveable_object, saver

LOCAL_VARIABLE_NAME = "local_center_variable"


class ElasticAverageCustomGetter(center_variables.CenterGetter):
    """The custom getter of the variables that an `ElasticAverageOptimizer` trains.

    A trainable variable of `tf.get_variable` becomes a local variable on `worker_device`. Its
    center variable, `global_center_variable/<name>`, is a global variable. Open the scope within
    the `tf.device` block of a `tf.train.replica_device_setter`, which places center variables on
    parameter servers. A copy of the center variable, `local_center_variable/<name>`, is on
    `worker_device` too.
    """

    def __init__(self, worker_device: str) -> None:
        super().__init__(worker_device, LOCAL_VARIABLE_NAME)
        self._local_map = self._copies


class ElasticAverageOptimizer(optimizer.Optimizer):
    """Elastic averaging (https://arxiv.org/abs/1412.6651): workers pull at shared variables.

    Each worker trains variables of its own with `opt`. After each `communication_period` steps, a
    worker computes `moving_rate * (variable - center)`, subtracts it from its variable, and adds it
    to the center variable on the parameter server. It does not wait for other workers. The global
    step counts these exchanges.
    """

    BETA = 0.9
    """`moving_rate * communication_period * num_worker`, if `moving_rate` is not given."""

    def __init__(
        self,
        opt: optimizer.Optimizer,
        num_worker: int,
        ea_custom_getter: ElasticAverageCustomGetter,
        communication_period: int = 10,
        moving_rate: float | None = None,
        rho: float | None = None,
        use_locking: bool = True,
        synchronous: bool = False,
        name: str = "ElasticAverageOptimizer",
    ) -> None:
        """Make an optimizer for one of `num_worker` workers, which has made its variables.

        `rho` is the weight of the term of the loss that holds the variables near their centers, by
        default `moving_rate` divided by the learning rate of `opt`. If `synchronous`, the workers
        wait for each other once, before their first step. A worker that restarts would then wait.
        """
        super().__init__(use_locking, name)
        self._opt, self._num_worker, self._period = opt, num_worker, communication_period
        self._local_map, self._global_map = (
            ea_custom_getter._local_map,
            ea_custom_getter._global_map,
        )
        self._synchronous = synchronous
        rate = self.BETA / communication_period / num_worker if moving_rate is None else moving_rate
        self._moving_rate = rate
        self._rho = rate / opt._learning_rate if rho is None else rho  # type: ignore[attr-defined]
        self._local_step = center_variables.local_step()

    def compute_gradients(
        self, loss: Any, var_list: Any = None, *args: Any, **kwargs: Any
    ) -> list[tuple[Any, Any]]:
        """Return the gradients of `loss + rho * sum(|variable - local center|^2 / 2)`.

        The local center is the value that the center had at the last exchange. The arguments and
        the errors are those of `tf.train.Optimizer.compute_gradients`.

        Raises:
            ValueError: the custom getter did not make a variable.
        """
        chosen = list(var_list or variable_collections.trainable_variables())
        distances = [
            nn.l2_loss(convert.convert_to_tensor(var) - center)
            for var, center in zip(chosen, self._local_centers(chosen), strict=True)
        ]
        total = loss + self._rho * math_ops.add_n(distances)
        return self._opt.compute_gradients(total, chosen, *args, **kwargs)

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
        centers, local_centers = self._centers(chosen), self._local_centers(chosen)
        with center_variables.local_variables_only():
            applied = self._opt.apply_gradients(pairs)
        return center_variables.each(
            self._period,
            self._local_step,
            [applied],
            lambda: self._exchange(chosen, centers, local_centers, global_step),
        )

    def _exchange(
        self, chosen: list[Any], centers: list[Any], local_centers: list[Any], global_step: Any
    ) -> graphs.Operation:
        """Return an operation that moves the variables and their centers to each other."""
        graph = graphs.get_default_graph()
        done = center_variables.copied(local_centers, centers)
        with graph.control_dependencies(list(done)):
            moves = []
            for var, local_center in zip(chosen, local_centers, strict=True):
                with graph.device(var.device):
                    distance = var.read_value() - local_center.read_value()
                    moves.append(self._moving_rate * distance)
        for var, center, move in zip(chosen, centers, moves, strict=True):
            with graph.device(var.device):
                done.append(state_ops.assign_sub(var, move).op)
            with graph.device(center.device):
                done.append(state_ops.assign_add(center, move).op)
        if global_step is not None:
            with graph.colocate_with(global_step):
                done.append(state_ops.assign_add(global_step, 1).op)
        return control_flow_ops.group(*done)

    def get_init_op(self, task_index: int) -> graphs.Operation:
        """Return an operation that sets the worker's variables to the values of their centers.

        It also sets the local centers. If `synchronous`, it then waits until all workers have done
        so. `task_index` is the index of this worker.

        Raises:
            ValueError: there are no trainable variables, or the custom getter did not make one.
        """
        chosen = variable_collections.trainable_variables()
        if not chosen:
            raise ValueError("There are no trainable variables to set to their center variables.")
        centers = self._centers(chosen)
        done = center_variables.copied(chosen, centers)
        done += center_variables.copied(self._local_centers(chosen), centers)
        if self._synchronous:
            return self._barrier(task_index, done, centers[0].device)
        return control_flow_ops.group(*done)

    def _barrier(self, task_index: int, done: list[Any], device: str) -> graphs.Operation:
        """Return an operation that tells all other workers of `done`, and waits for theirs.

        The queues are on `device`. Without a device, each worker might make queues of its own.
        """
        graph = graphs.get_default_graph()
        with graph.device(device):
            queues = [
                data_flow_ops.FIFOQueue(
                    self._num_worker,
                    [dtypes.bool_],
                    shapes=[[]],
                    shared_name=f"variable_init_sync_queue{index}",
                )
                for index in range(self._num_worker)
            ]
        with graph.control_dependencies(done):
            told = [queue.enqueue(False) for i, queue in enumerate(queues) if i != task_index]
            return control_flow_ops.group(
                *done, *told, queues[task_index].dequeue_many(self._num_worker - 1)
            )

    def make_session_run_hook(self, is_chief: bool, task_index: int) -> hook.SessionRunHook:
        """Return the hook that runs `get_init_op(task_index)` in each new session.

        Every worker needs the hook. `is_chief` has no effect.
        """
        return center_variables.InitialHook(lambda: self.get_init_op(task_index))

    def swapping_saver(
        self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any
    ) -> saver.Saver:
        """Return a Saver that saves center variables under the names of the trained variables.

        A program that evaluates the model then restores the centers with a plain `tf.train.Saver`.
        `var_list` is by default the list of all trainable variables. The arguments are those of
        `tf.train.Saver`.

        Raises:
            RuntimeError: the custom getter has made no variables.
        """
        if not self._global_map:
            raise RuntimeError(
                "There are no center variables to save. Make the model with "
                "ElasticAverageCustomGetter before the swapping_saver."
            )
        given = variable_collections.trainable_variables() if var_list is None else var_list
        swapped = {
            key: [self._global_map.get(part, part) for part in saved]
            if isinstance(saved, list | partitioned_variables.PartitionedVariable)
            else self._global_map.get(saved, saved)
            for key, saved in saveable_object.saveables_by_name(given).items()
        }
        return saver.Saver(swapped, name=name, **kwargs)

    def _centers(self, chosen: list[Any]) -> list[Any]:
        return center_variables.of(chosen, self._global_map, "ElasticAverageCustomGetter")

    def _local_centers(self, chosen: list[Any]) -> list[Any]:
        return center_variables.of(chosen, self._local_map, "ElasticAverageCustomGetter")
