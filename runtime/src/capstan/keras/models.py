"""`tf.keras.models`: layers made of layers (python/keras/engine/{network,sequential}.py).

A model is called in a graph as a layer is. Keras's own training is not here: the errors of `fit`
and the like say what to use.
"""

from collections.abc import Callable
from typing import Any, Never

from capstan.api import creation_ops
from capstan.framework import graph as graphs
from capstan.framework import nest
from capstan.keras import base_layer, context, settings

_INSTEAD = (
    "Capstan has the layers and models of Keras, but not its training. Call the model on tensors, "
    "minimize its loss plus `losses` with an optimizer of tf.train, run `updates` with each step, "
    "and use a MonitoredTrainingSession or a tf.estimator.Estimator"
)
_TRAINING = frozenset(
    (
        *("compile", "fit", "fit_generator", "evaluate", "evaluate_generator", "predict"),
        *("predict_generator", "predict_on_batch", "train_on_batch", "test_on_batch"),
        *("load_weights", "save", "save_weights", "to_json", "to_yaml"),
    )
)


class InputLayer(base_layer.Layer):
    """The placeholder of an input, or a tensor that takes its place."""

    def __init__(
        self,
        input_shape: Any = None,
        batch_size: int | None = None,
        dtype: Any = None,
        input_tensor: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        full = kwargs.pop("batch_input_shape", None)
        kind = dtype or (settings.SETTINGS.floatx if input_tensor is None else input_tensor.dtype)
        super().__init__(name=name or context.of().numbered("input"), dtype=kind, **kwargs)
        if full is None:
            full = (batch_size, *(() if input_shape is None else tuple(input_shape)))
        if input_tensor is None:
            input_tensor = creation_ops.placeholder(self._dtype, full, name=self.name)
        self._batch_input_shape = tuple(input_tensor.shape.as_list())
        self.built = True
        context.of().record(context.Node(self, [], (), {}, input_tensor))
        self._inputs.append(input_tensor)
        self._outputs.append(input_tensor)


def Input(
    shape: Any = None,
    batch_size: int | None = None,
    name: str | None = None,
    dtype: Any = None,
    sparse: bool = False,
    tensor: Any = None,
    **kwargs: Any,
) -> Any:
    """Return the placeholder of an input. `shape` is the shape of one example.

    Raises:
        NotImplementedError: the input is sparse.
        ValueError: there is no shape and no tensor.
    """
    if sparse:
        raise NotImplementedError("tf.keras.Input: use tf.sparse.placeholder for a sparse input")
    full = kwargs.pop("batch_shape", None)
    if shape is None and full is None and tensor is None:
        raise ValueError("Please provide to Input either a `shape` or a `tensor` argument.")
    if full is not None:
        kwargs["batch_input_shape"] = tuple(full)
    layer = InputLayer(shape, batch_size, dtype, tensor, name, **kwargs)
    return layer.output


class Model(base_layer.Layer):
    """A layer made of layers.

    A subclass overrides `call`. `Model(inputs=..., outputs=...)` is the function that layers have
    computed from `inputs` (of `tf.keras.Input`) to `outputs`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Raises ValueError if an output does not come from the inputs through layers."""
        given = dict(zip(("inputs", "outputs", "name"), args, strict=False))
        inputs = given.pop("inputs", kwargs.pop("inputs", None))
        outputs = given.pop("outputs", kwargs.pop("outputs", None))
        super().__init__(**given, **kwargs)
        self.inputs: Any = None
        self.outputs: Any = None
        self._function: Any = None
        if outputs is not None:
            self._set_function(inputs, outputs)

    def _set_function(self, inputs: Any, outputs: Any) -> None:
        self._function = _Function(context.of(), inputs, outputs)
        self.inputs, self.outputs = nest.flatten(inputs), nest.flatten(outputs)
        self._functional_layers = self._function.layers
        self.built = True

    @property
    def layers(self) -> list[Any]:
        return self._layers

    def get_layer(self, name: str | None = None, index: int | None = None) -> Any:
        """Return the layer with this name or index.

        Raises:
            ValueError: there is no such layer.
        """
        if index is not None and index < len(self.layers):
            return self.layers[index]
        for layer in self.layers:
            if layer.name == name:
                return layer
        known = [layer.name for layer in self.layers]
        raise ValueError(f"No such layer: {name or index}. The model {self.name} has {known}")

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """Raises NotImplementedError if the model is a subclass that does not override `call`."""
        if self._function is None:
            raise NotImplementedError(
                f"When subclassing the `Model` class, you should implement a `call` method: "
                f"{type(self).__name__} has none"
            )
        return self._function(inputs)

    def summary(self, print_fn: Callable[[str], Any] = print) -> None:
        """Print a line for each layer, with its type and its number of parameters."""
        rows = [("Layer (type)", "Parameters")]
        for layer in self.layers:
            count = str(layer.count_params()) if layer.built else "not built"
            rows.append((f"{layer.name} ({type(layer).__name__})", count))
        width = max(len(name) for name, _ in rows)
        print_fn(f'Model: "{self.name}"')
        for name, count in rows:
            print_fn(f"{name:{width}}  {count:>10}")
        trained = sum(each.shape.num_elements() for each in self.trainable_weights)
        fixed = sum(each.shape.num_elements() for each in self.non_trainable_weights)
        print_fn(f"{trained} trainable and {fixed} other parameters")

    def __getattr__(self, name: str) -> Never:
        if name in _TRAINING:
            raise NotImplementedError(f"Model.{name}: {_INSTEAD}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class _Function:
    """The calls of layers that lead from inputs to outputs. A call repeats them on other inputs."""

    def __init__(self, known: context.GraphContext, inputs: Any, outputs: Any) -> None:
        self._inputs, self._outputs = nest.flatten(inputs), outputs
        self._nodes: list[context.Node] = []
        self._visit(known, nest.flatten(outputs))
        given = [known.nodes[tensor].layer for tensor in self._inputs if tensor in known.nodes]
        called = [node.layer for node in self._nodes]
        self.layers = list({id(layer): layer for layer in (*given, *called)}.values())

    def _visit(self, known: context.GraphContext, outputs: list[Any]) -> None:
        """List the nodes in an order in which each comes behind the nodes of its inputs."""
        ends = {id(tensor) for tensor in self._inputs}
        done: set[int] = set()
        pending = [(tensor, False) for tensor in reversed(outputs)]
        while pending:
            tensor, is_ready = pending.pop()
            if id(tensor) in ends or not isinstance(tensor, graphs.Tensor):
                continue
            node = known.nodes.get(tensor)
            if node is None or isinstance(node.layer, InputLayer):
                raise ValueError(
                    f"Graph disconnected: no layer computes {tensor.name} from the inputs. Call "
                    "operations inside of a layer, such as tf.keras.layers.Lambda"
                )
            if id(node) in done:
                continue
            if is_ready:
                done.add(id(node))
                self._nodes.append(node)
                continue
            pending.append((tensor, True))
            pending += [(each, False) for each in reversed(nest.flatten(node.inputs))]

    def __call__(self, inputs: Any) -> Any:
        found = {id(old): new for old, new in zip(self._inputs, nest.flatten(inputs), strict=True)}

        def new(value: Any) -> Any:
            return found.get(id(value), value)

        for node in self._nodes:
            made = node.layer(nest.mapped(new, node.inputs), *node.args, **node.kwargs)
            for old, tensor in zip(nest.flatten(node.outputs), nest.flatten(made), strict=True):
                found[id(old)] = tensor
        return nest.mapped(new, self._outputs)


class Sequential(Model):
    """A model whose layers follow each other.

    If the first layer has an `input_shape`, the model makes its input and calls each layer at once.
    Otherwise its first call makes the variables.
    """

    def __init__(self, layers: Any = None, name: str | None = None) -> None:
        self._sequence: list[Any] = []
        self._ends: list[Any] = []
        super().__init__(name=name)
        for layer in layers or ():
            self.add(layer)

    @property
    def layers(self) -> list[Any]:
        return [each for each in self._sequence if not isinstance(each, InputLayer)]

    @property
    def _layers(self) -> list[Any]:
        return self._sequence

    def add(self, layer: Any) -> None:
        """Append a layer.

        Raises:
            TypeError: `layer` is no layer.
        """
        if not isinstance(layer, base_layer.Layer):
            raise TypeError(f"The added layer must be an instance of class Layer. Found: {layer}")
        self._sequence.append(layer)
        if self._ends:
            self._ends.append(layer(self._ends[-1]))
        elif len(self._sequence) == 1 and isinstance(layer, InputLayer):
            self.inputs = [layer.output]
            self._ends.append(layer.output)
        elif len(self._sequence) == 1 and hasattr(layer, "_batch_input_shape"):
            self.inputs = [Input(batch_shape=layer._batch_input_shape, dtype=layer.dtype)]
            self._ends.append(layer(self.inputs[0]))
        self._close()

    def pop(self) -> None:
        """Remove the last layer.

        Raises:
            TypeError: there is no layer.
        """
        if not self.layers:
            raise TypeError("There are no layers in the model.")
        self._sequence.pop()
        self._ends = self._ends[:-1]
        self._close()

    def _close(self) -> None:
        """End the model with the outputs of the last layer that was called at once."""
        self.outputs = self._ends[-1:] or None
        self.built = self.outputs is not None

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        outputs = inputs
        for layer in self.layers:
            outputs = layer(outputs)
        return outputs
