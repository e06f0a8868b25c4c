"""Random programs that Capstan's API and TensorFlow's build alike: both give `build` their module.

A program is a block of statements over float32 vectors of length 2. Every statement adds one value
to the values that later statements read. Value 0 is the state: each statement that reads or changes
a variable or a queue waits for it and replaces it, so that every order that a runtime may choose
gives the same values. All operations are exact in IEEE arithmetic, so results are compared bit by
bit.
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
"""Programs of which half have no variables and queues, so that more values have gradients."""


class Builder:
    """Builds one program into the default graph of `tf`, Capstan or `tensorflow.compat.v1`.

    `devices` maps the number of a device to its name; None ignores the placements of the program.
    `variable` are arguments for `tf.get_variable`.
    """

    def __init__(
        self, tf: Any, program: Program, devices: Sequence[str] | None = None, **variable: Any
    ) -> None:
        self._tf = tf
        self._variable = variable
        self._devices = devices
        self._program = program
        self.x = tf.placeholder(tf.float32, [LENGTH], "x")
        self._queue: Any = None
        self._variables: dict[int, Any] = {}
        self._prepare(program.block)
        zero = tf.zeros([LENGTH], name="state")
        self.values = self._block(program.block, [zero, self.x])
        self.initializer = tf.group(*(held.initializer for held in self._variables.values()))

    def total(self) -> Any:
        """Return the sum of the last values, which gradients start from."""
        return self._tf.add_n(self.values[-2:])

    def _prepare(self, block: Block) -> None:
        """Create the variables and the queue that the program uses, outside of its loops."""
        tf = self._tf
        for statement in block:
            match statement:
                case Update(variable, _, device) if variable not in self._variables:
                    with self._on(device):
                        self._variables[variable] = tf.get_variable(
                            f"v{variable}",
                            initializer=np.arange(LENGTH, dtype=np.float32),
                            **self._variable,
                        )
                case Enqueue(_, device) | Dequeue(_, device) if self._queue is None:
                    with self._on(device):
                        self._queue = tf.FIFOQueue(1000, [tf.float32], [[LENGTH]], name="q")
                case Cond():
                    self._prepare(statement.on_true)
                    self._prepare(statement.on_false)
                case While() | Collect():
                    self._prepare(statement.body)

    def _on(self, device: int) -> Any:
        return self._tf.device(self._devices[device] if self._devices is not None else None)

    def _block(self, block: Block, values: Sequence[Any]) -> list[Any]:
        """Return `values` with one more for each statement of the block."""
        known = list(values)
        for statement in block:
            with self._on(statement.device):
                self._statement(statement, known)
        return known

    def _statement(self, statement: Statement, known: list[Any]) -> None:
        tf = self._tf
        match statement:
            case Arithmetic(op, left, right):
                known.append(getattr(tf, op)(known[left % len(known)], known[right % len(known)]))
            case Constant(value):
                known.append(tf.constant([value, -value]))
            case Update(variable, value):
                with tf.control_dependencies([known[0]]):
                    added = tf.identity(known[value % len(known)])
                    new = tf.assign_add(self._variables[variable], added)
                # An identity could share the memory of a reference variable, which changes again.
                known[0] = tf.multiply(new, 1.0)
                known.append(known[0])
            case Enqueue(value):
                known.append(known[value % len(known)])
                known[0] = self._enqueued(known[0], known[-1])
            case Dequeue(value):
                state = self._enqueued(known[0], known[value % len(known)])
                with tf.control_dependencies([state]):
                    known[0] = self._queue.dequeue()
                known.append(known[0])
            case Cond():
                self._cond(statement, known)
            case While():
                self._while(statement, known)
            case Collect():
                self._collect(statement, known)

    def _enqueued(self, state: Any, value: Any) -> Any:
        """Return `state` once `value` is in the queue."""
        tf = self._tf
        with tf.control_dependencies([state]):
            enqueue = self._queue.enqueue(tf.identity(value))
        with tf.control_dependencies([enqueue]):
            return tf.identity(state)

    def _cond(self, statement: Cond, known: list[Any]) -> None:
        tf = self._tf
        pred = tf.less(tf.reduce_sum(known[statement.tested % len(known)]), statement.limit)

        def side(block: Block) -> Any:
            after = self._block(block, known)
            return [tf.identity(after[0]), tf.identity(after[-1])]

        known[0], result = tf.cond(
            pred, lambda: side(statement.on_true), lambda: side(statement.on_false)
        )
        known.append(result)

    def _while(self, statement: While, known: list[Any]) -> None:
        tf = self._tf
        carried = [known[place % len(known)] for place in statement.carried]

        def is_on(number: Any, state: Any, *values: Any) -> Any:
            is_small = tf.less(tf.reduce_sum(values[0]), statement.limit)
            return tf.logical_and(tf.less(number, statement.count), is_small)

        def body(number: Any, state: Any, *values: Any) -> Any:
            after = self._block(statement.body, [state, *values, *known[1:]])
            new = after[-len(values) :]
            return [number + 1, *map(tf.identity, [after[0], *new])]

        _, known[0], *results = tf.while_loop(
            is_on,
            body,
            [tf.constant(0), known[0], *carried],
            parallel_iterations=statement.parallel,
        )
        known += results

    def _collect(self, statement: Collect, known: list[Any]) -> None:
        tf, count = self._tf, statement.count
        source = known[statement.source % len(known)]
        given = tf.TensorArray(tf.float32, count, clear_after_read=False)
        given = given.unstack(tf.stack([source * float(place) for place in range(count)]))
        collected = tf.TensorArray(tf.float32, count)

        def body(number: Any, state: Any, array: Any) -> Any:
            after = self._block(statement.body, [state, given.read(number), *known[1:]])
            return number + 1, tf.identity(after[0]), array.write(number, after[-1])

        _, known[0], collected = tf.while_loop(
            lambda number, *_: tf.less(number, count), body, [tf.constant(0), known[0], collected]
        )
        stacked = collected.stack()
        known.append(tf.reduce_sum(tf.reshape(stacked, [count, LENGTH]), 0))


def results(session: Any, program: Program, initializer: Any, x: Any, fetches: Any) -> list[Any]:
    """Initialize the variables, run the steps of the program, and return what they fetched."""
    session.run(initializer)
    return [session.run(fetches, {x: np.float32(fed)}) for fed in program.feeds]


def check_equal(found: Sequence[Any], expected: Sequence[Any]) -> None:
    """Check that two results of `results` are equal, bit by bit except for the kind of NaN."""
    for step, wanted in zip(found, expected, strict=True):
        for value, wanted_value in zip(step, wanted, strict=True):
            np.testing.assert_array_equal(np.asarray(value), np.asarray(wanted_value))
