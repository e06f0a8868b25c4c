"""Kernels of random ops.

Each node has its own stream of random numbers in each session. Its key is the node's two seeds, or
fresh entropy if both are 0. On a CPU, the stream is NumPy's counter-based Philox generator. A GPU
draws the numbers itself (`kernels.random_stream`). Equal seeds give the same numbers in every run
on devices of the same type. The numbers of CPUs, of GPUs and of TensorFlow differ. Concurrent steps
may share a stream. The order of the steps then decides which numbers each step gets.
"""

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels import random_formulas, random_stream
from capstan.kernels.creation import sizes_in
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

Draw = Callable[[Array], None]


def generator(node: NodeContext) -> np.random.Generator:
    """Return the stream of a node, which continues through all steps of the session."""
    return cast("np.random.Generator", node.resources.keep(node.name, lambda: _stream(node)))


def _stream(node: NodeContext) -> np.random.Generator:
    seeds = random_stream.seeds_of(node)
    if seeds == (0, 0):
        return np.random.Generator(np.random.Philox())
    return np.random.Generator(np.random.Philox(key=seeds))


def _uniform(generator: np.random.Generator, dtype: np.dtype[Any]) -> Draw:
    scale = float(2 ** random_formulas.digits(dtype))

    def draw(out: Array) -> None:
        generator.random(dtype=out.dtype, out=out)
        if out.dtype != dtype:  # A number that is rounded up may be 1.
            np.multiply(out, scale, out)
            np.floor(out, out)
            np.divide(out, scale, out)

    return draw


def _normal(generator: np.random.Generator, _: np.dtype[Any]) -> Draw:
    def draw(out: Array) -> None:
        generator.standard_normal(dtype=out.dtype, out=out)

    return draw


def _truncated(generator: np.random.Generator, _: np.dtype[Any]) -> Draw:
    def draw(out: Array) -> None:
        generator.standard_normal(dtype=out.dtype, out=out)
        flat = out.reshape(-1)
        wrong = np.flatnonzero(np.abs(flat) > random_formulas.BOUND)
        while wrong.size:
            again = generator.standard_normal(wrong.size, out.dtype)
            flat[wrong] = again
            wrong = wrong[np.abs(again) > random_formulas.BOUND]

    return draw


def _sampler(
    kind: Callable[[np.random.Generator, np.dtype[Any]], Draw], formula: random_formulas.Formula
) -> Callable[[NodeContext], Function]:
    """Return the kernel of a distribution. A CPU uses `kind`, and a GPU uses `formula`."""

    def make(node: NodeContext) -> Function:
        if not node.hardware.is_host:
            return _on_device(node, formula)
        dtype = np.dtype(node.output_dtypes[0].as_numpy_dtype)
        draw = kind(generator(node), dtype)
        # NumPy cannot draw numbers of 16 bits, so float32 numbers are drawn and converted.
        drawn = np.dtype(np.float32) if dtype.itemsize < 4 else dtype

        def sample(sizes: Array, out: Array | None = None) -> Array:
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


def _on_device(node: NodeContext, formula: random_formulas.Formula) -> Function:
    stream, here = random_stream.of(node), node.hardware
    dtype = node.output_dtypes[0].as_numpy_dtype

    def sample(sizes: Array, out: Array | None = None) -> Array:
        target = here.allocate(sizes_in(sizes), dtype) if out is None else out
        stream.fill(formula, target)
        return target

    return sample


def _integers(node: NodeContext) -> Function:
    dtype = node.output_dtypes[0].as_numpy_dtype
    draw: Callable[[Array, int, int], Array]
    # On a GPU, 32-bit integers are in host memory.
    if node.hardware.is_host or dtype is np.int32:
        generated = generator(node)

        def draw(sizes: Array, first: int, last: int) -> Array:
            return np.asarray(generated.integers(first, last, sizes_in(sizes), dtype))

    else:
        stream, here = random_stream.of(node), node.hardware

        def draw(sizes: Array, first: int, last: int) -> Array:
            target = here.allocate(sizes_in(sizes), dtype)
            stream.fill(random_formulas.integers, target, first % 2**64, last - first)
            return target

    def sample(sizes: Array, low: Array, high: Array) -> Array:
        for name, bound in (("minval", low), ("maxval", high)):
            if bound.ndim:
                raise invalid(f"{name} must be 0-D, got shape {[*bound.shape]}")
        first, last = low.item(), high.item()
        if not np.all(sizes):
            return draw(sizes, 0, 1)  # No number is drawn, so the bounds do not matter.
        if first >= last:
            raise invalid(f"Need minval < maxval, got {first} >= {last}")
        return draw(sizes, first, last)

    return sample


register(Kernel("RandomUniform", _sampler(_uniform, random_formulas.uniform), out=True))
register(Kernel("RandomStandardNormal", _sampler(_normal, random_formulas.normal), out=True))
register(Kernel("TruncatedNormal", _sampler(_truncated, random_formulas.truncated), out=True))
register(Kernel("RandomUniformInt", _integers))
