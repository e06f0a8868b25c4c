"""The base class of `tf.layers` (python/layers/base.py).

A layer owns variables. They are created at its first call, in the variable scope of the layer. The
names of the variables and operations are TensorFlow's, so checkpoints of TensorFlow can be loaded.
"""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any

from capstan.api import (
    partitioned_variables,
    scope_block,
    variable_collections,
    variable_replicas,
    variable_scope,
)
from capstan.api.layers import callable_layer, calls, common, context, identifiers, input_spec
from capstan.core import dtypes, tensor_shape
from capstan.framework import collections, nest
from capstan.framework import graph as graphs

_KEYS = collections.GraphKeys
InputSpec = input_spec.InputSpec


class Layer(callable_layer.CallableLayer):
    """A function with variables. Override `build` to create them and `call` to use them.

    Calls after the first one use the same variables. `trainable` says whether optimizers change
    them. The variables are those of `tf.get_variable` in the variable scope of the layer. A layer
    of Keras sets `makes_resources`, because optimizers of Keras change only resource variables.
    """

    makes_resources = False

    def __init__(
        self, trainable: bool = True, name: Any = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        scope, self._reuse = kwargs.pop("_scope", None), kwargs.pop("_reuse", None)
        is_scope = isinstance(name, variable_scope.VariableScope)
        super().__init__(trainable, None if is_scope else name, dtype, **kwargs)
        if is_scope:
            self._base_name = name.name
        else:
            self._base_name = name or common.snake_case(type(self).__name__)
        self._current_scope: Any = None
        self._scope: Any = None
        if scope:
            with scope_block.variable_scope(scope) as self._scope:
                pass

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, identifiers.resolved(type(self), name, value))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal layer. They are values that JSON can hold.

        Raises:
            NotImplementedError: a layer of the program has arguments, but no `get_config`.
        """
        own = identifiers.arguments(type(self))
        if not own:
            return callable_layer.described(self, Layer.get_config)
        config = {"name": self.name, "trainable": self.trainable, "dtype": self.dtype}
        return config | {name: identifiers.described(name, getattr(self, name)) for name in own}

    def _unique(self, base: str) -> str:
        return f"{base}_{self._count(base)}"

    @property
    def scope_name(self) -> str:
        """The name of the layer's variable scope. The first call of the layer opens the scope."""
        if self._scope is None:
            raise ValueError(
                'No name available for layer scope because the layer "' + self.name + '" has not '
                "been used yet. The scope name is determined the first time the layer instance is "
                "called. You must therefore call the layer before querying `scope_name`."
            )
        return str(self._scope.name)

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Add losses as a layer of Keras does, and add them to REGULARIZATION_LOSSES."""
        known = len(self._losses)
        super().add_loss(losses, inputs)
        for loss in self._losses[known:]:
            value = loss.tensor()
            if value is not None:
                _collect(_KEYS.REGULARIZATION_LOSSES, [value])

    def add_weight(
        self,
        name: str,
        shape: Any,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Callable[[Any], Any] | None = None,
        trainable: bool | None = None,
        constraint: Callable[[Any], Any] | None = None,
        use_resource: bool | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
        partitioner: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Return the variable `name` of the layer's scope, or create it.

        The loss of `regularizer` is added to the layer and to REGULARIZATION_LOSSES. If the
        variable is split, each part has its loss.

        Raises:
            ValueError: the variable is summed when it is read, and trainable.
            TypeError: there is an argument that no variable has.
        """
        unknown = sorted(kwargs.keys() - {"experimental_autocast"})
        if unknown:
            raise TypeError(f"Unknown keyword argument: {', '.join(unknown)}")
        trainable = variable_replicas.checked(synchronization, aggregation, trainable, name)[2]
        self._open(None)
        existing = {id(variable) for variable in variable_collections.global_variables()}
        kind = dtypes.as_dtype(dtype or self._dtype or dtypes.float32)
        more = {} if partitioner is None else {"partitioner": partitioner}
        with self._entered(self.built or self._reuse):
            variable = variable_scope.get_variable(
                name,
                shape=tensor_shape.as_shape(shape),
                dtype=kind,
                initializer=initializer or self._current_scope.initializer,
                trainable=trainable and self.trainable,
                constraint=constraint,
                use_resource=use_resource or self.makes_resources or None,
                synchronization=synchronization,
                aggregation=aggregation,
                **more,
            )
            if regularizer is not None:
                self._regularize(name, variable, regularizer, existing)
        # A custom getter may have made a variable that is not trainable.
        is_trainable = trainable and self.trainable and getattr(variable, "trainable", True)
        (self._trainable_weights if is_trainable else self._non_trainable_weights).append(variable)
        return variable

    add_variable = add_weight

    def _regularize(
        self, name: str, variable: Any, regularizer: Callable[[Any], Any], existing: set[int]
    ) -> None:
        """Add the loss of a new variable, or one loss for each of its parts."""
        is_parted = isinstance(variable, partitioned_variables.PartitionedVariable)
        parts = list(variable) if is_parted else [variable]
        if any(id(part) in existing for part in parts):
            return
        for part in parts:
            with graphs.get_default_graph().name_scope(f"{name}/Regularizer"):
                self.add_loss(regularizer(part))

    def _open(self, scope: Any) -> None:
        """Choose the scope of the layer: a new one, unless the layer reuses variables."""
        if self._scope is not None:
            return
        if self._reuse:
            block = scope_block.variable_scope(self._base_name if scope is None else scope)
        else:
            block = scope_block.variable_scope(scope, default_name=self._base_name)
        with block as self._scope:
            pass

    def _entered(self, reuse: Any) -> ExitStack:
        """Enter the variable scope and the name scope of the layer.

        The end of the returned context leaves both.
        """
        with ExitStack() as blocks:
            block = scope_block.variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False)
            self._current_scope = blocks.enter_context(block)
            graph = graphs.get_default_graph()
            blocks.enter_context(graph.name_scope(self._current_scope.original_name_scope))
            return blocks.pop_all()

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Return `call(inputs)`. The first call creates the variables, in the scope `scope`.

        The updates of the layer are added to UPDATE_OPS.
        """
        self._open(kwargs.pop("scope", None))
        with self._entered(True if self.built else self._reuse):
            if calls.Signature(self.call).has("scope"):
                kwargs["scope"] = self._current_scope
            outputs = super().__call__(inputs, *args, **kwargs)
        _collect(_KEYS.UPDATE_OPS, self.updates)
        return outputs

    def _name_scope(self) -> str:
        return str(self._current_scope.original_name_scope)

    def _is_recorded(self, known: context.GraphContext, inputs: Any) -> bool:
        # Most programs with such layers make no models of Keras.
        return bool(known.nodes) and any(map(known.follows, nest.flatten(inputs)))


def _collect(key: str, values: Iterable[Any]) -> None:
    """Add values to a collection of the graph, each once."""
    collected = graphs.get_default_graph().get_collection_ref(key)
    known = set(map(id, collected))
    collected += [value for value in values if id(value) not in known]
