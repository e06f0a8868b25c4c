"""The hyperparameters, variables and slots of an optimizer of Keras.

Source: tensorflow/python/keras/optimizer_v2/optimizer_v2.py.
"""

import functools
from typing import Any

from capstan.api import distributed_values, math_ops, trackable, variable_replicas, variables
from capstan.api.layers import sessions, values
from capstan.core import dtypes
from capstan.framework import body_graph
from capstan.framework import graph as graphs
from capstan.keras import initializers
from capstan.keras.optimizers import schedules


class OptimizerState:
    """The part of an optimizer that holds values.

    A hyperparameter is a number, a tensor, a variable, a function without arguments, or a schedule.
    Each hyperparameter is an attribute, such as `learning_rate`, which is also called `lr`. The
    first read of one of them makes a variable of each number.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._hyper: dict[str, Any] = {}
        self._numbers: dict[str, Any] = {}
        self._hypers_created = False
        self._slots: dict[Any, dict[str, Any]] = {}
        self._slot_names: list[str] = []
        self._weights: list[Any] = []
        self._tracked: dict[str, Any] = {}
        self._iterations: Any = None

    # --- hyperparameters

    def __getattr__(self, name: str) -> Any:
        hyper = "learning_rate" if name == "lr" else name
        if hyper in self.__dict__.get("_hyper", {}):
            return self._get_hyper(hyper)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        hyper = "learning_rate" if name == "lr" else name
        if hyper in self.__dict__.get("_hyper", {}):
            self._set_hyper(hyper, value)
        else:
            super().__setattr__(hyper, value)

    def _set_hyper(self, name: str, value: Any) -> None:
        """Set a hyperparameter. If it is a variable already, assign in Keras's session."""
        before = self._hyper.get(name)
        if isinstance(before, variables.Variable) and not callable(value):
            values.set_value(before, value)
        else:
            self._hyper[name] = value
            self._numbers.pop(name, None)

    def _get_hyper(self, name: str, dtype: Any = None) -> Any:
        """Return a hyperparameter, cast to `dtype` if that is given. A schedule stays as it is."""
        self._create_hypers()
        value = self._hyper[name]
        if isinstance(value, schedules.LearningRateSchedule):
            return value
        if callable(value):
            value = value()
        return value if dtype is None else math_ops.cast(value, dtype)

    def _create_hypers(self) -> None:
        """Make a variable of each hyperparameter that is a number."""
        if self._hypers_created:
            return
        for name, value in sorted(self._hyper.items(), key=lambda item: item[0]):
            if not isinstance(value, graphs.Tensor | variables.Variable) and not callable(value):
                self._numbers[name] = value
                self._hyper[name] = self.add_weight(
                    name,
                    shape=[],
                    trainable=False,
                    initializer=value,
                    aggregation=variable_replicas.VariableAggregation.ONLY_FIRST_REPLICA,
                )
        self._hypers_created = True

    def _serialize_hyperparameter(self, hyperparameter_name: str) -> Any:
        """Return a hyperparameter as a configuration holds it.

        The value of a variable comes from a session in which it has one: the default session, or
        Keras's session. Without such a session, it is the number of which the optimizer made it.
        """
        value = self._hyper[hyperparameter_name]
        if isinstance(value, schedules.LearningRateSchedule):
            return schedules.serialize(value)
        if callable(value):
            return value()
        if isinstance(value, variables.Variable):
            session = sessions.held(value)
            if session is None and hyperparameter_name in self._numbers:
                return self._numbers[hyperparameter_name]
            return value.eval(session)
        return value.eval() if isinstance(value, graphs.Tensor) else value

    def _serialized(self, *names: str) -> dict[str, Any]:
        return {name: self._serialize_hyperparameter(name) for name in names}

    # --- variables

    @property
    def iterations(self) -> Any:
        """The variable that counts the training steps. It is int64, and can be set before use."""
        if self._iterations is None:
            self._iterations = self.add_weight(
                "iter",
                shape=[],
                dtype=dtypes.int64,
                trainable=False,
                aggregation=variable_replicas.VariableAggregation.ONLY_FIRST_REPLICA,
            )
            self._weights.append(self._iterations)
        return self._iterations

    @iterations.setter
    def iterations(self, variable: Any) -> None:
        if self._iterations is not None:
            raise RuntimeError(
                "Cannot set `iterations` to a new Variable after the Optimizer weights have been "
                "created"
            )
        self._iterations = self._tracked["iter"] = variable
        self._weights.append(variable)

    def add_weight(
        self,
        name: str,
        shape: Any,
        dtype: Any = None,
        initializer: Any = "zeros",
        trainable: bool | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
    ) -> Any:
        """Return a new resource variable, float32 by default. A checkpoint knows it by `name`.

        `initializer` is an initializer, its name, or the initial value, which keeps its type.
        """
        initial = initializer
        if isinstance(initializer, str) or callable(initializer):
            kind = dtypes.as_dtype(dtype or dtypes.float32)
            made = initializers.get(initializer)
            initial = functools.partial(made, shape, dtype=kind)
        with body_graph.init_scope():
            variable = variables.Variable(
                initial,
                name=name,
                trainable=trainable,
                use_resource=True,
                synchronization=synchronization,
                aggregation=aggregation,
            )
        self._tracked[name] = variable
        return variable

    def variables(self) -> list[Any]:
        """Return the count of steps, the slots, and other variables, in the order of creation."""
        return self._weights

    @property
    def weights(self) -> list[Any]:
        return self._weights

    def get_weights(self) -> list[Any]:
        """Return the values of `weights`, from Keras's session."""
        return values.batch_get_value(self.weights)

    def set_weights(self, weights: Any) -> None:
        """Set `weights` to arrays, in Keras's session.

        Raises:
            ValueError: the number or the shapes of the arrays differ from those of the variables.
        """
        own = self.weights
        if len(own) != len(weights):
            raise ValueError(
                f"You called `set_weights(weights)` on optimizer {self._name} with a  weight list "
                f"of length {len(weights)}, but the optimizer was expecting {len(own)} weights. "
                f"Provided weights: {str(weights)[:50]}..."
            )
        for variable, value in zip(own, weights, strict=True):
            if tuple(variable.shape.as_list()) != value.shape:
                raise ValueError(
                    f"Optimizer weight shape {tuple(variable.shape.as_list())} not compatible with "
                    f"provided weight shape {value.shape}"
                )
        values.batch_set_value(zip(own, weights, strict=True))

    @property
    def _checkpoint_dependencies(self) -> trackable.Dependencies:
        """The variables that are not slots, sorted by name. A checkpoint asks for slots itself."""
        given = {
            name: value
            for name, value in self._hyper.items()
            if isinstance(value, variables.Variable)
        }
        return sorted({**self._tracked, **given}.items(), key=lambda named: named[0])

    # --- slots

    def get_slot_names(self) -> list[str]:
        """Return the names of the slots, in the order of creation."""
        return self._slot_names

    def add_slot(self, var: Any, slot_name: str, initializer: Any = "zeros") -> Any:
        """Return the slot `slot_name` of a variable. Create it if it is missing.

        It is on the device of the variable, and called `<variable>/<slot_name>`. `initializer` is
        an initializer, its name, or the initial value.
        """
        if slot_name not in self._slot_names:
            self._slot_names.append(slot_name)
        slots = self._slots.setdefault(_key(var), {})
        if slot_name not in slots:
            initial = initializer
            if isinstance(initializer, str) or callable(initializer):
                made = initializers.get(initializer)
                initial = functools.partial(made, var.shape, dtype=var.dtype.base_dtype)
            with graphs.get_default_graph().colocate_with(var):
                slots[slot_name] = variables.Variable(
                    initial,
                    name=f"{var.op.name}/{slot_name}",
                    dtype=var.dtype.base_dtype,
                    trainable=False,
                    use_resource=True,
                )
            self._weights.append(slots[slot_name])
        return slots[slot_name]

    def get_slot(self, var: Any, slot_name: str) -> Any:
        """Return the slot `slot_name` of a variable, or None if there is none.

        The slot of a copy that a strategy has made is the copy of the variable's slot.
        """
        slot = self._slots.get(_key(var), {}).get(slot_name)
        return distributed_values.copy_beside(slot, var)


def _key(var: Any) -> tuple[Any, str]:
    op = distributed_values.first_copy(distributed_values.container_of(var)).op
    return op.graph, op.name
