"""The base of the layers of `tf.layers` and of `tf.keras.layers`.

`tf.layers.Layer` and `tf.keras.layers.Layer` derive from `CommonLayer`. They differ in how they
create variables, name them, and report losses and updates.
"""

import copy
import re
from collections.abc import Iterable
from typing import Any, Final

from capstan.api import module, trackable
from capstan.api.layers import input_spec as input_specs
from capstan.api.layers import layer_calls
from capstan.core import dtypes
from capstan.framework import graph as graphs
from capstan.framework import nest

_NAMES = ("__layer_names",)
_WEIGHTS: Final = ("_trainable_weights", "_non_trainable_weights")
NOT_PARTS: Final = frozenset(
    (
        *_WEIGHTS,
        *("_inputs", "_outputs", "_losses", "_updates"),
        *("_graph", "_container", "_states", "_trained"),
    )
)
"""The attributes of a layer that hold no parts of it, or parts that the layer lists itself."""


class CommonLayer(module.Module, layer_calls.Calls):
    """A function with variables. Override `build` to create them and `call` to use them.

    Calls after the first one use the same variables. `trainable` says whether optimizers change
    them.
    """

    _TF_MODULE_IGNORED_PROPERTIES = frozenset({"_hidden", *NOT_PARTS} - {*_WEIGHTS})

    def __init__(
        self, trainable: bool = True, name: Any = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        """Raises TypeError for an argument that no layer has."""
        self.activity_regularizer = kwargs.pop("activity_regularizer", None)
        if kwargs:
            raise TypeError(f"Keyword argument not understood: {', '.join(sorted(kwargs))}")
        self.trainable = trainable
        self.stateful = False
        self.built = False
        self.input_spec: Any = None
        self._dtype = None if dtype is None else dtypes.as_dtype(dtype)
        self._graph = graphs.get_default_graph()
        self._trainable_weights: list[Any] = []
        self._non_trainable_weights: list[Any] = []
        self._updates: list[Any] = []
        self._losses: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._name = name or self._unique(snake_case(type(self).__name__))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Return a copy of the same name, with the same graph, tensors and variables."""
        memo[id(self)] = copied = object.__new__(type(self))
        for name, value in vars(self).items():
            first = next(iter(nest.flatten(value)), None)
            is_listed = name in NOT_PARTS and isinstance(value, list)
            if is_listed or name in ("_scope", "_current_scope"):
                vars(copied)[name] = copy.copy(value)
            elif name == "_graph" or hasattr(first, "op") or hasattr(first, "_as_graph_element"):
                vars(copied)[name] = value
            else:
                vars(copied)[name] = copy.deepcopy(value, memo)
        return copied

    def _unique(self, base: str) -> str:
        number = self._count(base)
        return base if number == 1 else f"{base}_{number - 1}"

    def _count(self, base: str) -> int:
        """Return how many layers of the graph have got a name that begins with `base`."""
        counts = self._graph.get_collection_ref(_NAMES)
        if not counts:
            counts.append({})
        number: int = counts[0].get(base, 0) + 1
        counts[0][base] = number
        return number

    @property
    def name(self) -> str:
        return str(self._name)

    @property
    def dtype(self) -> Any:
        return None if self._dtype is None else self._dtype.name

    @property
    def name_scope(self) -> Any:
        """A context manager that enters a name scope of the layer's name."""
        return graphs.get_default_graph().name_scope(self.name)

    @property
    def graph(self) -> graphs.Graph:
        return self._graph

    @property
    def trainable_weights(self) -> list[Any]:
        raise NotImplementedError("tf.layers.Layer and tf.keras.layers.Layer define this")

    @property
    def non_trainable_weights(self) -> list[Any]:
        raise NotImplementedError("tf.layers.Layer and tf.keras.layers.Layer define this")

    @property
    def weights(self) -> list[Any]:
        """The variables of the layer. The trainable ones come first."""
        return self.trainable_weights + self.non_trainable_weights

    @property
    def trainable_variables(self) -> list[Any]:
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[Any]:
        return self.non_trainable_weights

    @property
    def variables(self) -> list[Any]:
        return self.weights

    @property
    def _checkpoint_dependencies(self) -> trackable.Dependencies:
        """The variables by the names that `add_weight` got, and the parts in the attributes."""
        weights = self._trainable_weights + self._non_trainable_weights
        named = {each.op.name.rpartition("/")[2]: each for each in weights}
        parts = trackable.in_attributes(self, NOT_PARTS | self._hidden)
        return list({**named, **dict(parts)}.items())

    @property
    def input(self) -> Any:
        return _only(self._inputs, self.name, "input")

    @property
    def output(self) -> Any:
        return _only(self._outputs, self.name, "output")

    def count_params(self) -> int:
        """Return the number of elements of all variables.

        Raises:
            ValueError: the layer has no variables yet, because it was not called.
        """
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
        """Add losses to the layer."""
        raise NotImplementedError("tf.layers.Layer and tf.keras.layers.Layer define this")

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Add operations to the layer that change its state."""
        raise NotImplementedError("tf.layers.Layer and tf.keras.layers.Layer define this")

    def add_weight(self, *args: Any, **kwargs: Any) -> Any:
        """Return a new variable of the layer."""
        raise NotImplementedError("tf.layers.Layer and tf.keras.layers.Layer define this")

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Return `call(inputs)`. The first call creates the variables."""
        raise NotImplementedError("tf.layers.Layer and tf.keras.layers.Layer define this")

    def apply(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Return `self(inputs)`."""
        return self(inputs, *args, **kwargs)

    def _check(self, tensors: Iterable[Any]) -> None:
        spec = self.input_spec
        for tensor in tensors if spec is not None else ():
            input_specs.check(self.name, spec, tensor.shape, dtype=tensor.dtype)


def _only(values: list[Any], name: str, what: str) -> Any:
    if len(values) != 1:
        raise AttributeError(f"Layer {name} was called {len(values)} times: it has no one {what}")
    return values[0]


def snake_case(name: str) -> str:
    """Return the name of a class as the name of a scope.

    A scope cannot begin with an underscore, so the name of such a class gets a prefix.

    >>> snake_case("MaxPooling2D"), snake_case("BasicLSTMCell"), snake_case("_Head")
    ('max_pooling2d', 'basic_lstm_cell', 'private__head')
    """
    partly = re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    words = re.sub("([a-z])([A-Z])", r"\1_\2", partly).lower()
    return f"private{words}" if words.startswith("_") else words
