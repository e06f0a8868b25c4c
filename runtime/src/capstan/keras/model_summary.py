"""The table that `Model.summary` prints: a row for each layer, and the numbers of parameters.

The layout is that of python/keras/utils/layer_utils.py, because programs read it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from capstan.api.layers import context
from capstan.framework import nest

_PLAIN = (65, (0.45, 0.85, 1.0), ("Layer (type)", "Output Shape", "Param #"))
_LINKED = (
    98,
    (0.33, 0.55, 0.67, 1.0),
    ("Layer (type)", "Output Shape", "Param #", "Connected to"),
)


def lines(
    model: Any, line_length: int | None = None, positions: Sequence[float] | None = None
) -> Iterator[str]:
    """Yield the lines of the table of a model.

    `positions` are the ends of the columns: as parts of the line if the last is at most 1, and
    otherwise in characters.

    Raises:
        ValueError: the model has no variables yet.
    """
    if not model.built:
        raise ValueError(
            "This model has not yet been built. Build the model first by calling `build()` or "
            "calling `fit()` with some data, or specify an `input_shape` argument in the first "
            "layer(s) for automatic build."
        )
    links = None if _is_chain(model) else _Links(model)
    width, columns, header = _PLAIN if links is None else _LINKED
    length, places = line_length or width, positions or columns
    ends = [int(length * end) if places[-1] <= 1 else int(end) for end in places]
    yield f'Model: "{model.name}"'
    yield "_" * length
    yield _row(header, ends)
    yield "=" * length
    layers = model.layers
    for layer in layers:
        first, *others = [[]] if links is None else [[each] for each in links.of(layer)] or [[""]]
        yield _row([f"{layer.name} ({type(layer).__name__})", *_facts(layer), *first], ends)
        for other in others:
            yield _row(["", "", "", *other], ends)
        yield ("=" if layer is layers[-1] else "_") * length
    trained, fixed = map(_count, (model.trainable_weights, model.non_trainable_weights))
    yield f"Total params: {trained + fixed:,}"
    yield f"Trainable params: {trained:,}"
    yield f"Non-trainable params: {fixed:,}"
    yield "_" * length


def _row(fields: Sequence[Any], ends: Sequence[int]) -> str:
    """Return fields in columns that end at `ends`. A field that is too long is cut.

    >>> _row(["dense", 12], [4, 8])
    'den 12  '
    """
    line = ""
    for field, end in zip(fields, ends, strict=False):
        line = f"{line[:-1]} " if line else ""
        line = f"{line}{field}"[:end].ljust(end)
    return line


def _facts(layer: Any) -> tuple[str, str]:
    """Return the shape of the outputs of a layer, and the number of its parameters."""
    try:
        shape = str(layer.output_shape)
    except AttributeError:  # It was called several times, or never.
        shape = "multiple"
    return shape, str(layer.count_params()) if layer.built else "0 (unused)"


def _count(weights: Sequence[Any]) -> int:
    return sum(each.shape.num_elements() for each in dict.fromkeys(weights))


def _is_chain(model: Any) -> bool:
    """Return whether each layer of a model gets the outputs of the layer before."""
    function = model._function
    if function is None:
        return True
    used = [node.layer for node in function.nodes]
    one_by_one = all(len(nest.flatten(node.inputs)) == 1 for node in function.nodes)
    sources = [id(tensor) for node in function.nodes for tensor in nest.flatten(node.inputs)]
    return (
        one_by_one
        and len(set(map(id, used))) == len(used)
        and len(set(sources)) == len(sources)
        and len(model.inputs) == len(model.outputs) == 1
    )


class _Links:
    """The names of the tensors that the layers of a model get, such as `dense[0][0]`."""

    def __init__(self, model: Any) -> None:
        self._nodes = model._function.nodes
        self._names: dict[Any, str] = {}
        calls: dict[int, list[int]] = {}
        for node in context.of().nodes.values():
            of_layer = calls.setdefault(id(node.layer), [])
            if id(node) not in of_layer:
                of_layer.append(id(node))
                self._note(node, len(of_layer) - 1)

    def _note(self, node: context.Node, call: int) -> None:
        for number, tensor in enumerate(nest.flatten(node.outputs)):
            if context.is_tensor(tensor):
                self._names[tensor] = f"{node.layer.name}[{call}][{number}]"

    def of(self, layer: Any) -> list[str]:
        """Return the names of the inputs of all calls of a layer in the model."""
        return [
            self._names.get(tensor, "")
            for node in self._nodes
            if node.layer is layer
            for tensor in nest.flatten(node.inputs)
        ]
