"""What a run names, and what was compiled for it.

A signature is what a run names: feeds, fetches and targets. Under each one stand variants, one per
dtypes and shapes of the feeds, so that everything that follows from a shape is settled before the
step; a signature that sees ever new shapes gets one variant that assumes nothing about them.
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


Compile = Callable[[Signature, Mapping[node.Edge, infer.Fed], float | None], step.CompiledStep]
"""compile(signature, what is known of the feeds, deadline)"""


class Variants:
    """The compiled forms of one signature. Thread-safe; one thread compiles, others wait."""

    def __init__(self, asked: Signature, compile_step: Compile) -> None:
        self._signature = asked
        self._compile = compile_step
        self._feeds = [node.parse_tensor(name) for name in asked.feeds]
        self._fetches = [node.parse_tensor(name) for name in asked.fetches]
        self._lock = threading.Lock()
        self._by_shape: dict[object, step.CompiledStep] = {}

    def run(
        self, values: Sequence[Array], steps: step.Steps, deadline: float | None
    ) -> list[Array]:
        """Run a step with `values` fed, in order; returns copies of the fetches."""
        key: object = tuple([(value.dtype, value.shape) for value in values])
        compiled = self._by_shape.get(key)
        if compiled is None:
            compiled = self._variant(key, values, deadline)
        feeds = dict(zip(self._feeds, values, strict=True))
        fetched = steps.run(compiled, feeds, deadline)
        return [fetched[edge] if edge in fetched else feeds[edge].copy() for edge in self._fetches]

    def _variant(
        self, key: object, values: Sequence[Array], deadline: float | None
    ) -> step.CompiledStep:
        with self._lock:
            generic = len(self._by_shape) >= MAX_VARIANTS
            if generic:
                key = tuple(value.dtype for value in values)
            compiled = self._by_shape.get(key)
            if compiled is None:
                facts = {
                    edge: infer.Fed(dtypes.as_dtype(value.dtype), None if generic else value.shape)
                    for edge, value in zip(self._feeds, values, strict=True)
                }
                compiled = self._compile(self._signature, facts, deadline)
                self._by_shape[key] = compiled
        return compiled
