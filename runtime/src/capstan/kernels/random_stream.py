"""The stream of random numbers of a node on a device with memory of its own.

The counter of the stream is in the memory of the device, and kernels of the device move it. The
host therefore copies nothing and waits for nothing, and a recorded step (`Device.record`) draws new
numbers each time that it is repeated.
"""

from collections.abc import Hashable

import numpy as np

from capstan.core.arrays import Array
from capstan.hardware import device
from capstan.kernels import random_formulas
from capstan.kernels.registry import NodeContext

_MASK = (1 << 64) - 1


def seeds_of(node: NodeContext) -> tuple[int, int]:
    """Return the two seeds of a node as 64-bit words. Two zeros ask for fresh entropy."""
    return int(node.attrs["seed"]) & _MASK, int(node.attrs["seed2"]) & _MASK


class Stream:
    """Random numbers by their place in a stream. Thread-safe.

    The order in which the device gets the work of concurrent calls decides which call gets which
    numbers.
    """

    def __init__(self, home: device.Device, seeds: tuple[int, int]) -> None:
        """`seeds` are 64-bit words. Two zeros ask for fresh entropy."""
        if seeds == (0, 0):
            entropy = np.random.SeedSequence().generate_state(2, np.uint64)
        else:
            entropy = np.array(seeds, np.uint64)
        state = home.copy_in(np.append(entropy, np.uint64(0)))
        self._home = home
        self._key, self._counter = [state[:1], state[1:2]], state[2:]
        self._take = home.compile(random_formulas.ticket())
        self._draws: dict[Hashable, device.Compiled] = {}

    def fill(self, formula: random_formulas.Formula, target: Array, *more: int) -> None:
        """Write numbers of a distribution to an array of the device in C order. Never blocks.

        `more` are the arguments of the formula, which are below 2**64.
        """
        strips = _strips(target)
        key = formula, target.dtype, len(strips)
        draw = self._draws.get(key)
        if draw is None:
            program = random_formulas.program(*key, len(more))
            draw = self._draws[key] = self._home.compile(program)
        first = self._home.allocate((1,), np.uint64)
        # One kernel takes the values, so another step cannot take the same.
        self._take([self._counter, np.uint64(strips[0].size)], [first, self._counter])
        draw([strips[0], *self._key, first, *map(np.uint64, more)], strips)


def of(node: NodeContext) -> Stream:
    """Return the stream of a node on its device, which continues through all steps."""
    home = node.hardware
    stream: Stream = node.resources.keep(
        f"{node.name}/{home.name}", lambda: Stream(home, seeds_of(node))
    )
    return stream


def _strips(target: Array) -> list[Array]:
    """Return equal parts of an array, as vectors. There are as many as one counter value fills."""
    flat = target.reshape(-1)
    most = 2 if target.dtype.itemsize == 8 else 4
    count = next(count for count in (4, 2, 1) if count <= most and target.size % count == 0)
    size = target.size // count
    return [flat[index * size : (index + 1) * size] for index in range(count)]
