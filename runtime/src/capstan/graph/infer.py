"""Facts about tensors that are known before the step: dtype, static shape and constant values.

The shape rules in `framework.opdef` give the shapes. If the op is unknown or has no shape rule, the
shapes of the node's outputs are unknown. If a shape rule refuses its inputs, the shapes are unknown
too. The kernel then reports the error in the step, with the real values.
"""

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import dtypes, shapes
from capstan.core import node as ir
from capstan.core.arrays import Array
from capstan.framework import attributes as attribute_rules
from capstan.framework import facts, opdef


@dataclass(frozen=True, slots=True)
class Elements:
    """The facts that hold for all elements of a stack.

    `value` is None unless all elements have the same value, which is known before the step.
    """

    shape: shapes.Shape = None
    value: Array | None = None

    def merged(self, other: "Elements") -> "Elements":
        """Return the facts that hold both for these elements and for `other`."""
        mine, theirs = self.value, other.value
        is_same = mine is theirs or (
            mine is not None
            and theirs is not None
            and mine.dtype == theirs.dtype
            and np.array_equal(mine, theirs)
        )
        shape = shapes.most_general(self.shape, other.shape)
        return Elements(shape, mine if is_same else None)

    def is_as(self, other: "Elements") -> bool:
        """Return whether `other` states the same facts."""
        return self.shape == other.shape and self.value is other.value


@dataclass(frozen=True, slots=True)
class Fed:
    """The dtype and shape of a feed, or of an argument of a function.

    `shape` is None if the shape may differ between steps. Only an argument can be a reference, or
    the handle of a stack with `elements`.
    """

    dtype: dtypes.DType
    shape: shapes.Shape
    is_ref: bool = False
    elements: Elements | None = None


_NAMED = frozenset({facts.Role.VARIABLE, facts.Role.HANDLE})


@dataclass(slots=True)
class Knowledge:
    """Facts by tensor. `constants` holds the values of constants, never the value of a feed."""

    fed: Mapping[ir.Edge, Fed] = field(default_factory=dict)
    tensor_dtypes: dict[ir.Edge, dtypes.DType] = field(default_factory=dict)
    tensor_shapes: dict[ir.Edge, shapes.Shape] = field(default_factory=dict)
    constants: dict[ir.Edge, Array] = field(default_factory=dict)
    refs: set[ir.Edge] = field(default_factory=set)
    named: dict[ir.Edge, ir.Node] = field(default_factory=dict)
    """For each reference or handle: the variable or resource node that it comes from."""
    elements: dict[ir.Edge, Elements] = field(default_factory=dict)
    """The facts about the elements of each stack on which a node pushes, by its first handle."""
    popped: set[ir.Edge] = field(default_factory=set)
    """The first handles of the stacks from which a node pops."""
    _handles: dict[ir.Edge, ir.Edge] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for edge, fed in self.fed.items():
            if fed.elements is not None:
                self.elements[edge] = fed.elements
            self.tensor_dtypes[edge] = fed.dtype
            self.tensor_shapes[edge] = fed.shape

    def learn(self, node: ir.Node) -> None:
        """Add the facts about the outputs of `node`. Call `learn` for its producers first."""
        if not opdef.is_defined(node.op):
            return
        _, outputs = tensors(node)
        known = self._shapes(opdef.lookup(node.op), node, attributes(node), len(outputs))
        for index, ((dtype, is_ref), shape) in enumerate(zip(outputs, known, strict=True)):
            edge = ir.Edge(node.name, index)
            if edge in self.fed:
                continue
            self.tensor_dtypes[edge] = dtype
            self.tensor_shapes[edge] = shape
            if is_ref:
                self.refs.add(edge)
        if is_constant(node) and ir.Edge(node.name) not in self.fed:
            self.constants[ir.Edge(node.name)] = node.attrs["value"]
        self._learn_name(node, outputs)
        self._learn_elements(node, len(outputs))

    def _learn_name(self, node: ir.Node, outputs: "Tensors") -> None:
        role = opdef.role(node.op)
        if not node.inputs and role in _NAMED:
            self.named[ir.Edge(node.name)] = node
        if not node.inputs or node.inputs[0] not in self.named or role is facts.Role.MERGE:
            return
        passes_handles = role in (facts.Role.IDENTITY, facts.Role.SWITCH)
        for index, (dtype, is_ref) in enumerate(outputs):
            # Any other op that returns a reference returns the reference that it takes.
            if is_ref or (passes_handles and dtype is dtypes.resource):
                self.named[ir.Edge(node.name, index)] = self.named[node.inputs[0]]

    def first_handle(self, edge: ir.Edge) -> ir.Edge:
        """Return the handle that `edge` is a copy of, or `edge` itself."""
        return self._handles.get(edge, edge)

    def add_elements(self, handle: ir.Edge, elements: Elements) -> None:
        """Add the facts about some of the elements of a stack."""
        first = self.first_handle(handle)
        held = self.elements.get(first)
        self.elements[first] = elements if held is None else held.merged(elements)

    def _learn_elements(self, node: ir.Node, count: int) -> None:
        role = opdef.role(node.op)
        for index, edge in enumerate(node.inputs):
            if self.tensor_dtypes.get(edge) is not dtypes.resource or role is facts.Role.WHILE:
                continue  # the compiler of the functions adds the elements that a loop pushes
            if role is facts.Role.PUSH and index == 0:
                pushed = node.inputs[1]
                facts_of_all = Elements(self.tensor_shapes.get(pushed), self.constants.get(pushed))
                self.add_elements(edge, facts_of_all)
            elif role is facts.Role.POP:
                self.popped.add(self.first_handle(edge))
            elif role in (facts.Role.IDENTITY, facts.Role.SWITCH) and index == 0:
                for output in range(count):
                    self._handles[ir.Edge(node.name, output)] = self.first_handle(edge)
            else:
                self.add_elements(edge, Elements())  # any op may push on the stack from here

    def _shapes(
        self, row: opdef.OpDef, node: ir.Node, attrs: Mapping[str, Any], count: int
    ) -> Sequence[shapes.Shape]:
        if row.shape is None:
            return (None,) * count
        context = opdef.ShapeContext(
            inputs=[self.tensor_shapes.get(edge) for edge in node.inputs],
            attrs=attrs,
            constants={
                index: self.constants[edge]
                for index, edge in enumerate(node.inputs)
                if edge in self.constants
            },
        )
        try:
            known = tuple(row.shape(context))
        except (ValueError, IndexError, TypeError):
            return (None,) * count
        return known if len(known) == count else (None,) * count


def is_constant(node: ir.Node) -> bool:
    """Return whether the output of `node` is its attribute `value`."""
    return opdef.role(node.op) is facts.Role.CONSTANT


def attributes(node: ir.Node) -> dict[str, Any]:
    """Return the attributes of `node`, and its op's defaults for the attributes that it omits."""
    return {**opdef.lookup(node.op).defaults, **node.attrs}


Tensors = Sequence[tuple[dtypes.DType, bool]]
"""For each tensor: its dtype, and whether it is a reference."""


def arguments(node: ir.Node) -> tuple[Tensors, Tensors]:
    """Check `node`. Return the inputs and outputs of its op, given its attributes.

    Raises:
        NotFoundError: the op is not registered.
        InvalidArgumentError: an attribute is missing or wrong, or the number of inputs is wrong.
    """
    row = opdef.lookup(node.op)
    try:
        attribute_rules.verify(row, attributes(node))
        inputs, outputs = tensors(node)
    except (KeyError, TypeError) as fault:
        raise errors.InvalidArgumentError(
            None, None, f"NodeDef of '{node.name}' does not fit Op<name={node.op}>: {fault}"
        ) from None
    if len(inputs) != len(node.inputs):
        expected = ", ".join(dtype.name for dtype, _ in inputs)
        raise errors.InvalidArgumentError(
            None,
            None,
            f"NodeDef of '{node.name}' has {len(node.inputs)} inputs, but Op<name={node.op}> "
            f"expects '{expected}'",
        )
    return inputs, outputs


def tensors(node: ir.Node) -> tuple[Tensors, Tensors]:
    """Return the inputs and outputs of the op of `node`. `arguments` must have checked `node`."""
    values = tuple(map(node.attrs.get, opdef.lookup(node.op).type_attributes))
    try:
        return _expanded(node.op, values)
    except TypeError:  # a list, which has no hash
        listed = (tuple(value) if isinstance(value, list) else value for value in values)
        return _expanded(node.op, tuple(listed))


@functools.lru_cache(maxsize=4096)
def _expanded(op: str, values: tuple[Any, ...]) -> tuple[Tensors, Tensors]:
    """Return the inputs and outputs of an op whose `type_attributes` have these values.

    None stands for an attribute that the node omits.
    """
    row = opdef.lookup(op)
    pairs = zip(row.type_attributes, values, strict=True)
    given = {name: value for name, value in pairs if value is not None}
    attrs = {**row.defaults, **given}
    return opdef.expand(row.input_arguments, attrs), opdef.expand(row.output_arguments, attrs)


def inputs_of(node: ir.Node, arguments: Collection[str]) -> list[ir.Edge]:
    """Return the inputs of `node` that belong to the named arguments of its op."""
    if not arguments:
        return []
    attrs = attributes(node)
    found: list[ir.Edge] = []
    start = 0
    for argument in opdef.lookup(node.op).input_arguments:
        end = start + len(opdef.expand([argument], attrs))
        if argument.name in arguments:
            found += node.inputs[start:end]
        start = end
    return found


def is_static(shape: shapes.Shape) -> bool:
    """Return whether every dimension of `shape` is known."""
    return shape is not None and None not in shape
