"""Builds a random program into a graph of Capstan or of TensorFlow: both give their module."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from programs import (
    LENGTH,
    Arithmetic,
    Block,
    Collect,
    Cond,
    Constant,
    Dequeue,
    Enqueue,
    Program,
    Statement,
    Update,
    While,
)


class Builder:
    """Builds one program into the default graph of `tf`, Capstan or `tensorflow.compat.v1`.

    `devices` has the names of devices by their numbers. None ignores the program's placements.
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
