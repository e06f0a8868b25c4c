"""`tf.keras.metrics.Metric`: the base of Keras's metrics (python/keras/metrics.py).

A metric keeps variables. In a graph, `update_state` returns an operation that adds a batch to them,
and `result` a tensor of the value.
"""

import abc
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.api import array_ops, control_flow_ops, distribution_modes, variable_replicas
from capstan.api.layers import context, settings, values
from capstan.core import dtypes
from capstan.framework import facts, opdef
from capstan.framework import graph as graphs
from capstan.keras import base_layer

_LIBRARY = __name__.rpartition(".")[0]


class Metric(base_layer.Layer, abc.ABC):
    """A value of all batches. Define `update_state` and `result`.

    The variables are in no collection. Initialize them with the operations `initializer` of
    `metric.variables`. An Estimator initializes those of its metrics itself.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> "Metric":
        metric = super().__new__(cls)
        # The wrappers belong to the object, so that a method may call that of its base class.
        vars(metric)["update_state"] = _update(metric, metric.update_state)
        vars(metric)["result"] = _result(metric, metric.result)
        return metric

    def __init__(self, name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        """Make a metric. `dtype` is the type of the variables and of the value."""
        super().__init__(name=name, dtype=dtype, **kwargs)
        self.stateful = True
        self.built = True
        self._call_result: Any = None
        if dtype is None:
            self._dtype = dtypes.as_dtype(settings.SETTINGS.floatx)

    def _metric_parts(self) -> list[Any]:
        return [self, *super()._metric_parts()]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the value after `update_state(...)`, a tensor."""
        update = self.update_state(*args, **kwargs)
        waits = [] if update is None else [update]
        with graphs.get_default_graph().control_dependencies(waits):
            result = self.result()
        context.of().metric_results[result] = self
        return result

    @abc.abstractmethod
    def update_state(self, *args: Any, **kwargs: Any) -> Any:
        """Return the operation that adds a batch. It is one of the `updates` of the metric."""
        raise NotImplementedError("Must be implemented in subclasses.")

    @abc.abstractmethod
    def result(self) -> Any:
        """Return the value of the batches so far, a tensor."""
        raise NotImplementedError("Must be implemented in subclasses.")

    def reset_states(self) -> None:
        """Set all variables to zero, in Keras's session."""
        values.batch_set_value((each, np.zeros(each.shape.as_list())) for each in self.variables)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal metric, without its state."""
        return {"name": self.name, "dtype": self.dtype}

    def add_weight(  # type: ignore[override]
        self,
        name: str,
        shape: Any = (),
        aggregation: Any = variable_replicas.VariableAggregation.SUM,
        synchronization: Any = variable_replicas.VariableSynchronization.ON_READ,
        initializer: Any = None,
        dtype: Any = None,
    ) -> Any:
        """Return a new variable of the metric, which no optimizer changes."""
        return super().add_weight(
            name=name,
            shape=shape,
            dtype=self._dtype if dtype is None else dtype,
            trainable=False,
            initializer=initializer,
            collections=[],
            synchronization=synchronization,
            aggregation=aggregation,
        )


def is_own(metric: Metric) -> bool:
    """Return whether the class of a metric is one of this library."""
    return type(metric).__module__.startswith(_LIBRARY)


def _update(metric: Metric, update_state: Callable[..., Any]) -> Callable[..., Any]:
    """Return `update_state` of an object, with its operation among the updates of the metric.

    The operation of a program's own metric makes all changes that the method adds to the graph,
    whatever the method returns.
    """

    @functools.wraps(update_state)
    def update(*args: Any, **kwargs: Any) -> Any:
        if is_own(metric):
            op = update_state(*args, **kwargs)
        else:
            op = _all_changes(metric, lambda: update_state(*args, **kwargs))
        metric.add_update(op)
        return op

    return update


def _result(metric: Metric, result: Callable[[], Any]) -> Callable[[], Any]:
    @functools.wraps(result)
    def value() -> Any:
        def read(*_: Any) -> Any:
            return array_ops.identity(result())

        # A strategy adds the variables of its replicas up where it builds for all of them.
        mode = distribution_modes.current()
        replica = None if mode is None else mode.replica
        metric._call_result = read() if replica is None else replica.merge_call(read)
        return metric._call_result

    return value


def _all_changes(metric: Metric, add: Callable[[], Any]) -> Any:
    """Return the operation that makes all changes of state that `add()` adds to the graph."""
    graph = graphs.get_default_graph()
    before = set(graph.get_operations())
    returned = add()
    initial = {variable.initializer for variable in metric.variables}
    context = graph.control_flow_context
    changes = [
        op
        for op in graph.get_operations()
        if op not in before
        and op not in initial
        and op.control_flow_context is context
        and _acts(opdef.lookup(op.type).effect)
    ]
    if returned is not None:
        changes.append(getattr(returned, "op", returned))
    return control_flow_ops.group(*changes)


def _acts(effect: facts.Effect) -> bool:
    return bool(effect.changes) or effect.external or effect.calls
