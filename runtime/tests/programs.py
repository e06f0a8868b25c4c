"""Random programs, which `program_builder` builds with Capstan's API and with TensorFlow's.

A program is a block of statements over float32 vectors of length 2. Every statement adds one value
to the values that later statements read. Value 0 is the state. Each statement that reads or changes
a variable or a queue waits for value 0 and replaces it. Every order that a runtime may choose
therefore gives the same values. All operations are exact in IEEE arithmetic, so results are
compared bit by bit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

LENGTH = 2
DEVICES = (
    "",
    *(
        f"/job:{job}/task:{task}/device:CPU:{cpu}"
        for job, task in (("ps", 0), ("worker", 0), ("worker", 1))
        for cpu in (0, 1)
    ),
)


@dataclass(frozen=True)
class Arithmetic:
    """Applies a binary op to two values."""

    op: str
    left: int
    right: int
    device: int


@dataclass(frozen=True)
class Constant:
    value: float
    device: int


@dataclass(frozen=True)
class Update:
    """Adds a value to a variable and returns the new value of the variable."""

    variable: int
    value: int
    device: int


@dataclass(frozen=True)
class Enqueue:
    """Adds a value to a queue."""

    value: int
    device: int


@dataclass(frozen=True)
class Dequeue:
    """Enqueues a value and takes the oldest element of the queue."""

    value: int
    device: int


@dataclass(frozen=True)
class Cond:
    """Runs one of two blocks. The sum of a value decides."""

    tested: int
    limit: float
    on_true: "Block"
    on_false: "Block"
    device: int


@dataclass(frozen=True)
class While:
    """Repeats a block: at most `count` times, and only while the sum of a value is small."""

    count: int
    limit: float
    carried: tuple[int, ...]
    body: "Block"
    parallel: int
    device: int


@dataclass(frozen=True)
class Collect:
    """Runs a block in a loop, writes a value of each iteration to a TensorArray, and adds them.

    The loop also reads the elements of another TensorArray, which is filled before the loop.
    """

    count: int
    source: int
    body: "Block"
    device: int


Statement = Arithmetic | Constant | Update | Enqueue | Dequeue | Cond | While | Collect
Block = tuple[Statement, ...]


@dataclass(frozen=True)
class Program:
    """A block, and the steps that run it: the values to feed in each."""

    block: Block
    feeds: tuple[tuple[float, float], ...]


places = st.integers(0, 30)
device_numbers = st.integers(0, len(DEVICES) - 1)
numbers = st.sampled_from([0.0, 1.0, -1.0, 0.5, 3.0, -2.5])
limits = st.sampled_from([-1e30, -4.0, 0.0, 1.0, 10.0, 1e30])
PURE = st.one_of(
    st.builds(
        Arithmetic,
        st.sampled_from(["add", "subtract", "multiply", "maximum", "minimum"]),
        places,
        places,
        device_numbers,
    ),
    st.builds(Constant, numbers, device_numbers),
)
UPDATES = st.builds(Update, st.integers(0, 1), places, device_numbers)
QUEUED = st.one_of(
    st.builds(Enqueue, places, device_numbers), st.builds(Dequeue, places, device_numbers)
)


def _blocks(statements: st.SearchStrategy[Statement], depth: int) -> st.SearchStrategy[Block]:
    """Return blocks whose conditions and loops are nested `depth` times at most."""
    if not depth:
        return st.lists(statements, min_size=1, max_size=2).map(tuple)
    inner = _blocks(statements, depth - 1)
    nested = st.one_of(
        st.builds(Cond, places, limits, inner, inner, device_numbers),
        st.builds(
            While,
            st.integers(0, 4),
            limits,
            st.lists(places, min_size=1, max_size=2).map(tuple),
            inner,
            st.sampled_from([1, 10]),
            device_numbers,
        ),
        st.builds(Collect, st.integers(1, 3), places, inner, device_numbers),
    )
    return st.lists(st.one_of(statements, nested), min_size=1, max_size=3).map(tuple)


feeds = st.lists(st.tuples(numbers, numbers), min_size=1, max_size=2).map(tuple)
programs = st.builds(Program, _blocks(st.one_of(PURE, UPDATES, QUEUED), 2), feeds)
differentiated = st.one_of(st.builds(Program, _blocks(PURE, 2), feeds), programs)
"""Half of these programs have no variables and queues, so that more values have gradients."""


def results(session: Any, program: Program, initializer: Any, x: Any, fetches: Any) -> list[Any]:
    """Initialize the variables, run the steps of the program, and return their fetches."""
    session.run(initializer)
    return [session.run(fetches, {x: np.float32(fed)}) for fed in program.feeds]


def check_equal(found: Sequence[Any], expected: Sequence[Any]) -> None:
    """Check that two results of `results` are equal, bit by bit except for the kind of NaN."""
    for step, wanted in zip(found, expected, strict=True):
        for value, wanted_value in zip(step, wanted, strict=True):
            np.testing.assert_array_equal(np.asarray(value), np.asarray(wanted_value))
