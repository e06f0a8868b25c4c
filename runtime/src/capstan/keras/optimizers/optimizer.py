"""`tf.keras.optimizers.Optimizer`: the base of Keras's optimizers.

It computes gradients and makes the operation of a training step. Each update is on the device of
its variable, so a parameter server updates its own variables. Source:
tensorflow/python/keras/optimizer_v2/optimizer_v2.py.
"""

import abc
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from capstan.api import (
    array_ops,
    clip_ops,
    distributed_values,
    distribution_modes,
    loss_scaling,
    math_ops,
)
from capstan.api.layers import common, context
from capstan.core import dtypes
from capstan.framework import body_graph, gradients, indexed_slices, nest
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.keras.optimizers import gradient_pairs, optimizer_state, schedules
from capstan.train import updates

Coefficients = dict[Any, dict[str, Any]]
"""The tensors that updates use, by the device and the type of their variables."""

_ARGUMENTS = ("clipnorm", "clipvalue", "lr", "decay")


class Optimizer(optimizer_state.OptimizerState, abc.ABC):
    """Computes gradients and applies them to resource variables. Not thread-safe.

    A subclass defines `get_config`, `_resource_apply_dense` and `_resource_apply_sparse`. If it
    needs to, it also defines `_create_slots` and `_prepare_local`.
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        """Make an optimizer. `clipnorm` and `clipvalue` limit each gradient.

        `decay` divides the learning rate by 1 + decay * iterations. `lr` is another name of
        `learning_rate`, which the subclass reads.

        Raises:
            TypeError: there is another argument.
            ValueError: an argument is negative.
        """
        for key, value in kwargs.items():
            if key not in _ARGUMENTS:
                raise TypeError(f"Unexpected keyword argument passed to optimizer: {key}")
            if value is not None and not callable(value) and value < 0:
                raise ValueError(f"Expected {key} >= 0, received: {value}")
        super().__init__(name or _unique(type(self).__name__))
        self._use_locking = True
        self._initial_decay = kwargs.pop("decay", 0.0)
        for key in ("clipnorm", "clipvalue"):
            if key in kwargs:
                setattr(self, key, kwargs[key])

    def minimize(
        self, loss: Any, var_list: Any, grad_loss: Any = None, name: str | None = None
    ) -> graphs.Operation:
        """Return an operation that makes one training step, and adds one to `iterations`.

        `loss` is a function without arguments that returns the loss, or the loss itself. `var_list`
        has the variables to change. It may be a function without arguments. `grad_loss` is the
        gradient of the loss, by default ones.

        Raises:
            ValueError: the loss depends on none of the variables.
        """
        return self.apply_gradients(self._compute_gradients(loss, var_list, grad_loss), name)

    def _compute_gradients(
        self, loss: Any, var_list: Any, grad_loss: Any = None
    ) -> list[tuple[Any, Any]]:
        """Return pairs of a gradient, which may be None, and its variable."""
        value = loss_scaling.scaled(loss() if callable(loss) else loss)
        targets = nest.flatten(var_list() if callable(var_list) else var_list)
        with graphs.get_default_graph().name_scope(f"{self._name}/gradients"):
            found = self._clipped(gradients.gradients(value, targets, grad_ys=grad_loss))
        pairs = list(zip(found, targets, strict=True))
        self._assert_valid_dtypes([var for grad, var in pairs if grad is not None])
        return pairs

    def get_gradients(self, loss: Any, params: Any) -> list[Any]:
        """Return the gradients of a loss, clipped by `clipnorm` and `clipvalue`.

        Raises:
            ValueError: the loss does not depend on a variable.
        """
        targets = nest.flatten(params)
        with graphs.get_default_graph().name_scope(f"{self._name}/gradients"):
            found = gradients.gradients(loss_scaling.scaled(loss), targets)
            for grad, param in zip(found, targets, strict=True):
                if grad is None:
                    raise ValueError(
                        f"Variable {param} has `None` for gradient. Please make sure that all of "
                        "your ops have a gradient defined (i.e. are differentiable). Common ops "
                        "without gradient: K.argmax, K.round, K.eval."
                    )
            return self._clipped(found)

    def get_updates(self, loss: Any, params: Any) -> list[graphs.Operation]:
        """Return a list of one operation, which makes a training step of the loss, a tensor."""
        pairs = list(zip(self.get_gradients(loss, params), params, strict=True))
        self._assert_valid_dtypes([var for _, var in pairs])
        return [self.apply_gradients(pairs)]

    def _clipped(self, found: Iterable[Any]) -> list[Any]:
        return [None if grad is None else self._clipped_gradient(grad) for grad in found]

    def _clipped_gradient(self, grad: Any) -> Any:
        if hasattr(self, "clipnorm"):
            grad = clip_ops.clip_by_norm(grad, self.clipnorm)
        if hasattr(self, "clipvalue"):
            grad = clip_ops.clip_by_value(grad, -self.clipvalue, self.clipvalue)
        return grad

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], name: str | None = None
    ) -> graphs.Operation:
        """Return an operation that updates the variables, and then adds one to `iterations`.

        The first call creates the optimizer's own variables. A variable whose gradient is None
        stays as it is. In a replica of a strategy, the gradients of all replicas are first added,
        and all copies of the variables are updated.

        Raises:
            NotImplementedError: a tensor is in the place of a variable.
            TypeError: a variable is a reference variable.
            ValueError: all gradients are None.
            RuntimeError: the graph is built for all replicas of a strategy.
        """
        pairs = gradient_pairs.with_gradient(grads_and_vars)
        mode = distribution_modes.current()
        if mode is None:
            return self._apply_pairs(pairs, name, self._update_all)
        if mode.replica is None:
            raise RuntimeError(
                "`apply_gradients() cannot be called in cross-replica context. Use "
                "`tf.distribute.Strategy.experimental_run_v2` to enter replica context."
            )
        applied: graphs.Operation = mode.replica.merge_call(self._distributed_apply, (pairs, name))
        return applied

    def _distributed_apply(
        self, distribution: Any, grads_and_vars: list[tuple[Any, Any]], name: str | None = None
    ) -> graphs.Operation:
        """Add the gradients of all replicas, and update all copies of the variables."""
        extended = distribution.extended

        def updates(pairs: list[tuple[Any, Any]], state: Coefficients) -> list[Any]:
            sums = extended.batch_reduce_to("SUM", pairs)
            return [
                op
                for grad, (_, var) in zip(sums, pairs, strict=True)
                for op in extended.update(
                    var, lambda copy, part: self._update(part, copy, state), (grad,), group=False
                )
            ]

        return self._apply_pairs(grads_and_vars, name, updates)

    def _apply_pairs(
        self, pairs: list[tuple[Any, Any]], name: str | None, updates: Callable[..., list[Any]]
    ) -> graphs.Operation:
        """Return an operation that runs `updates(pairs, coefficients)`, and counts the step."""
        targets = [var for _, var in pairs]
        graph = graphs.get_default_graph()
        with graph.name_scope(self._name):
            with body_graph.init_scope():
                iterations = self.iterations
                self._create_hypers()
                self._create_slots(targets)
            state = self._prepare(targets)
            with graph.name_scope(name or self._name):
                update_ops = updates(pairs, state)
                with graph.control_dependencies(update_ops):
                    step = iterations.assign_add(1, read_value=False)
                    # A program may count in a reference variable, such as the global step.
                    return step.op if isinstance(step, graphs.Tensor) else step

    def _update_all(self, pairs: list[tuple[Any, Any]], state: Coefficients) -> list[Any]:
        return [self._update(grad, var, state) for grad, var in pairs]

    def _update(self, grad: Any, var: Any, state: Coefficients) -> Any:
        graph = graphs.get_default_graph()
        with graph.name_scope(f"update_{var.op.name}"), graph.colocate_with(var):
            if isinstance(grad, indexed_slices.IndexedSlices):
                if var.constraint is not None:
                    raise RuntimeError("Cannot use a constraint function on a sparse variable.")
                given = _accepted(self._resource_apply_sparse, state)
                return self._resource_apply_sparse_duplicate_indices(
                    grad.values, var, grad.indices, **given
                )
            given = _accepted(self._resource_apply_dense, state)
            update = self._resource_apply_dense(grad, var, **given)
            if var.constraint is None:
                return update
            with graph.control_dependencies([update]):
                return var.assign(var.constraint(var), read_value=False)

    # --- methods that subclasses override or call, with TensorFlow's names

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        """Make the slots of all variables."""

    def _prepare(self, var_list: Sequence[Any]) -> Coefficients:
        """Return the tensors that all updates use, on each device for each type."""
        state: Coefficients = {}
        keys = (
            (copy.device, copy.dtype.base_dtype)
            for var in var_list
            for copy in distributed_values.local_results(var)
        )
        for device, dtype in dict.fromkeys(keys):
            state[device, dtype] = self._fallback_apply_state(device, dtype)
        return state

    def _prepare_local(self, var_device: str, var_dtype: Any, apply_state: Coefficients) -> None:
        """Add the tensors for the variables of one device and type to `apply_state`."""
        if "learning_rate" in self._hyper:
            rate = array_ops.identity(self._decayed_lr(var_dtype))
            apply_state[var_device, var_dtype]["lr_t"] = rate

    def _fallback_apply_state(self, var_device: str, var_dtype: Any) -> dict[str, Any]:
        """Return the tensors for the variables of one device and type."""
        state: Coefficients = {(var_device, var_dtype): {}}
        with graphs.get_default_graph().device(var_device):
            self._prepare_local(var_device, var_dtype, state)
        return state[var_device, var_dtype]

    def _coefficients(self, var: Any, apply_state: Coefficients | None) -> dict[str, Any]:
        key = (var.device, var.dtype.base_dtype)
        return (apply_state or {}).get(key) or self._fallback_apply_state(*key)

    def _decayed_lr(self, var_dtype: Any) -> Any:
        """Return the learning rate of this step, a scalar of type `var_dtype`."""
        rate = self._get_hyper("learning_rate", var_dtype)
        if isinstance(rate, schedules.LearningRateSchedule):
            rate = math_ops.cast(rate(math_ops.cast(self.iterations, var_dtype)), var_dtype)
        if self._initial_decay > 0.0:
            step = math_ops.cast(self.iterations, var_dtype)
            rate = rate / (1.0 + self._get_hyper("decay", var_dtype) * step)
        return rate

    def _resource_apply_dense(self, grad: Any, var: Any, apply_state: Any = None) -> Any:
        """Return the operation that updates `var` with a tensor as its gradient."""
        raise NotImplementedError(f"{type(self).__name__} cannot apply a dense gradient")

    def _resource_apply_sparse(
        self, grad: Any, var: Any, indices: Any, apply_state: Any = None
    ) -> Any:
        """Return the operation that updates rows of `var`. No row occurs twice."""
        raise NotImplementedError(f"{type(self).__name__} cannot apply an IndexedSlices")

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Any, var: Any, indices: Any, **kwargs: Any
    ) -> Any:
        """Return the operation that updates rows of `var`. Rows may repeat.

        This implementation sums the slices of a repeated row, and calls `_resource_apply_sparse`.
        """
        sums, rows = updates.without_repeats(grad, indices)
        return self._resource_apply_sparse(sums, var, rows, **kwargs)

    def _resource_scatter_add(self, x: Any, i: Any, v: Any) -> Any:
        """Return the value of `x` after `v` was added to its rows `i`."""
        with graphs.get_default_graph().control_dependencies(
            [raw.ResourceScatterAdd(x.handle, i, v)]
        ):
            return x.value()

    def _resource_scatter_update(self, x: Any, i: Any, v: Any) -> Any:
        """Return the value of `x` after its rows `i` were set to `v`."""
        with graphs.get_default_graph().control_dependencies(
            [raw.ResourceScatterUpdate(x.handle, i, v)]
        ):
            return x.value()

    def _call_if_callable(self, param: Any) -> Any:
        return param() if callable(param) else param

    def _valid_dtypes(self) -> set[Any]:
        """Return the dtypes that variables may have."""
        return {dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64}

    def _assert_valid_dtypes(self, tensors: Iterable[Any]) -> None:
        valid = self._valid_dtypes()
        for tensor in tensors:
            if tensor.dtype.base_dtype not in valid:
                raise ValueError(
                    f"Invalid type {tensor.dtype.base_dtype!r} for {tensor.name}, expected: "
                    f"{list(valid)}."
                )

    # --- configurations

    @abc.abstractmethod
    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal optimizer, without its state."""
        limits = ("clipnorm", "clipvalue")
        given = {name: getattr(self, name) for name in limits if hasattr(self, name)}
        return {"name": self._name, **given}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """Return the optimizer with these arguments."""
        given = dict(config)
        if "lr" in given:
            given["learning_rate"] = given.pop("lr")
        if isinstance(given.get("learning_rate"), dict):
            given["learning_rate"] = schedules.deserialize(given["learning_rate"], custom_objects)
        return cls(**given)


def _unique(class_name: str) -> str:
    """Return a name for an optimizer without one, such as `adam_1`."""
    return context.of().numbered(common.snake_case(class_name))


def _accepted(method: Any, state: Coefficients) -> dict[str, Any]:
    """Return the argument `apply_state`, if a method of a subclass takes it."""
    takes = "apply_state" in inspect.signature(method).parameters
    return {"apply_state": state} if takes else {}
