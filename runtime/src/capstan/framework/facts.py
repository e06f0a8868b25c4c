"""Facts about running an op, which its OpDef states: effects, role in a graph, known values.

The passes of the compiler depend on these facts only, not on the names of ops.
"""

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from capstan.core import shapes
from capstan.core.arrays import Array


@dataclass(frozen=True, slots=True)
class Effect:
    """What an op does besides computing its outputs from its inputs and attributes.

    `reads` and `changes` name the arguments whose state the op reads or changes: references, or
    handles of variables, queues and other resources. An argument that the op changes need not be
    in `reads` too. `makes`: the op makes the state that its first output refers to, or finds it by
    the attributes `container` and `shared_name`. `blocks`: the op may have to wait for another op,
    step or session, so its kernel has `start` instead of `make`. `random`: the outputs differ
    between runs. `external`: the op acts on files, the screen or a program, or raises an error on
    purpose. `calls`: the op runs functions, which may do anything with the handles and references
    that the op takes. `copies`: the op keeps no input after it has run, so the memory of its inputs
    may be used again. Effects are combined with `|`.
    """

    reads: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    makes: bool = False
    blocks: bool = False
    random: bool = False
    external: bool = False
    calls: bool = False
    copies: bool = False

    def __or__(self, other: "Effect") -> "Effect":
        return Effect(
            self.reads + other.reads,
            self.changes + other.changes,
            self.makes or other.makes,
            self.blocks or other.blocks,
            self.random or other.random,
            self.external or other.external,
            self.calls or other.calls,
            self.copies and other.copies,
        )


PURE = Effect()
MAKES = Effect(makes=True)
BLOCKS = Effect(blocks=True)
RANDOM = Effect(random=True)
EXTERNAL = Effect(external=True)
CALLS = Effect(calls=True)


def reads(*arguments: str) -> Effect:
    """Return the effect of reading the state behind the named arguments."""
    return Effect(reads=arguments)


def changes(*arguments: str) -> Effect:
    """Return the effect of changing the state behind the named arguments."""
    return Effect(changes=arguments)


def changes_values(*arguments: str) -> Effect:
    """Return the effect of changing the values of the variables that the arguments refer to.

    The variables keep copies of the other inputs, or what is computed from them.
    """
    return Effect(changes=arguments, copies=True)


class Role(enum.Enum):
    """The role of an op that the compiler treats specially."""

    CONSTANT = "the output is the attribute `value`"
    PLACEHOLDER = "the output must be fed"
    DEFAULT = "the output is input 0 unless it is fed"
    IDENTITY = "the output is input 0"
    CAST = "the output is input 0 with elements of another type"
    ARRIVAL = "the output is input 0 in the memory of the device, which gets it from host memory"
    DEPARTURE = "the output is input 0 in host memory, as soon as the device has done the copy"
    IDENTITIES = "each output is the input of the same number"
    METADATA = "each output depends only on the shape of the input of the same number"
    VARIABLE = "output 0 is the reference or the handle of the variable that the node names"
    HANDLE = "output 0 is the handle of another resource that the node names"
    SESSION_HANDLE = "the output is the handle of a tensor, input 0, that the session keeps"
    READ = "the output is the value of the variable whose handle is input 0"
    SWITCH = "input 0 goes to one of two outputs"
    MERGE = "output 0 is the first input that arrives"
    TRIGGER = "the node runs even if a node that it waits for does not"
    PUSH = "input 1 becomes an element of the stack whose handle is input 0"
    POP = "the output is an element of the stack whose handle is input 0"
    ENTER = "input 0 enters a frame"
    EXIT = "input 0 leaves a frame"
    NEXT_ITERATION = "input 0 goes to the next iteration of a frame"
    LOOP_COND = "input 0 decides whether a frame runs another iteration"
    WHILE = "the node calls `body` on its inputs and then on the results, while `cond` is true"
    ITERATIONS = "the node is a loop whose iterations are steps of their own"
    IF = "the node calls one of two functions"
    CASE = "the node calls one of several functions"
    CALL = "the node calls a function"
    GRADIENT = "the node calls the gradient of a function"
    FOR = "the node calls `body` for each number of a range, on its own results"
    REMOTE_CALL = "the node calls a function on the device that input 0 names"
    KEEPS = "the output keeps functions, which other nodes call later"
    COLLECTIVE = "the node computes its output together with nodes of other devices"


CONTROL_FLOW = frozenset(
    {Role.SWITCH, Role.MERGE, Role.ENTER, Role.EXIT, Role.NEXT_ITERATION, Role.LOOP_COND}
)
"""The roles of ops that decide which other nodes run."""


@dataclass(frozen=True, slots=True)
class ValueContext:
    """The facts from which a value rule computes an output before the step.

    `attrs` has every attribute that is known, and `input_shapes` the static shape of each input.
    `value_of(i)` returns the value of input i, or None if it is unknown. A rule should ask only for
    the values that it needs, because each call may walk a large graph.
    """

    attrs: Mapping[str, Any]
    input_shapes: Sequence[shapes.Shape]
    value_of: Callable[[int], Array | None]

    def values(self) -> list[Array] | None:
        """Return the values of all inputs, or None if the value of an input is unknown."""
        known: list[Array] = []
        for index in range(len(self.input_shapes)):
            value = self.value_of(index)
            if value is None:
                return None
            known.append(value)
        return known


ValueRule = Callable[[ValueContext], Array | None]
"""Returns the value of an op's only output if it is known before the step, or None."""


CopyRule = Callable[[ValueContext, shapes.Shape], bool]
"""Takes the static shape of an op's only output, and returns whether the output is certainly equal
to input 0. The values of the other inputs are known."""


@dataclass(frozen=True, slots=True)
class SizesContext(ValueContext):
    """The facts from which a sizes rule computes the known elements of an output.

    `sizes_of(i)` returns the elements of input i, a tensor of integers, in row-major order. None
    stands for an unknown element, or for an unknown or large number of elements.
    """

    sizes_of: Callable[[int], shapes.Shape]


SizesRule = Callable[[SizesContext, int], shapes.Shape]
"""`rule(ctx, index)` returns the elements of output `index` as `sizes_of` does. It is asked only if
the value of the output is not known as a whole."""
