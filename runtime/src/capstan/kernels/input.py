"""Kernels of the ops that producers of input use: they count epochs and shuffle.

Sources: core/kernels/{count_up_to_op,resource_variable_ops,random_shuffle_op}.cc.
"""

import itertools
import secrets
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from capstan import errors
from capstan.core.arrays import Array
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.resources import philox, variable


def _count_up_to(node: NodeContext) -> Function:
    limit = int(node.attrs["limit"])

    def count(cell: variable.Variable) -> Any:
        with cell.lock:
            array = cell.writable()
            value = array[()].copy()
            if value >= limit:
                raise errors.OutOfRangeError(None, None, f"Reached limit of {limit}")
            array += 1
        return value

    return count


def _random_shuffle(node: NodeContext) -> Function:
    # TensorFlow's numbers: a pipeline with a seed gives its files in TensorFlow's order.
    stream: _Stream = node.resources.keep(node.name, lambda: _Stream(node))

    def shuffle(value: Array) -> Array:
        array = np.asarray(value)
        if array.size <= 1 or len(array) <= 1:
            return array
        return array[stream.permutation(len(array))]

    return shuffle


class _Stream:
    """The random numbers of one node, which all steps of a session share. Thread-safe."""

    def __init__(self, node: NodeContext) -> None:
        seeds = int(node.attrs["seed"]), int(node.attrs["seed2"])
        if seeds == (0, 0):
            seeds = secrets.randbits(64), secrets.randbits(64)
        self._numbers: Iterator[int] = philox.numbers(*seeds)
        self._lock = threading.Lock()

    def permutation(self, count: int) -> list[int]:
        """Return the numbers below `count` in random order."""
        # TensorFlow reserves numbers in groups of four.
        with self._lock:
            drawn = list(itertools.islice(self._numbers, (count + 2) // 4 * 4))
        order = list(range(count))
        for place in range(count - 1):
            other = place + drawn[place] % (count - place)
            order[place], order[other] = order[other], order[place]
        return order


register(Kernel("CountUpTo", _count_up_to))
register(Kernel("ResourceCountUpTo", _count_up_to))
register(Kernel("RandomShuffle", _random_shuffle))
