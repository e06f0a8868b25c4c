"""The signature of a run, and the steps compiled for it.

A signature holds the names of the feeds, fetches and targets of a run. Callers that give the same
names in another order share the compiled steps.

Each signature has one variant for each combination of dtypes and shapes of the feeds. Everything
that follows from a shape is therefore computed before the step. After `MAX_VARIANTS` variants of a
signature, all further shapes of the same dtypes share one variant, which assumes nothing about
shapes.
"""

import collections
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from capstan import errors
from capstan.core import debug_watches, dtypes, node
from capstan.graph import infer
from capstan.services import step, step_run
from capstan.transport import cancellation as cancellations

Array = np.ndarray[Any, Any]

MAX_VARIANTS = 8
"""The largest number of variants of one signature that are compiled for fixed shapes."""


class Signature(NamedTuple):
    """The names of a run: tensor names of feeds and fetches, op names of targets.

    A run that is `traced` returns the times of its nodes too. `collective_graph_key` is that of
    RunOptions, and `watches` are the tensors that the run dumps. The names are a tuple because
    every step looks up its signature, and tuples are hashed fast.
    """

    feeds: tuple[str, ...]
    fetches: tuple[str, ...]
    targets: tuple[str, ...]
    traced: bool = False
    collective_graph_key: int = 0
    watches: tuple[debug_watches.Watch, ...] = ()

    def in_order(self) -> "Signature":
        """Return this signature with its names sorted, and each name once.

        >>> Signature(("y:0", "x:0"), ("a:0", "a:0"), ()).in_order()[:3]
        (('x:0', 'y:0'), ('a:0',), ())
        """
        feeds, fetches, targets = (
            tuple(sorted(set(names))) for names in (self.feeds, self.fetches, self.targets)
        )
        return self._replace(feeds=feeds, fetches=fetches, targets=targets)

    def edges(self) -> tuple[tuple[node.Edge, ...], tuple[node.Edge, ...]]:
        """Return the feeds and the fetches as edges.

        Raises:
            InvalidArgumentError: a tensor is fed twice.
        """
        feeds = tuple(map(node.parse_tensor, self.feeds))
        if len(set(feeds)) < len(feeds):
            edge = collections.Counter(feeds).most_common(1)[0][0]
            raise errors.InvalidArgumentError(
                None, None, f'Endpoint "{edge.tensor}" fed more than once.'
            )
        return feeds, tuple(map(node.parse_tensor, self.fetches))


Compile = Callable[[Signature, Mapping[node.Edge, infer.Fed], float | None], step_run.CompiledStep]
"""Takes a signature, the dtypes and shapes of its feeds, and a deadline."""


class Variants:
    """The compiled variants of one signature. Thread-safe. One thread compiles at a time."""

    def __init__(self, signature: Signature, compile_step: Compile) -> None:
        self.signature = signature
        self._compile = compile_step
        self._feeds, _ = signature.edges()
        self._lock = threading.Lock()
        self.by_shape: dict[object, step_run.CompiledStep] = {}
        """Compiled steps, by the dtypes and shapes of the feeds in the signature's order."""

    def compile(
        self, key: object, values: Sequence[Array], deadline: float | None
    ) -> step_run.CompiledStep:
        """Compile the variant for feeds like `values`, and keep it in `by_shape` under `key`.

        Blocks while another thread compiles for this signature.
        """
        with self._lock:
            generic = len(self.by_shape) >= MAX_VARIANTS
            if generic:
                key = tuple(value.dtype for value in values)
            compiled = self.by_shape.get(key)
            if compiled is None:
                facts = {
                    edge: infer.Fed(dtypes.as_dtype(value.dtype), None if generic else value.shape)
                    for edge, value in zip(self._feeds, values, strict=True)
                }
                compiled = self._compile(self.signature, facts, deadline)
                self.by_shape[key] = compiled
        return compiled


Begin = Callable[[step_run.CompiledStep], None]
"""Takes a step before it runs."""
Observe = Callable[[step_run.CompiledStep, Mapping[node.Edge, Array]], None]
"""Takes a step and all its fetches, among them the reports of traced parts."""


class Request:
    """A signature with its names in the order of one caller. Thread-safe."""

    def __init__(self, requested: Signature, variants: Variants) -> None:
        """`variants` must belong to the signature `requested.in_order()`."""
        self._variants = variants
        self._by_shape = variants.by_shape
        self._feeds, self._fetches = requested.edges()
        places = [requested.feeds.index(name) for name in variants.signature.feeds]
        self._places = None if places == list(range(len(requested.feeds))) else places

    def run(
        self,
        values: Sequence[Array],
        steps: step.Steps,
        deadline: float | None,
        cancellation: cancellations.Cancellation | None = None,
        observe: Observe | None = None,
        begin: Begin | None = None,
    ) -> list[Array]:
        """Feed `values` and run a step. Return copies of the fetches, in the caller's order."""
        in_order = values
        if self._places is not None:
            in_order = [values[place] for place in self._places]
        key: object = tuple([(value.dtype, value.shape) for value in in_order])
        compiled = self._by_shape.get(key)
        if compiled is None:
            compiled = self._variants.compile(key, in_order, deadline)
        feeds = dict(zip(self._feeds, values, strict=True))
        if begin is not None:
            begin(compiled)
        fetched = steps.run(compiled, feeds, deadline, cancellation)
        if observe is not None:
            observe(compiled, fetched)
        for edge, copy in compiled.copies.items():
            fetched[edge] = fetched[copy]
        return [fetched[edge] if edge in fetched else feeds[edge].copy() for edge in self._fetches]
