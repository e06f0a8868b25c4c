"""The threads of NumPy's BLAS, and products of matrices that use only one of them.

OpenBLAS divides a product among its threads as soon as one thread would need some microseconds for
it. A thread that sleeps takes longer than that to wake. If other programs keep the cores busy, the
product waits for a core, often for milliseconds.
"""

import ctypes
import functools
import os
import threading
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import Shape
from capstan.hardware import narrow_products, processors

_DIVIDED: Final = 1 << 18
"""OpenBLAS divides products with more multiplications (interface/gemm.c)."""

_LARGE: Final = 1 << 20
"""A product with more multiplications takes some 15 microseconds or more in one thread. Several
threads are then faster, if each has a core for itself. The limit is a compromise: on busy cores,
one thread was faster even for products that are 16 times as large."""

_SHALLOW: Final = 32
"""The sums of a product are so short if it is the gradient of weights over a small batch. It then
takes about as long to write the result as to compute it, and more threads help less."""

_LARGE_SHALLOW: Final = 1 << 24
"""The limit for shallow products, as `_LARGE`, divided by the number of threads."""


@functools.cache
def libraries() -> Any:
    """Return the `threadpoolctl.ThreadpoolController` of the libraries that are loaded.

    The import and the search for loaded libraries take some milliseconds.
    """
    import threadpoolctl

    return threadpoolctl.ThreadpoolController()


def adjust(change: Callable[[], object]) -> None:
    """Call `change`, which may read and set the number of threads of the libraries. Thread-safe."""
    if (single := _single()) is None:
        change()
    else:
        single.adjust(change)


def threads() -> int:
    """Return the number of threads that a large product may have, which is at least one."""
    single = _single()
    return processors.schedulable() if single is None else single.threads()


def alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of NumPy whose products are computed in the calling thread."""
    single = _single()
    return function(*arguments) if single is None else single.call(function, *arguments)


def matmul(left: Array, right: Array, out: Array | None = None) -> Any:
    """Return `np.matmul(left, right, out)`. A small product is computed in the calling thread."""
    if left.ndim > 1 and right.ndim > 1:
        if _is_small(left.shape, right.shape):
            return alone(np.matmul, left, right, out)
        if _is_narrow(left, right):
            return narrow_products.multiply(left, right, out)
        if _is_shallow(left.shape, right.shape, None):
            return alone(np.matmul, left, right, out)
    return np.matmul(left, right, out)


def matmul_of(left: Shape, right: Shape) -> Callable[..., Any]:
    """Return `matmul`, or `np.matmul` if both do the same for arrays of these static shapes."""
    if left is None or right is None or len(left) < 2 or len(right) < 2:
        return matmul
    sizes = *left[-2:], right[-1]
    if None in sizes or _is_small(left, right):
        return matmul
    if narrow_products.may_serve(*sizes) or _is_shallow(left, right, 1):
        return matmul
    return np.matmul


def _is_shallow(left: Any, right: Any, count: int | None) -> bool:
    """Return whether OpenBLAS divides a product of such shapes, and one thread is fast enough.

    `count` is the number of threads, or None for that of this process.
    """
    size = left[-2] * left[-1] * right[-1]
    if left[-1] > _SHALLOW or size <= _DIVIDED:
        return False
    return bool(size * (count or threads()) <= _LARGE_SHALLOW)


def _is_narrow(left: Array, right: Array) -> bool:
    """Return whether a product has so few rows that a BLAS is slow."""
    if left.ndim != 2 or right.ndim != 2 or left.shape[1] != right.shape[0]:
        return False
    sizes = *left.shape, right.shape[1]
    return narrow_products.may_serve(*sizes) and narrow_products.serves(left, right, threads())


def _is_small(left: Any, right: Any) -> bool:
    """Return whether OpenBLAS divides a product of such shapes, and one thread is fast enough."""
    return bool(_DIVIDED < left[-2] * left[-1] * right[-1] <= _LARGE)


class _Single:
    """Products in one thread of an OpenBLAS, whose number of threads holds for the process.

    Products in other threads meanwhile have one thread, too. Thread-safe.
    """

    def __init__(self, get: Callable[[], int], set_: Callable[[int], object]) -> None:
        self._get, self._set = get, set_
        self._lock = threading.Lock()
        self._products: dict[int, None] = {}
        """The threads that compute products, by their numbers."""
        self._usual = 1
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget_threads)

    def threads(self) -> int:
        """Return the number of threads of other products."""
        with self._lock:
            return max(1, self._usual if self._products else self._get())

    def adjust(self, change: Callable[[], object]) -> None:
        """Call `change` as if no product ran."""
        with self._lock:
            if self._products:
                self._set(self._usual)
            change()
            self._usual = self._get()
            if self._products and self._usual > 1:
                self._set(1)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function of NumPy. Its products have one thread."""
        thread = threading.get_ident()
        # Python raises a KeyboardInterrupt only after a call. After each call, the thread is among
        # `_products` or OpenBLAS has its usual number of threads.
        try:
            with self._lock:
                if not self._products:
                    self._usual = self._get()
                # An interrupt at the end of its last product can leave the thread there.
                is_alone = not self._products or self._products == {thread: None}
                self._products[thread] = None
                if is_alone and self._usual > 1:
                    self._set(1)
            return function(*arguments)
        finally:
            with self._lock:
                if self._products == {thread: None} and self._usual > 1:
                    self._set(self._usual)
                self._products.pop(thread, None)

    def _forget_threads(self) -> None:
        """In a process that was forked, drop the products of threads that it does not have."""
        self._lock = threading.Lock()
        if self._products and self._usual > 1:
            self._set(self._usual)
        self._products.clear()


@functools.cache
def _single() -> _Single | None:
    """Return the `_Single` of NumPy's OpenBLAS, or None if NumPy uses another library."""
    # NumPy's own comes first, because SciPy, for example, loads an OpenBLAS of its own.
    for library in sorted(
        libraries().lib_controllers, key=lambda each: "numpy" not in each.filepath
    ):
        if library.internal_api != "openblas" or library.threading_layer != "pthreads":
            continue
        # Functions of a PyDLL keep the interpreter's lock, so the calls are short.
        blas = ctypes.PyDLL(library.filepath)
        for prefix, suffix in _AFFIXES:
            name = f"{prefix}openblas_{{}}_num_threads{suffix}"
            if hasattr(blas, name.format("set")):
                return _Single(getattr(blas, name.format("get")), getattr(blas, name.format("set")))
    return None


_AFFIXES: Final = [(before, after) for before in ("scipy_", "") for after in ("64_", "", "_64")]
"""The beginnings and the ends of the names of OpenBLAS's functions."""
