"""`tf.GradientTape` (python/eager/backprop.py) for graphs."""

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Self

from capstan.api import logging, parallel_gradients, variables
from capstan.framework import collections, convert, nest, tape_record
from capstan.framework import gradients as gradients_of
from capstan.framework import graph as graphs

__all__ = ["GradientTape"]

_ZERO: Final = gradients_of.UnconnectedGradients.ZERO


class GradientTape:
    """A `with` block whose operations have gradients by the tensors that the tape watches.

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    dy_dx = tape.gradient(y, x)  # 6.0

    The tape watches the trainable variables that operations of the block read, unless
    `watch_accessed_variables` is False. It computes gradients once, or often if it is `persistent`.
    The results of operations outside of the block are constants, unlike for `tf.gradients`. Blocks
    may be nested, for higher derivatives. TensorFlow's tape refuses `tf.cond`, `tf.while_loop` and
    variables that are no resources, and Capstan's takes them. Not thread-safe.
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent = persistent
        self._watches_variables = watch_accessed_variables
        self._tape = tape_record.Tape()
        self._chosen: set[Any] = set()
        """The variables that the program lets the tape watch."""
        self._is_on = False
        self._is_used = False

    def __enter__(self) -> Self:
        """Start to record, in the default graph and in functions that are built in the block.

        Raises:
            ValueError: the tape records already.
        """
        if self._is_on:
            raise ValueError("The tape is still recording: end its block before it begins again")
        self._turn_on()
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_on:
            self._turn_off()

    def watch(self, tensor: Any) -> None:
        """Record the operations that are built from now on and read `tensor`.

        `tensor` is a tensor or a variable, or a structure of them.

        Raises:
            ValueError: a part of `tensor` is neither.
        """
        for each in nest.flatten(tensor, composites=True):
            if not isinstance(each, graphs.Tensor | variables.Variable):
                raise ValueError(  # noqa: TRY004 - TensorFlow's error
                    f"GradientTape.watch takes tensors and variables. {each!r} is neither"
                )
            state = _state(each)
            dtype = each.dtype.base_dtype
            if not dtype.is_floating and not dtype.is_complex:
                logging.warning(
                    "GradientTape.watch: %s has the dtype %s, and no gradients",
                    each.name,
                    dtype.name,
                )
            self._tape.watch(state)
            if isinstance(each, variables.Variable):
                self._tape.watch(*_snapshot(each, state))
                self._chosen.add(each)

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Do not record the operations of this inner block.

        Raises:
            RuntimeError: the tape does not record.
        """
        if not self._is_on:
            raise RuntimeError("Trying to stop recording a tape which is not recording.")
        self._turn_off()
        try:
            yield
        finally:
            self._turn_on()

    def reset(self) -> None:
        """Forget everything that was recorded and watched. A tape that records goes on."""
        self._tape.clear()
        self._chosen.clear()
        self._is_used = False
        if self._is_on:
            self._tape.turn_on()

    def watched_variables(self) -> tuple[Any, ...]:
        """Return the variables that the tape watches.

        They are those that `watch` has got and the trainable variables that recorded operations
        read, in the order in which they were made.
        """
        found = set(self._chosen)
        for graph in self._tape.default_graphs():
            found |= self._record(graph).variables
        return tuple(sorted(found, key=lambda variable: variable.op._id))

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = gradients_of.UnconnectedGradients.NONE,
    ) -> Any:
        """Return the derivative of the sum of `target` with respect to each of `sources`.

        `target` and `sources` are tensors or variables, or structures of them. The result has the
        structure of `sources`. A derivative is None if no recorded path leads from its source to a
        target, or zeros if `unconnected_gradients` is "zero" or `tf.UnconnectedGradients.ZERO`.
        `output_gradients` has a weight for each target.

        Raises:
            LookupError: a recorded operation has no gradient.
            RuntimeError: a tape that is not persistent has computed gradients before.
            TypeError: `target` is None. Otherwise TypeError and ValueError as `tf.gradients`.
        """
        self._begin(target)
        with self._on():  # a variable among the targets is read here
            targets = [convert.convert_to_tensor(y) for y in nest.flatten(target)]
        weights = None if output_gradients is None else nest.flatten(output_gradients)
        flat = nest.flatten(sources)
        found = self._gradients(targets, flat, weights, unconnected_gradients)
        return nest.packed(sources, found)

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: Any = gradients_of.UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Return the gradients of each element of `target`, with shapes `[*target, *source]`.

        The arguments are those of `gradient`. With `experimental_use_pfor`, one operation computes
        all gradients where it can. `parallel_iterations` is accepted and changes nothing.

        Raises:
            NotImplementedError: `target` comes out of a loop and has an unknown number of elements.
            RuntimeError, TypeError, ValueError: as `gradient`.
        """
        del parallel_iterations
        self._begin(target)
        by = functools.partial(self._gradients, unconnected_gradients=unconnected_gradients)
        with self._on():  # the target is reshaped
            return parallel_gradients.jacobian_by(by, target, sources, experimental_use_pfor)

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: Any = gradients_of.UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Return the gradients of each row of `target` by the same row of `source`.

        For shapes `[b, *y]` and `[b, *x]`, the result has the shape `[b, *y, *x]`. A row may depend
        on no other row of `source`. The arguments are those of `jacobian`.

        Raises:
            NotImplementedError, RuntimeError, TypeError: as `jacobian`.
            ValueError: the static sizes of the batches differ.
        """
        del parallel_iterations
        self._begin(target)
        by = functools.partial(self._gradients, unconnected_gradients=unconnected_gradients)
        with self._on():
            return parallel_gradients.batch_jacobian_by(by, target, source, experimental_use_pfor)

    def _turn_on(self) -> None:
        self._tape.turn_on()
        self._is_on = True

    def _turn_off(self) -> None:
        self._tape.turn_off()
        self._is_on = False

    @contextmanager
    def _on(self) -> Iterator[None]:
        """Record the operations of this block, whether the tape is on or not."""
        if self._is_on:
            yield
            return
        self._turn_on()
        try:
            yield
        finally:
            self._turn_off()

    def _begin(self, target: Any) -> None:
        """Check that the tape may compute gradients of `target`."""
        if self._is_used:
            raise RuntimeError(
                "A non-persistent GradientTape can only be used to compute one set of gradients "
                "(or jacobians): make it with persistent=True"
            )
        if target is None:
            raise TypeError("The target of a GradientTape is None: pass a tensor or a structure")
        if not self._persistent:
            self._is_used = True
            if self._is_on:
                self._turn_off()

    def _gradients(
        self, targets: Any, sources: Sequence[Any], weights: Any, unconnected_gradients: Any
    ) -> list[Any]:
        """Return `tf.gradients` along the operations that the tape has recorded."""
        ys: list[graphs.Tensor] = nest.flatten(targets)
        xs = [_state(x) for x in sources]
        record = self._record(graphs.graph_of(ys))
        found = gradients_of.gradients(
            ys,
            sources,
            grad_ys=weights,
            stop_gradients=record.constants(ys),
            unconnected_gradients=unconnected_gradients,
        )
        gives_zeros = gradients_of.UnconnectedGradients(unconnected_gradients) is _ZERO
        return [
            gradient
            if state in record.since or any(state is y for y in ys)
            else gradients_of.zeros_for(x, state)
            if gives_zeros
            else None
            for x, state, gradient in zip(sources, xs, found, strict=True)
        ]

    def _record(self, graph: graphs.Graph) -> tape_record.Record:
        return self._tape.record(graph, _reads(graph) if self._watches_variables else {})


def _state(value: Any) -> graphs.Tensor:
    """Return a tensor, or the handle or the reference of a variable."""
    state: graphs.Tensor = convert.convert_to_tensor(value, as_ref=True)
    return state


def _reads(graph: graphs.Graph) -> dict[graphs.Tensor, tape_record.Read]:
    """Return the tensors through which operations of `graph` read trainable variables.

    Operations read a resource variable through its handle. A variable that is no resource, or that
    has a copy on a caching device, has one value, which every operation reads.
    """
    found: dict[graphs.Tensor, tape_record.Read] = {}
    for variable in graph.get_collection(collections.GraphKeys.TRAINABLE_VARIABLES):
        state = _state(variable)
        snapshot, operations = _snapshot(variable, state)
        found[state] = tape_record.Read(variable, state, ())
        found[snapshot] = tape_record.Read(variable, state, operations)
    return found


def _snapshot(
    variable: Any, state: graphs.Tensor
) -> tuple[graphs.Tensor, Sequence[graphs.Operation]]:
    """Return the value that all readers of a variable share.

    Also return the operations that compute this value from `state`.
    """
    snapshot: graphs.Tensor = variable.graph.get_tensor_by_name(variable._snapshot_name())
    operations: list[graphs.Operation] = []
    tensor = snapshot
    while tensor is not state:
        operations.append(tensor.op)
        tensor = tensor.op.inputs[0]
    return snapshot, operations
