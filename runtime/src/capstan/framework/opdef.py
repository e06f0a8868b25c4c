"""What an op is: its row in the registry. Name, arguments, attributes, shape and gradient stand
together.

A row says everything that can be known of an op without running it; how it runs is the business of
`kernels`. The rows live in `framework.ops`, one file per family, and are read by the graph
builder, the gradient, shape inference and the placer alike.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from capstan import errors
from capstan.core import dtypes, shapes
from capstan.core.arrays import Array

_ARGUMENT = re.compile(
    r"(?P<name>\w+): (?:(?P<number>\w+) \* )?(?:Ref\((?P<ref>\w+)\)|(?P<type>\w+))$"
)


@dataclass(frozen=True, slots=True)
class Argument:
    """One input or output of an op.

    `type` is a dtype's name (`int32`), the name of a type attribute (`T`), or of a list-of-types
    attribute (`dtypes`, when the row gives that attribute a list). `number` names the attribute
    that holds how many tensors the argument takes, when it takes several of one type.
    """

    name: str
    type: str
    number: str | None = None
    is_ref: bool = False

    @classmethod
    def parse(cls, text: str) -> "Argument":
        """Read TensorFlow's own notation.

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


@dataclass(frozen=True, slots=True)
class ShapeContext:
    """What a shape rule may look at.

    `inputs` are the static shapes (`None`: rank unknown; a `None` dimension: size unknown);
    `attrs` has every attribute, defaults filled in; `constants` the values of inputs that are
    known already.
    """

    inputs: Sequence[shapes.Shape]
    attrs: Mapping[str, Any]
    constants: Mapping[int, Array] = field(default_factory=dict)

    def constant(self, index: int) -> Array | None:
        """The value of input `index`, or None when it is not known before the step."""
        return self.constants.get(index)


ShapeRule = Callable[[ShapeContext], Sequence[shapes.Shape]]


class Tensor(Protocol):
    """What a gradient rule may ask of a tensor of the graph (`framework.graph.Tensor`)."""

    @property
    def op(self) -> "Op": ...

    @property
    def dtype(self) -> dtypes.DType: ...

    @property
    def shape(self) -> shapes.TensorShape: ...


class Op(Protocol):
    """What a gradient rule may ask of an operation (`framework.graph.Operation`)."""

    @property
    def type(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def graph(self) -> Any: ...

    @property
    def branch(self) -> Any:
        """The side of a conditional that the operation is on (`framework.branch`), or None."""

    @property
    def inputs(self) -> Sequence[Tensor]: ...

    @property
    def outputs(self) -> Sequence[Tensor]: ...

    def get_attr(self, name: str) -> Any: ...

    def constant_value(self) -> Array | None: ...


class Raw(Protocol):
    """Makes any op by its name (`framework.raw`)."""

    def __getattr__(self, name: str) -> Callable[..., Any]: ...


Gradients = Sequence[Tensor | None]
"""A tensor, an IndexedSlices, or None where nothing flows, for each input or output of an op."""
GradientRule = Callable[[Op, Gradients, Raw], Gradients]


@dataclass(frozen=True, slots=True)
class OpDef:
    """One row.

    `attrs` maps a name to its default; a class in place of a default (`int`, `dtypes.DType`,
    `shapes.TensorShape`, `bytes`, `bool`, `np.ndarray`) says that the attribute must be given.
    Type attributes that the arguments mention (`T`, `N`) are implied. `types` restricts them.

    `shape(ctx)` gives one shape per output and raises ValueError with TensorFlow's words.
    `gradient(op, grads, raw)` gives one tensor or None per input; `grads` holds a tensor or None
    per output and `raw.Sum(...)` makes any op by name. No gradient rule: asking for one is a
    LookupError; `not_differentiable` rows end the search instead, as TensorFlow's
    NotDifferentiable.

    A `stateful` op is never folded, merged with its like, or removed for having constant inputs.
    """

    name: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict)
    shape: ShapeRule | None = None
    gradient: GradientRule | None = None
    not_differentiable: bool = False
    stateful: bool = False
    types: Mapping[str, tuple[dtypes.DType, ...]] = field(default_factory=dict)

    @property
    def input_arguments(self) -> tuple[Argument, ...]:
        return tuple(Argument.parse(text) for text in self.inputs)

    @property
    def output_arguments(self) -> tuple[Argument, ...]:
        return tuple(Argument.parse(text) for text in self.outputs)


_ROWS: dict[str, OpDef] = {}


def define(row: OpDef) -> OpDef:
    """Add a row; a name is defined once."""
    if row.name in _ROWS:
        raise ValueError(f"op {row.name} is defined twice")
    _ROWS[row.name] = row
    return row


def lookup(name: str) -> OpDef:
    """Return the row of op `name`.

    Raises:
        NotFoundError: no such op, in the words of TensorFlow's OpRegistry.
    """
    row = _ROWS.get(name)
    if row is None:
        raise errors.NotFoundError(None, None, f"Op type not registered '{name}'")
    return row


def is_defined(name: str) -> bool:
    return name in _ROWS


def all_rows() -> tuple[OpDef, ...]:
    """Every row, by name."""
    return tuple(_ROWS[name] for name in sorted(_ROWS))


def expand(
    arguments: Sequence[Argument], attrs: Mapping[str, Any]
) -> tuple[tuple[dtypes.DType, bool], ...]:
    """Spell out arguments for given attributes: one (dtype, is_ref) per tensor.

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
