"""Kernels of random ops.

Each node has its own stream of random numbers in each session. The stream is NumPy's counter-based
Philox generator. Its key is the node's two seeds, or fresh entropy if both are 0. Equal seeds give
the same numbers in every run and on every device, but not TensorFlow's numbers: the host draws the
numbers, also for a GPU. Concurrent steps may share a stream. The order of the steps then decides
which numbers each step gets.
"""

from collections.abc import Callable
from typing import cast

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels.creation import sizes_in
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

Draw = Callable[[Array], None]

_MASK = (1 << 64) - 1
_BOUND = 2.0
"""A truncated normal distribution has no values beyond this many standard deviations."""


def generator(node: NodeContext) -> np.random.Generator:
    """Return the stream of a node, which continues through all steps of the session."""
    return cast("np.random.Generator", node.resources.keep(node.name, lambda: _stream(node)))


def _stream(node: NodeContext) -> np.random.Generator:
    seeds = (int(node.attrs["seed"]) & _MASK, int(node.attrs["seed2"]) & _MASK)
    if seeds == (0, 0):
        return np.random.Generator(np.random.Philox())
    return np.random.Generator(np.random.Philox(key=seeds))


def _uniform(generator: np.random.Generator) -> Draw:
    def draw(out: Array) -> None:
        generator.random(dtype=out.dtype, out=out)

    return draw


def _normal(generator: np.random.Generator) -> Draw:
    def draw(out: Array) -> None:
        generator.standard_normal(dtype=out.dtype, out=out)

    return draw


def _truncated(generator: np.random.Generator) -> Draw:
    def draw(out: Array) -> None:
        generator.standard_normal(dtype=out.dtype, out=out)
        flat = out.reshape(-1)
        wrong = np.flatnonzero(np.abs(flat) > _BOUND)
        while wrong.size:
            again = generator.standard_normal(wrong.size, out.dtype)
            flat[wrong] = again
            wrong = wrong[np.abs(again) > _BOUND]

    return draw


def _sampler(kind: Callable[[np.random.Generator], Draw]) -> Callable[[NodeContext], Function]:
    def make(node: NodeContext) -> Function:
        draw, here = kind(generator(node)), node.hardware
        dtype = np.dtype(node.output_dtypes[0].as_numpy_dtype)
        # NumPy cannot draw float16, so float32 numbers are drawn and converted.
        drawn = np.dtype(np.float32) if dtype.itemsize < 4 else dtype

        def sample(sizes: Array, out: Array | None = None) -> Array:
            if not here.is_host:
                fresh = np.empty(sizes_in(sizes), drawn)
                draw(fresh)
                return here.copy_in(fresh.astype(dtype, copy=False))
            if out is None or drawn is not dtype or not out.flags.c_contiguous:
                fresh = np.empty(sizes_in(sizes), drawn)
                draw(fresh)
                if out is None:
                    return fresh.astype(dtype, copy=False)
                np.copyto(out, fresh, casting="same_kind")
                return out
            draw(out)
            return out

        return sample

    return make


def _integers(node: NodeContext) -> Function:
    stream, dtype = generator(node), node.output_dtypes[0].as_numpy_dtype
    is_host = node.hardware.is_host or dtype is np.int32

    def sample(sizes: Array, low: Array, high: Array) -> Array:
        first, last = low.item(), high.item()
        if first >= last:
            raise invalid(f"Need minval < maxval, got {first} >= {last}")
        drawn = np.asarray(stream.integers(first, last, sizes_in(sizes), dtype))
        return drawn if is_host else node.hardware.copy_in(drawn)

    return sample


register(Kernel("RandomUniform", _sampler(_uniform), out=True))
register(Kernel("RandomStandardNormal", _sampler(_normal), out=True))
register(Kernel("TruncatedNormal", _sampler(_truncated), out=True))
register(Kernel("RandomUniformInt", _integers))
