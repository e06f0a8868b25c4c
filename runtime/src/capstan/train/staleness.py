"""Asynchronous training that takes the age of each gradient into account.

The staleness of a gradient is the number of updates between the moment when its worker read the
variables and the moment when the gradient arrives at the parameter servers. Source: Zhang, Gupta,
Lian and Liu, "Staleness-aware Async-SGD for Distributed Deep Learning" (arXiv 1511.05950).
TensorFlow has no such optimizer.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from capstan.api import cond_ops, control_flow_ops, logic_ops, math_ops, summary_ops
from capstan.core import dtypes
from capstan.framework import collections, convert, indexed_slices
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.train import optimizer, updates

_SHARE_OF_NEWEST = 0.01
"""The share of the newest gradient in the average staleness."""

_Pairs = Sequence[tuple[Any, Any]]
"""Gradients with their variables. A gradient is a Tensor, an IndexedSlices or None."""


class StalenessAwareOptimizer(optimizer.Optimizer):
    """Divides the learning rate of a gradient by its staleness, and drops gradients above a bound.

    `opt` is a function that returns an optimizer for a learning rate, for example the class
    `tf.train.AdamOptimizer`, or `lambda rate: tf.train.MomentumOptimizer(rate, 0.9)`. It is called
    once. The learning rate that it gets is a function without arguments that returns a tensor.

    `learning_rate` is the rate for a gradient with a staleness of 0 or 1: a number, a tensor, or a
    function that returns either. A gradient whose staleness is greater than `max_staleness` changes
    neither the variables nor the global step. If `max_staleness` is None, no gradient is dropped.

    The task of the global step measures the staleness of a gradient once all parts of the gradient
    have been computed. All parameter servers use this staleness. Two gradients that arrive at the
    same time may get the same staleness.

    The optimizer has two variables beside the global step, which all workers share, and adds a
    summary of each of them. `staleness` is a moving average over some 100 gradients.
    `dropped_gradients` is the number of all dropped gradients. Not thread-safe.

    Raises:
        ValueError: `max_staleness` is negative.
    """

    def __init__(
        self,
        opt: Callable[[Callable[[], graphs.Tensor]], optimizer.Optimizer],
        learning_rate: Any,
        max_staleness: int | None = None,
        use_locking: bool = False,
        name: str = "staleness_aware",
    ) -> None:
        if max_staleness is not None and max_staleness < 0:
            raise ValueError(
                f"max_staleness must be 0 or more, or None to drop no gradient: {max_staleness}"
            )
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._max_staleness = max_staleness
        self._scaled_rate: graphs.Tensor | None = None
        self._staleness: graphs.Tensor | None = None
        self._opt = opt(self._rate)

    @property
    def staleness(self) -> graphs.Tensor:
        """The staleness of the gradient that this worker computes in the step: an int64 scalar.

        A step that fetches it computes the gradient.

        Raises:
            ValueError: `apply_gradients` was not called.
        """
        return _after_apply(self._staleness, "staleness")

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """Return the gradients that the inner optimizer computes."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        global_step: Any = None,
        name: str | None = None,
    ) -> graphs.Operation:
        """Return an operation that updates the variables and then adds one to `global_step`.

        Raises:
            TypeError: a gradient is not a tensor.
            ValueError: there is no global step, there are no variables, or all gradients are None.
        """
        if global_step is None:
            raise ValueError(
                "Global step is required to measure staleness: pass `global_step` to minimize() or "
                "apply_gradients()"
            )
        pairs = [
            (convert.convert_to_tensor_or_indexed_slices(grad), var) for grad, var in grads_and_vars
        ]
        graph = graphs.get_default_graph()
        train_ops = graph.get_collection_ref(collections.GraphKeys.TRAIN_OP)
        earlier = list(train_ops)
        with graph.name_scope(name or self._name) as scope, graph.device(global_step.device):
            average, dropped = self._counters(graph, global_step)
            staleness = self._staleness = _measured(graph, pairs, global_step)
            rate = updates.hyperparameter(self._learning_rate, "learning_rate")
            divisor = math_ops.cast(math_ops.maximum(staleness, np.int64(1)), rate.dtype)
            self._scaled_rate = rate / divisor
            update = self._update_or_drop(graph, pairs, global_step, dropped)
            difference = math_ops.cast(staleness, dtypes.float32) - average
            recorded = average.assign_add(difference * _SHARE_OF_NEWEST, read_value=False)
            train_op: graphs.Operation = control_flow_ops.group(update, recorded, name=scope)
        # Remove the operation that the inner optimizer has added. It may be inside a conditional.
        train_ops[:] = [*earlier, train_op]
        return train_op

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> list[Any]:
        """Return the variables of the inner and of this optimizer, sorted by name."""
        return sorted([*self._opt.variables(), *super().variables()], key=lambda var: str(var.name))

    def _rate(self) -> graphs.Tensor:
        return _after_apply(self._scaled_rate, "the learning rate")

    def _counters(self, graph: graphs.Graph, global_step: Any) -> tuple[Any, Any]:
        """Return the average staleness and the number of dropped gradients.

        The first call in a graph makes the variables and their summaries.
        """
        is_new = self._get_non_slot_variable("average", graph) is None
        with graph.control_dependencies(None):
            average = self._create_non_slot_variable(np.float32(0), "average", global_step)
            dropped = self._create_non_slot_variable(np.int64(0), "dropped", global_step)
            if is_new:
                summary_ops.scalar("staleness", average)
                summary_ops.scalar("dropped_gradients", dropped)
        return average, dropped

    def _update_or_drop(
        self, graph: graphs.Graph, pairs: _Pairs, global_step: Any, dropped: Any
    ) -> Any:
        def update() -> graphs.Operation:
            # In no name scope, so that the inner optimizer's variables have their usual names.
            with graph.name_scope(""):
                return self._opt.apply_gradients(arrived, global_step)

        # A conditional reads a tensor on the device that computes the tensor. Without the copies,
        # the workers would keep the gradients until they know that the gradients are not dropped.
        arrived = [(_beside(graph, grad, var), var) for grad, var in pairs]
        if self._max_staleness is None:
            return update()
        is_fresh = logic_ops.less_equal(self._staleness, np.int64(self._max_staleness))
        return cond_ops.cond(is_fresh, update, lambda: dropped.assign_add(1, read_value=False))


def _measured(graph: graphs.Graph, pairs: _Pairs, global_step: Any) -> graphs.Tensor:
    """Return the number of updates since the step began."""
    with graph.control_dependencies(None):
        read_step = raw.Identity(global_step.read_value(), name="read_step")
        # The value that was read may share the variable's memory, which other steps change.
        began = math_ops.negative(read_step)
    with graph.control_dependencies([grad for grad, _ in pairs if grad is not None]):
        arrived = global_step.read_value()
    staleness: graphs.Tensor = math_ops.cast(arrived + began, dtypes.int64)
    return staleness


def _beside(graph: graphs.Graph, grad: Any, var: Any) -> Any:
    """Return a copy of a gradient on the device of its variable."""
    if grad is None:
        return None
    with graph.colocate_with(var, ignore_existing=True):
        if not isinstance(grad, indexed_slices.IndexedSlices):
            return raw.Identity(grad)
        return indexed_slices.IndexedSlices(
            raw.Identity(grad.values), raw.Identity(grad.indices), grad.dense_shape
        )


def _after_apply(tensor: graphs.Tensor | None, what: str) -> graphs.Tensor:
    if tensor is None:
        raise ValueError(f"{what} is known after minimize() or apply_gradients() was called")
    return tensor
