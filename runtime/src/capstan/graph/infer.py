"""What is known of every tensor before the step: dtype, static shape, and small constant values.

The rows of `framework.opdef` give the shapes; a node whose row has no shape rule, or whose op is
unknown, has unknown shapes. Wrong graphs are found when they run, not here: a rule that refuses its
inputs leaves the shape unknown, and the kernel says what is wrong with the real values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from capstan import errors
from capstan.core import dtypes, node, shapes
from capstan.core.arrays import Array
from capstan.framework import attributes as attribute_rules
from capstan.framework import opdef


@dataclass(frozen=True, slots=True)
class Fed:
    """What is fed in place of a tensor; `shape` is None when it may change."""

    dtype: dtypes.DType
    shape: shapes.Shape


@dataclass(slots=True)
class Knowledge:
    """Facts by tensor. `constants` holds what is known before the step, never a feed."""

    fed: Mapping[node.Edge, Fed] = field(default_factory=dict)
    tensor_dtypes: dict[node.Edge, dtypes.DType] = field(default_factory=dict)
    tensor_shapes: dict[node.Edge, shapes.Shape] = field(default_factory=dict)
    constants: dict[node.Edge, Array] = field(default_factory=dict)
    refs: set[node.Edge] = field(default_factory=set)

    def __post_init__(self) -> None:
        for edge, facts in self.fed.items():
            self.tensor_dtypes[edge] = facts.dtype
            self.tensor_shapes[edge] = facts.shape

    def learn(self, item: node.Node) -> None:
        """Add the facts about the outputs of `item`, whose producers are known already."""
        if not opdef.is_defined(item.op):
            return
        _, outputs = arguments(item)
        known = self._shapes(opdef.lookup(item.op), item, attributes(item), len(outputs))
        for index, ((dtype, is_ref), shape) in enumerate(zip(outputs, known, strict=True)):
            edge = node.Edge(item.name, index)
            if edge in self.fed:
                continue
            self.tensor_dtypes[edge] = dtype
            self.tensor_shapes[edge] = shape
            if is_ref:
                self.refs.add(edge)
        if item.op == "Const" and node.Edge(item.name) not in self.fed:
            self.constants[node.Edge(item.name)] = item.attrs["value"]

    def _shapes(
        self, row: opdef.OpDef, item: node.Node, attrs: Mapping[str, Any], count: int
    ) -> Sequence[shapes.Shape]:
        if row.shape is None:
            return (None,) * count
        context = opdef.ShapeContext(
            inputs=[self.tensor_shapes.get(edge) for edge in item.inputs],
            attrs=attrs,
            constants={
                index: self.constants[edge]
                for index, edge in enumerate(item.inputs)
                if edge in self.constants
            },
        )
        try:
            known = tuple(row.shape(context))
        except (ValueError, IndexError, TypeError):
            return (None,) * count
        return known if len(known) == count else (None,) * count


def attributes(item: node.Node) -> dict[str, Any]:
    """The attributes of `item`, with its op's defaults for those that are left out."""
    row = opdef.lookup(item.op)
    filled = {name: value for name, value in row.attrs.items() if not isinstance(value, type)}
    filled.update(item.attrs)
    return filled


Tensors = Sequence[tuple[dtypes.DType, bool]]
"""A dtype, and whether it is a reference, per tensor."""


def arguments(item: node.Node) -> tuple[Tensors, Tensors]:
    """The inputs and outputs that the op of `item` has for its attributes.

    Raises:
        NotFoundError: the op is not registered.
        InvalidArgumentError: an attribute is missing or wrong, or the inputs are too few or many.
    """
    row = opdef.lookup(item.op)
    attrs = attributes(item)
    try:
        attribute_rules.verify(row, attrs)
        inputs = opdef.expand(row.input_arguments, attrs)
        outputs = opdef.expand(row.output_arguments, attrs)
    except (KeyError, TypeError) as fault:
        raise errors.InvalidArgumentError(
            None, None, f"NodeDef of '{item.name}' does not fit Op<name={item.op}>: {fault}"
        ) from None
    if len(inputs) != len(item.inputs):
        wanted = ", ".join(dtype.name for dtype, _ in inputs)
        raise errors.InvalidArgumentError(
            None,
            None,
            f"NodeDef of '{item.name}' has {len(item.inputs)} inputs, but Op<name={item.op}> "
            f"expects '{wanted}'",
        )
    return inputs, outputs


def is_static(shape: shapes.Shape) -> bool:
    """Say whether buffers can be planned for `shape`."""
    return shape is not None and None not in shape
