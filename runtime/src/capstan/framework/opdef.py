"""The registry of ops.

The row of an op, an `OpDef`, holds everything that Capstan knows about the op, except how to run
it: its arguments and attributes, its shapes and gradients, its effects and its role.

The code that runs an op is in `kernels`. The rows are in `framework.ops`, one file per family. The
graph builder, `tf.gradients` and all passes of the compiler read the rows. No other module decides
by the name of an op.
"""

import collections
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from capstan import errors
from capstan.core import dtypes, shapes, tensor_shape
from capstan.core.arrays import Array
from capstan.framework import facts

_ARGUMENT = re.compile(
    r"(?P<name>\w+): (?:(?P<number>\w+) \* )?(?:Ref\((?P<ref>\w+)\)|(?P<type>\w+))$"
)


@dataclass(frozen=True, slots=True)
class Argument:
    """One input or output of an op.

    `type` is the name of a dtype (`int32`), of a type attribute (`T`), or of an attribute that is a
    list of types (`dtypes`). If the argument takes several tensors of one type, `number` names the
    attribute that holds their count.
    """

    name: str
    type: str
    number: str | None = None
    is_ref: bool = False

    @classmethod
    def parse(cls, text: str) -> "Argument":
        """Read an argument in TensorFlow's notation.

        >>> Argument.parse("values: N * T")
        Argument(name='values', type='T', number='N', is_ref=False)
        >>> Argument.parse("ref: Ref(T)").is_ref
        True
        """
        match = _ARGUMENT.match(text)
        if match is None:
            raise ValueError(f"not an argument: {text!r}; write 'x: T', 'x: N * T' or 'x: Ref(T)'")
        ref = match["ref"]
        return cls(match["name"], ref or match["type"], match["number"], ref is not None)


def _unknown(_: int) -> shapes.Shape:
    return None


@dataclass(frozen=True, slots=True)
class ShapeContext:
    """The facts that a shape rule may use.

    `inputs` are the static shapes of the inputs. None is an unknown rank, and None in a shape is an
    unknown size. `attrs` has every attribute, with the defaults. `constants` maps the index of an
    input to its value if the value is known before the step. `sizes_of` returns the elements of an
    input that are known, as `facts.SizesContext` describes.
    """

    inputs: Sequence[shapes.Shape]
    attrs: Mapping[str, Any]
    constants: Mapping[int, Array] = field(default_factory=dict)
    sizes_of: Callable[[int], shapes.Shape] = _unknown

    def constant(self, index: int) -> Array | None:
        """Return the value of input `index`, or None if it is not known before the step."""
        return self.constants.get(index)


ShapeRule = Callable[[ShapeContext], Sequence[shapes.Shape]]


class Tensor(Protocol):
    """The part of a tensor of the graph (`framework.graph.Tensor`) that a gradient rule may use."""

    @property
    def op(self) -> "Op": ...

    @property
    def dtype(self) -> dtypes.DType: ...

    @property
    def shape(self) -> tensor_shape.TensorShape: ...


class Op(Protocol):
    """The part of an operation (`framework.graph.Operation`) that a gradient rule may use."""

    @property
    def type(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def graph(self) -> Any: ...

    @property
    def device(self) -> str:
        """The requested device."""

    @property
    def control_flow_context(self) -> Any:
        """The conditional or loop that the operation is in (`control_context`), or None."""

    @property
    def inputs(self) -> Sequence[Tensor]: ...

    @property
    def outputs(self) -> Sequence[Tensor]: ...

    def get_attr(self, name: str) -> Any: ...

    def constant_value(self) -> Array | None: ...


class Raw(Protocol):
    """A builder of any op by its name (`framework.raw`)."""

    def __getattr__(self, name: str) -> Callable[..., Any]: ...


Gradients = Sequence[Tensor | None]
"""The gradient of each input or output of an op: a tensor, an IndexedSlices, or None."""
GradientRule = Callable[[Op, Gradients, Raw], Gradients]


_FED_OR_DECIDING = facts.CONTROL_FLOW | {facts.Role.PLACEHOLDER, facts.Role.DEFAULT}


class Floats(list[float]):
    """The kind of an attribute that is a list of floating-point numbers."""


@dataclass(frozen=True, slots=True)
class OpDef:
    """One row of the registry.

    `attrs` maps the name of an attribute to its default. If the attribute has no default, a class
    stands in its place: `int`, `dtypes.DType`, `tensor_shape.TensorShape`, `bytes`, `bool`,
    `np.ndarray`, `Floats`, or `list` for lists of other kinds. The attributes that the arguments
    mention (`T`, `N`) follow from the inputs and need no entry. `types` lists the allowed values of
    type attributes, and `choices` the allowed values of strings. `minima` has the least values of
    integers and the least lengths of lists. `assumed` names attributes that have a default
    only in Capstan. Nodes in files keep these attributes, because TensorFlow needs them.

    `shape(ctx)` returns one shape per output, and raises ValueError with TensorFlow's message.
    `gradient(op, grads, raw)` returns a gradient or None per input. Its `grads` hold a gradient or
    None per output, and `raw.Sum(...)` builds any op by name. If an op has no gradient rule,
    `tf.gradients` raises LookupError. If it is `not_differentiable`, gradients end there, as with
    TensorFlow's NotDifferentiable.

    `effect` says what the op does besides computing its outputs, such as
    `facts.changes("handle") | facts.BLOCKS` for an op that takes an element from a queue. It refers
    to arguments by their names in `inputs`. `role` is the role of the op in the structure of a
    graph, if the compiler must know the role. `value(ctx)` returns the value of the only output if
    the value is known before the step. `sizes(ctx, index)` returns the elements of an output if
    some of them are known, as in `[batch, 37]`. The shape rules of other ops use both.
    `copies(ctx, shape)` returns whether the only output, of this static shape, equals input 0. The
    compiler then leaves the node out. `host` names
    the inputs and outputs that are in host memory on every device, such as the shape that `Reshape`
    takes. The kernels of the CPU may ignore `host`.
    """

    name: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict)
    shape: ShapeRule | None = None
    gradient: GradientRule | None = None
    not_differentiable: bool = False
    types: Mapping[str, tuple[dtypes.DType, ...]] = field(default_factory=dict)
    choices: Mapping[str, tuple[bytes, ...]] = field(default_factory=dict)
    minima: Mapping[str, int] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()
    effect: facts.Effect = facts.PURE
    role: facts.Role | None = None
    value: facts.ValueRule | None = None
    sizes: facts.SizesRule | None = None
    copies: facts.CopyRule | None = None
    host: tuple[str, ...] = ()

    input_arguments: tuple[Argument, ...] = field(init=False)
    output_arguments: tuple[Argument, ...] = field(init=False)
    type_attributes: tuple[str, ...] = field(init=False)
    """The names that the arguments have for types and counts: attributes (`T`, `N`) and dtypes
    (`int32`)."""
    allowed: Mapping[str, frozenset[dtypes.DType]] = field(init=False)
    """The values of `types` as sets."""
    defaults: Mapping[str, Any] = field(init=False)
    """The attributes that a node may omit, with their values."""
    results: Callable[..., tuple[Any, ...]] | None = field(init=False)
    """The namedtuple of the outputs, such as `Unique(y, idx)`, if there are several arguments."""
    is_pure: bool = field(init=False)
    """Whether the outputs follow from the inputs and the attributes alone. The compiler may compute
    a pure node before the step, and use one node in place of two equal ones."""

    def __post_init__(self) -> None:
        # The row is frozen. These fields follow from the others, and every pass reads them often.
        inputs, outputs = (tuple(map(Argument.parse, each)) for each in (self.inputs, self.outputs))
        counted = [name for each in (*inputs, *outputs) for name in (each.type, each.number)]
        follow: dict[str, Any] = {
            "input_arguments": inputs,
            "output_arguments": outputs,
            "type_attributes": tuple(dict.fromkeys(name for name in counted if name is not None)),
            "allowed": {name: frozenset(values) for name, values in self.types.items()},
            "defaults": {
                name: value for name, value in self.attrs.items() if not isinstance(value, type)
            },
            "results": (
                collections.namedtuple(self.name, [argument.name for argument in outputs])
                if len(outputs) > 1
                else None
            ),
            "is_pure": self.effect == facts.PURE and self.role not in _FED_OR_DECIDING,
        }
        for name, value in follow.items():
            object.__setattr__(self, name, value)


_ROWS: dict[str, OpDef] = {}


def define(row: OpDef) -> OpDef:
    """Add a row to the registry.

    Raises:
        ValueError: the name is defined already, or the row states a fact about an argument that the
            op does not have.
    """
    if row.name in _ROWS:
        raise ValueError(f"op {row.name} is defined twice")
    inputs = {argument.name for argument in row.input_arguments}
    outputs = {argument.name for argument in row.output_arguments}
    unknown = ({*row.effect.reads, *row.effect.changes} - inputs) | (
        set(row.host) - inputs - outputs
    )
    if unknown:
        raise ValueError(f"op {row.name} has no argument {', '.join(sorted(unknown))}")
    _ROWS[row.name] = row
    return row


def lookup(name: str) -> OpDef:
    """Return the row of op `name`.

    Raises:
        NotFoundError: there is no such op. The message is that of TensorFlow's OpRegistry.
    """
    try:
        return _ROWS[name]
    except KeyError:
        raise errors.NotFoundError(None, None, f"Op type not registered '{name}'") from None


def role(name: str) -> facts.Role | None:
    """Return the role of op `name`, or None if it has no role or no row."""
    # The compiler asks dozens of times for each node. A subscript is faster than a call of `get`.
    try:
        return _ROWS[name].role
    except KeyError:
        return None


def is_defined(name: str) -> bool:
    return name in _ROWS


def all_rows() -> tuple[OpDef, ...]:
    """Return all rows, sorted by name."""
    return tuple(_ROWS[name] for name in sorted(_ROWS))


def expand(
    arguments: Sequence[Argument], attrs: Mapping[str, Any]
) -> tuple[tuple[dtypes.DType, bool], ...]:
    """Return (dtype, is_ref) of each tensor of the arguments of a node with these attributes.

    >>> expand([Argument.parse("values: N * T")], {"N": 2, "T": dtypes.float32})
    ((tf.float32, False), (tf.float32, False))
    """
    tensors: list[tuple[dtypes.DType, bool]] = []
    for argument in arguments:
        kind = attrs.get(argument.type)
        if isinstance(kind, list | tuple):
            tensors += [(dtype, argument.is_ref) for dtype in kind]
            continue
        dtype = dtypes.as_dtype(argument.type) if kind is None else kind
        count = 1 if argument.number is None else attrs[argument.number]
        tensors += [(dtype, argument.is_ref)] * count
    return tuple(tensors)
