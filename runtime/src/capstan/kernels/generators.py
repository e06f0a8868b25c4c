"""Kernels of random ops that draw with the state of a generator (stateful_random_ops.cc).

The numbers, but for those of the binomial distribution, are TensorFlow's. The state is a vector of
int64: the lower and the upper word of the counter, and the key.
"""

import math
import os
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from capstan.core import shapes
from capstan.core.arrays import Array
from capstan.kernels import random_formulas, stateless, stateless_parameters
from capstan.kernels.creation import sizes_in
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import variable

_RESERVED: Final = 256
"""The counter moves by so many values for each number, as some distributions drop numbers."""
_MASK: Final = (1 << 64) - 1
_STATE_SIZE: Final = 3


def advance(cell: variable.Variable, algorithm: Array, count: int) -> Array:
    """Move the counter of a generator past `count` numbers. Return the state before.

    Raises:
        InvalidArgumentError: the variable is no state of a generator, or the algorithm is unknown.
    """
    if algorithm.ndim:
        raise invalid(f"algorithm must have shape [], not {shapes.show(algorithm.shape)}")
    with cell.lock:
        state = cell.held()
        if state.dtype != np.int64:
            raise invalid(f"dtype of RNG state variable must be int64, not {state.dtype.name}")
        if state.ndim != 1:
            raise invalid(f"RNG state must have one and only one dimension, not {state.ndim}")
        if algorithm.item() not in (stateless.PHILOX, stateless.AUTOMATIC):
            raise invalid(f"Unsupported algorithm id: {algorithm.item()}")
        if len(state) < _STATE_SIZE:
            raise invalid(
                "For the Philox algorithm, the size of state must be at least "
                f"{_STATE_SIZE}; got {len(state)}"
            )
        state = cell.writable()
        before = state[:_STATE_SIZE].copy()
        low, high = (int(word) & _MASK for word in before[:2])
        counter = (low | high << 64) + count * _RESERVED
        words = np.array([counter & _MASK, counter >> 64 & _MASK], np.uint64)
        state[:2] = words.view(np.int64)
        return before


Drawer = Callable[..., Array]
"""Takes words, a count, a dtype, and tensors of parameters."""


def _sampler(draw: Drawer) -> Callable[[NodeContext], Function]:
    def make(node: NodeContext) -> Function:
        dtype = np.dtype(node.output_dtypes[0].as_numpy_dtype)
        words_of = _words(node)

        def sample(
            cell: variable.Variable, algorithm: Array, sizes: Array, *parameters: Array
        ) -> Array:
            shape = sizes_in(sizes)
            count = math.prod(shape)
            words = words_of(advance(cell, algorithm, count))
            return draw(words, count, dtype, *parameters)[:count].astype(dtype).reshape(shape)

        return sample

    return make


def _words(node: NodeContext) -> Callable[[Array], stateless.Words]:
    home = node.hardware
    draw = home.compile(random_formulas.words())

    def words_of(state: Array) -> stateless.Words:
        words = state.view(np.uint64)
        return stateless.Words((words[2:3], words[1:2]), home, draw, words[0])

    return words_of


def _binomial(node: NodeContext) -> Function:
    dtype, words_of = np.dtype(node.output_dtypes[0].as_numpy_dtype), _words(node)

    def sample(
        cell: variable.Variable, algorithm: Array, sizes: Array, counts: Array, probs: Array
    ) -> Array:
        shape = sizes_in(sizes)
        stateless_parameters.check_parameters(shape, (counts, probs))
        words = words_of(advance(cell, algorithm, math.prod(shape)))
        wide = (each.astype(np.float64) for each in (counts, probs))
        generator = stateless_parameters.generator_of(words)
        with np.errstate(all="ignore"):
            drawn = stateless_parameters.binomial(generator, shape, *wide)
            return stateless_parameters.converted(drawn, dtype)

    return sample


def _skip(cell: variable.Variable, algorithm: Array, delta: Array) -> None:
    advance(cell, algorithm, delta.item())


def _read_and_skip(cell: variable.Variable, algorithm: Array, delta: Array) -> Array:
    return advance(cell, algorithm, delta.item())


def _fresh(node: NodeContext) -> Function:
    dtype: Any = np.dtype(node.output_dtypes[0].as_numpy_dtype)

    def fresh(sizes: Array) -> Array:
        shape = sizes_in(sizes)
        drawn = os.urandom(math.prod(shape) * dtype.itemsize)
        return np.frombuffer(drawn, dtype).reshape(shape)

    return fresh


register(Kernel("StatefulUniform", _sampler(stateless.uniform)))
register(Kernel("StatefulStandardNormalV2", _sampler(stateless.normal)))
register(Kernel("StatefulTruncatedNormal", _sampler(stateless.truncated)))
register(Kernel("StatefulUniformFullInt", _sampler(stateless.whole)))
register(Kernel("StatefulUniformInt", _sampler(stateless.integers_between)))
register(Kernel("StatefulRandomBinomial", _binomial))
register(Kernel("RngSkip", lambda _: _skip))
register(Kernel("RngReadAndSkip", lambda _: _read_and_skip))
register(Kernel("NonDeterministicInts", _fresh))
