"""The base class of `tf.layers` (python/layers/base.py).

A layer owns variables. They are created at its first call, in the variable scope of the layer. The
names of the variables and operations are TensorFlow's, so checkpoints of TensorFlow can be loaded.
"""

import operator
import re
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any

from capstan.api import scope_block, variable_collections, variable_scope
from capstan.core import dtypes, tensor_shape
from capstan.framework import collections, convert, nest
from capstan.framework import graph as graphs

_KEYS = collections.GraphKeys
_NAMES = ("__layer_names",)


class InputSpec:
    """The shape, rank and dtype that the inputs of a layer must have. None allows anything."""

    def __init__(
        self,
        dtype: Any = None,
        shape: Any = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: dict[int, int | None] | None = None,
    ) -> None:
        self.dtype = dtype
        self.shape = shape
        self.ndim = ndim if shape is None else len(shape)
        self.max_ndim = max_ndim
        self.min_ndim = min_ndim
        self.axes = axes or {}


class Layer:
    """A function with variables. Override `build` to create them and `call` to use them.

    Calls after the first one use the same variables. `trainable` says whether optimizers change
    them.
    """

    def __init__(
        self, trainable: bool = True, name: Any = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        scope, self._reuse = kwargs.pop("_scope", None), kwargs.pop("_reuse", None)
        self.activity_regularizer = kwargs.pop("activity_regularizer", None)
        if kwargs:
            raise TypeError(f"Keyword argument not understood: {', '.join(sorted(kwargs))}")
        self.trainable = trainable
        self.stateful = False
        self.built = False
        self.input_spec: InputSpec | None = None
        self._dtype = None if dtype is None else dtypes.as_dtype(dtype)
        self._graph = graphs.get_default_graph()
        self._trainable_weights: list[Any] = []
        self._non_trainable_weights: list[Any] = []
        self._updates: list[Any] = []
        self._losses: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._current_scope: Any = None
        class_name = _snake_case(type(self).__name__)
        if isinstance(name, variable_scope.VariableScope):
            self._base_name, self._name = name.name, self._unique(class_name)
        else:
            self._base_name = name or class_name
            self._name = name or self._unique(class_name)
        self._scope: Any = None
        if scope:
            with scope_block.variable_scope(scope) as self._scope:
                pass

    def _unique(self, base: str) -> str:
        counts = self._graph.get_collection_ref(_NAMES)
        if not counts:
            counts.append({})
        number = counts[0][base] = counts[0].get(base, 0) + 1
        return base if number == 1 else f"{base}_{number - 1}"

    @property
    def name(self) -> str:
        return str(self._name)

    @property
    def dtype(self) -> Any:
        return None if self._dtype is None else self._dtype.name

    @property
    def graph(self) -> graphs.Graph:
        return self._graph

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

    @property
    def trainable_weights(self) -> list[Any]:
        return self._trainable_weights if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        rest = [] if self.trainable else self._trainable_weights
        return rest + self._non_trainable_weights

    @property
    def weights(self) -> list[Any]:
        """The variables of the layer. The trainable ones come first."""
        return self.trainable_weights + self.non_trainable_weights

    trainable_variables = trainable_weights
    non_trainable_variables = non_trainable_weights
    variables = weights

    @property
    def updates(self) -> list[Any]:
        """The operations that change the state of the layer, such as moving averages."""
        return self._updates

    @property
    def losses(self) -> list[Any]:
        """The regularization losses of the layer."""
        return self._losses

    @property
    def input(self) -> Any:
        return _only(self._inputs, self.name, "input")

    @property
    def output(self) -> Any:
        return _only(self._outputs, self.name, "output")

    def get_losses_for(self, inputs: Any) -> list[Any]:
        return list(self._losses)

    def get_updates_for(self, inputs: Any) -> list[Any]:
        return list(self._updates)

    def count_params(self) -> int:
        """Return the number of elements of all variables."""
        if not self.built:
            raise ValueError(f"Layer {self.name} is not built yet: call it first")
        return sum(variable.shape.num_elements() for variable in self.weights)

    def build(self, input_shape: Any) -> None:
        """Create the variables. The first call of the layer calls this."""
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the outputs for the inputs."""
        return inputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no compute_output_shape")

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Add losses to the layer and to the collection REGULARIZATION_LOSSES."""
        self._add(_KEYS.REGULARIZATION_LOSSES, self._losses, losses)

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Add operations to the layer and to the collection UPDATE_OPS."""
        self._add(_KEYS.UPDATE_OPS, self._updates, updates)

    def _add(self, key: str, kept: list[Any], values: Any) -> None:
        for value in values if isinstance(values, list | tuple) else [values]:
            if value is not None:
                kept.append(value)
                graphs.get_default_graph().add_to_collection(key, value)

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
        partitioner: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Return the variable `name` of the layer's scope, or create it.

        The loss of `regularizer` is added to the layer and to REGULARIZATION_LOSSES.
        """
        self._open(None)
        existing = {id(variable) for variable in variable_collections.global_variables()}
        kind = dtypes.as_dtype(dtype or self._dtype or dtypes.float32)
        trainable = True if trainable is None else trainable
        more = {} if partitioner is None else {"partitioner": partitioner}
        with self._entered(self.built or self._reuse):
            variable = variable_scope.get_variable(
                name,
                shape=tensor_shape.as_shape(shape),
                dtype=kind,
                initializer=initializer or self._current_scope.initializer,
                trainable=trainable and self.trainable,
                constraint=constraint,
                use_resource=use_resource,
                **more,
            )
            if regularizer is not None and id(variable) not in existing:
                with graphs.get_default_graph().name_scope(f"{name}/Regularizer"):
                    self.add_loss(regularizer(variable))
        (self._trainable_weights if trainable else self._non_trainable_weights).append(variable)
        return variable

    add_variable = add_weight

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
        """Return `call(inputs)`. The first call creates the variables."""
        scope = kwargs.pop("scope", None)
        self._open(scope)
        inputs = nest.packed(
            inputs, [convert.convert_to_tensor(leaf) for leaf in nest.flatten(inputs)]
        )
        tensors = nest.flatten(inputs)
        if self._dtype is None and tensors:
            self._dtype = tensors[0].dtype.base_dtype
        with self._entered(True if self.built else self._reuse):
            self._check(tensors)
            if not self.built:
                shapes = nest.packed(inputs, [tensor.shape for tensor in tensors])
                self.build(shapes)
                self.built = True
            outputs = self.call(inputs, *args, **kwargs)
            if self.activity_regularizer is not None:
                with graphs.get_default_graph().name_scope("ActivityRegularizer"):
                    for output in nest.flatten(outputs):
                        self.add_loss(self.activity_regularizer(output))
        self._inputs.append(inputs)
        self._outputs.append(outputs)
        return outputs

    def apply(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Return `self(inputs)`."""
        return self(inputs, *args, **kwargs)

    def _check(self, tensors: Iterable[Any]) -> None:
        spec = self.input_spec
        for tensor in tensors if spec is not None else ():
            _check_input(self.name, spec, tensor.shape)


def _check_input(name: str, spec: Any, shape: Any) -> None:
    rank = shape.ndims
    start = f"Input 0 of layer {name} is incompatible with the layer: "
    for name_of_bound, compare in (
        ("ndim", operator.ne),
        ("max_ndim", operator.gt),
        ("min_ndim", operator.lt),
    ):
        bound = getattr(spec, name_of_bound)
        if bound is not None and rank is None:
            raise ValueError(
                f"{start}its rank is undefined, but the layer requires a defined rank."
            )
        if bound is not None and compare(rank, bound):
            raise ValueError(
                f"{start}expected {name_of_bound}={bound}, found ndim={rank}. Full shape received: "
                f"{shape}"
            )
    for axis, size in spec.axes.items():
        found = None if rank is None else shape.as_list()[axis]
        if size is not None and found not in (size, None):
            raise ValueError(
                f"{start}expected axis {axis} of input shape to have value {size} but received "
                f"input with shape {shape}"
            )


def _only(values: list[Any], name: str, what: str) -> Any:
    if len(values) != 1:
        raise AttributeError(f"Layer {name} was called {len(values)} times: it has no one {what}")
    return values[0]


def _snake_case(name: str) -> str:
    """Return the name of a class as the name of a scope.

    >>> _snake_case("MaxPooling2D"), _snake_case("BasicLSTMCell")
    ('max_pooling2d', 'basic_lstm_cell')
    """
    partly = re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", partly).lower()
