"""The inputs of a model, and the batches that its training reads for them."""

import itertools
from collections.abc import Mapping
from typing import Any

from capstan.api import data
from capstan.api.layers import calls, context, sessions
from capstan.framework import graph as graphs
from capstan.framework import nest, sparse_tensor
from capstan.keras import learning
from capstan.keras.training import batches, examples, sources, symbolic, targets

BATCH_SIZE = 32
"""The number of examples in a batch of arrays, if the program does not say."""


class Reader:
    """A model with inputs and outputs. A model without inputs gets those that its data need."""

    inputs: Any
    outputs: Any
    _compiled: Any = None
    _keys: list[str] | None = None
    """The names of the inputs of a model that was called on a dictionary of them."""
    _built_for: Any = None
    """The shape of the input of `build`, or of the only input that data have given."""

    def _session(self) -> Any:
        return sessions.get_session()

    def _ready_graph(self, x: Any) -> graphs.Graph:
        """Return the graph of the model. A model without inputs gets those that `x` needs."""
        if not self.outputs:
            self._set_inputs(x, keeps_tensors=False)
        graph: graphs.Graph = context.graph_of(self.outputs[0])
        return graph

    def _opened(self, x: Any) -> Any:
        """Return the data `x`. A model without inputs gets those that a generator's batches need.

        Raises:
            ValueError: the model has no inputs, and the generator has no batches.
        """
        if self.outputs or not _is_generator(x):
            return x
        first = next(x, None) if hasattr(x, "__next__") else x[0]
        if first is None:
            raise ValueError(
                f"The model {type(self).__name__} has no inputs yet, and the generator that should "
                "tell them has no batches"
            )
        self._set_inputs(first[0] if isinstance(first, tuple) else first, keeps_tensors=False)
        return itertools.chain([first], x) if hasattr(x, "__next__") else x

    def _set_inputs(self, x: Any, keeps_tensors: bool = True) -> None:
        """Call the model on placeholders for arrays like `x`, or for the inputs of a dataset.

        Placeholders in `x`, such as those of `tf.keras.Input`, are the inputs themselves, and other
        tensors if `keeps_tensors`. The keys of a dictionary become the names of the inputs.

        Raises:
            ValueError: `call` requires other arguments than the inputs and `training`.
        """
        signature = calls.Signature(self.call)  # type: ignore[attr-defined]
        others = [name for name in signature.required() if name != "training"]
        if others:
            raise ValueError(
                "Models passed to `fit`, `evaluate`, `predict` and so on can only have `training` "
                "and the first argument in `call` as positional arguments, found: "
                f"{others}"
            )
        made = examples.inputs_for(x, keeps_tensors=keeps_tensors)
        self._keys = sorted(made) if isinstance(made, Mapping) else None
        self.inputs = nest.flatten(made)
        if self._keys is None and len(self.inputs) == 1:
            self._built_for = self.inputs[0].shape
        is_one = isinstance(made, list | tuple) and len(made) == 1
        # The phase comes before a default of the argument, such as `training=False`.
        takes_training = signature.takes("training")
        options = {"training": learning.learning_phase()} if takes_training else {}
        called = self(self.inputs[0] if is_one else made, **options)  # type: ignore[operator]
        self.outputs = nest.flatten(called)

    @property
    def _is_graph_network(self) -> bool:
        """Whether layers were called on the inputs of the model when it was made."""
        return False

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs, which dictionaries of inputs have as keys.

        They are the names of layers, or `input_1`, `input_2` ... for a subclass of `Model`.
        """
        return self._keys or _ends(self.inputs or [], "input", self._is_graph_network)

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs: the names of the layers that compute them.

        Those of a subclass of `Model` are `output_1`, `output_2` ...
        """
        return _ends(self.outputs or [], "output", self._is_graph_network)

    @property
    def _names(self) -> batches.Names:
        names = self.output_names
        named = zip(self.input_names, self.inputs or [], strict=True)
        fed = {name: tensor for name, tensor in named if symbolic.is_fed(tensor)}
        sparse = [name for name, each in fed.items() if _is_sparse(each)]
        shapes = [_shape(each) for each in fed.values()] if self._is_graph_network else []
        if self._compiled is None or not names:
            return batches.Names(list(fed), names, sparse=sparse, shapes=shapes)
        trained = self._compiled.with_loss(names)
        ignored = [number for number, name in enumerate(names) if name not in trained]
        tensors = zip(names, self._compiled.tensors(names), strict=True)
        given = [
            name for name, tensor in tensors if tensor is not None and not symbolic.is_fed(tensor)
        ]
        expected = self._expected(names, given) if self._is_graph_network else []
        return batches.Names(list(fed), trained, ignored, given, expected, sparse, shapes)

    def _expected(self, names: list[str], given: list[str]) -> list[targets.Expected | None]:
        """Return what the losses of the outputs expect as targets, without the `given` ones."""
        return [
            targets.expected(loss, output.shape)
            for name, loss, output in zip(
                names, self._compiled.losses(names), self.outputs, strict=True
            )
            if loss is not None and name not in given
        ]

    @property
    def _fed_inputs(self) -> list[Any]:
        return [tensor for tensor in self.inputs if symbolic.is_fed(tensor)]

    def _examples(self, x: Any, y: Any, sample_weight: Any, class_weight: Any) -> batches.Batch:
        if not self.outputs:
            self._set_inputs(x, keeps_tensors=False)
        # The session that initializes variables comes first: a tensor may read them.
        if symbolic.has_tensors(x, y, sample_weight):
            x, y, sample_weight = symbolic.values(self._session(), x, y, sample_weight)
        return batches.of_arrays(x, y, sample_weight, class_weight, self._names)

    def _split(
        self, x: Any, y: Any, sample_weight: Any, class_weight: Any, share: float
    ) -> tuple[batches.Batch, batches.Batch]:
        """Return the examples that train the model, and the last ones, which validate it.

        Raises:
            ValueError: the data are no arrays.
        """
        if isinstance(x, data.Dataset | data.Iterator) or _is_generator(x):
            raise ValueError(
                "`validation_split` argument is not supported when input `x` is a dataset, a "
                "dataset iterator or a generator. Pass `validation_data`"
            )
        if symbolic.has_tensors(x, y, sample_weight):
            raise ValueError(
                "If your data is in the form of symbolic tensors, you cannot use "
                "`validation_split`. Pass `validation_data` and `validation_steps`"
            )
        examples = self._examples(x, y, sample_weight, class_weight)
        cut = int(examples.size * (1.0 - share))
        return batches.part(examples, slice(None, cut)), batches.part(examples, slice(cut, None))

    def _source(
        self,
        x: Any,
        y: Any,
        sample_weight: Any,
        class_weight: Any,
        batch_size: int | None,
        count: int | None,
        shuffle: Any,
        restarts: bool = False,
    ) -> batches.Source:
        """Return the batches of arrays, of tensors, of a dataset, or of a generator.

        With `restarts`, each pass over a dataset begins with its first batch.

        Raises:
            ValueError: there are targets beside a dataset or a generator, or there are no data, or
                tensors without a number of steps.
        """
        if x is None:
            return self._without_data(y, count)
        is_dataset = isinstance(x, data.Dataset | data.Iterator)
        if is_dataset or _is_generator(x):
            if batch_size is not None and not isinstance(x, data.Iterator):
                raise ValueError(
                    "The `batch_size` argument must not be specified for the given input type. The "
                    f"elements of a {type(x).__name__} are batches already. Received batch_size: "
                    f"{batch_size}"
                )
            if y is not None or sample_weight is not None:
                raise ValueError(
                    "`y` and `sample_weight` must be parts of the elements if `x` is a dataset or "
                    "a generator"
                )
            if is_dataset:
                names = self._names
                return sources.Dataset(x, self._session(), names, count, class_weight, restarts)
            return sources.Generator(x, self._names, count, class_weight, bool(shuffle))
        if symbolic.has_tensors(x, y, sample_weight) and not (
            count is None and symbolic.are_composite(x, y, sample_weight)
        ):
            given = [x, y, sample_weight]
            return symbolic.Symbolic(given, class_weight, self._session(), self._names, count)
        if isinstance(x, batches.Batch):
            examples = x
        else:
            examples = self._examples(x, y, sample_weight, class_weight)
        size = self._batch_size(batch_size)
        if count and batch_size is None:
            size = -(-examples.size // count)
        return sources.Arrays(examples, size, shuffle)

    def _batch_size(self, given: int | None) -> int:
        """Return the size of the batches of arrays: `given`, or that of an input that has one.

        Raises:
            ValueError: an input has another size.
        """
        shapes = [tensor.shape for tensor in self._fed_inputs]
        sizes = [shape[:1].as_list()[0] for shape in shapes if shape.ndims]
        fixed = next((size for size in sizes if size is not None), None)
        if fixed is not None and given not in (None, fixed):
            raise ValueError(
                f"The `batch_size` argument value {given} is incompatible with the specified batch "
                f"size of your Input Layer: {fixed}"
            )
        return given or fixed or BATCH_SIZE

    def _without_data(self, y: Any, count: int | None) -> batches.Source:
        """Return steps of a model whose inputs and targets are tensors of the graph.

        Raises:
            ValueError: the model needs data, or there is no number of steps.
        """
        names = self._names
        if names.inputs or y is not None:
            raise ValueError(
                f"The model needs data for its inputs {list(names.inputs)}. Pass them as `x`"
            )
        if count is None:
            raise symbolic.without_steps()
        return sources.Tensors(names, count)

    def _validation(
        self, given: Any, source: batches.Source, batch_size: int | None, count: int | None
    ) -> batches.Source:
        """Return the batches of the validation data of a training on `source`."""
        if isinstance(given, tuple | list):
            x, y, weights = (*given, None, None)[:3]
            is_array = not (symbolic.has_tensors(x, y, weights) or isinstance(x, data.Dataset))
            if isinstance(source, sources.Generator) and is_array:
                return sources.BesideGenerator(self._examples(x, y, weights, None), source)
            return self._source(x, y, weights, None, batch_size, count, shuffle=False)
        return self._source(
            given, None, None, None, batch_size, count, shuffle=False, restarts=True
        )


def _is_sparse(tensor: Any) -> bool:
    return isinstance(tensor, sparse_tensor.SparseTensor)


def _shape(tensor: Any) -> Any:
    """Return the shape of an input as its layer gives it, or None if its rank is unknown."""
    node = context.of(context.graph_of(tensor)).nodes.get(tensor)
    found = getattr(None if node is None else node.layer, "_batch_input_shape", None)
    if found is not None:
        return found
    return None if tensor.shape.ndims is None else tensor.shape.as_list()


def _ends(tensors: list[Any], what: str, has_layers: bool) -> list[str]:
    """Return a name for each input or output: that of its layer, with a number if it repeats."""
    found: list[str] = []
    for number, tensor in enumerate(tensors, 1):
        node = context.of(context.graph_of(tensor)).nodes.get(tensor) if has_layers else None
        base = name = f"{what}_{number}" if node is None else node.layer.name
        count = 1
        while name in found:
            name, count = f"{base}_{count}", count + 1
        found.append(name)
    return found


def _is_generator(x: Any) -> bool:
    if isinstance(x, list | tuple | dict | batches.Batch) or hasattr(x, "__array__") or x is None:
        return False
    return hasattr(x, "__next__") or (
        hasattr(x, "__getitem__") and hasattr(x, "__len__") and not hasattr(x, "dtype")
    )
