"""What a run names, and what was compiled for it.

A signature is what a run names: feeds, fetches and targets. Callers that name the same in another
order share what was compiled. Under each signature stand variants, one per dtypes and shapes of the
feeds, so that everything that follows from a shape is settled before the step; a signature that
sees ever new shapes gets one variant that assumes nothing about them.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from capstan.core import dtypes, node
from capstan.graph import infer
from capstan.services import step

Array = np.ndarray[Any, Any]

MAX_VARIANTS = 8
"""Shapes compiled for one signature; whatever comes later shares the variant without shapes."""


@dataclass(frozen=True, slots=True)
class Signature:
    """What a run asks for: tensor names of feeds and fetches, op names of targets."""

    feeds: tuple[str, ...]
    fetches: tuple[str, ...]
    targets: tuple[str, ...]

    def in_order(self) -> "Signature":
        """Return the signature that is the same for every order of the names.

        >>> Signature(("y:0", "x:0"), ("a:0", "a:0"), ()).in_order()
        Signature(feeds=('x:0', 'y:0'), fetches=('a:0',), targets=())
        """
        named = (self.feeds, self.fetches, self.targets)
        return Signature(*(tuple(sorted(set(names))) for names in named))

    def edges(self) -> tuple[tuple[node.Edge, ...], tuple[node.Edge, ...]]:
        """Return feeds and fetches as the IR names them."""
        return tuple(map(node.parse_tensor, self.feeds)), tuple(
            map(node.parse_tensor, self.fetches)
        )


Compile = Callable[[Signature, Mapping[node.Edge, infer.Fed], float | None], step.CompiledStep]
"""compile(signature, what is known of the feeds, deadline)"""


class Variants:
    """The compiled forms of one signature. Thread-safe; one thread compiles, others wait."""

    def __init__(self, signature: Signature, compile_step: Compile) -> None:
        self.signature = signature
        self._compile = compile_step
        self._feeds, _ = signature.edges()
        self._lock = threading.Lock()
        self.by_shape: dict[object, step.CompiledStep] = {}
        """What was compiled, by dtypes and shapes of the feeds in the signature's order."""

    def compile(
        self, key: object, values: Sequence[Array], deadline: float | None
    ) -> step.CompiledStep:
        """Return the form for feeds like `values`, which `by_shape` lacks under `key`."""
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


class Request:
    """A signature in the order of one caller. Thread-safe."""

    def __init__(self, asked: Signature, variants: Variants) -> None:
        """`variants` belong to `asked.in_order()`."""
        self._variants = variants
        self._by_shape = variants.by_shape
        self._feeds, self._fetches = asked.edges()
        places = [asked.feeds.index(name) for name in variants.signature.feeds]
        self._places = None if places == list(range(len(asked.feeds))) else places

    def run(
        self, values: Sequence[Array], steps: step.Steps, deadline: float | None
    ) -> list[Array]:
        """Run a step with `values` fed; returns copies of the fetches, in the caller's order."""
        in_order = values
        if self._places is not None:
            in_order = [values[place] for place in self._places]
        key: object = tuple([(value.dtype, value.shape) for value in in_order])
        compiled = self._by_shape.get(key)
        if compiled is None:
            compiled = self._variants.compile(key, in_order, deadline)
        feeds = dict(zip(self._feeds, values, strict=True))
        fetched = steps.run(compiled, feeds, deadline)
        return [fetched[edge] if edge in fetched else feeds[edge].copy() for edge in self._fetches]
