"""The threads of NumPy's BLAS, and calls that use only one of them."""

import ctypes
import functools
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from capstan.core.arrays import Array
from capstan.hardware import processors

DIVIDED: Final = 9216
"""OpenBLAS divides products of a vector and a matrix of more numbers (interface/gemv.c), and
products of two vectors of about as many (kernel/x86_64/sdot.c)."""

_LARGE: Final = 1 << 21
"""More numbers come from memory, which several threads read faster."""


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


def dot(left: Array, right: Array, out: Array | None = None) -> Any:
    """Return `np.dot(left, right, out)` for two vectors, or a vector and a matrix.

    If the arrays fit into a cache, the calling thread computes it, and waits for no busy core.
    """
    if DIVIDED < max(left.size, right.size) <= _LARGE:
        return alone(np.dot, left, right, out)
    return np.dot(left, right, out)


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


@dataclass(frozen=True, slots=True)
class Library:
    """NumPy's BLAS, if it is an OpenBLAS with threads of its own."""

    functions: ctypes.PyDLL
    prefix: str
    suffix: str

    def threads_function(self, verb: str) -> Any:
        return getattr(self.functions, f"{self.prefix}openblas_{verb}_num_threads{self.suffix}")

    @property
    def bits(self) -> int:
        """The bits of its integers."""
        return 64 if "64" in self.suffix else 32

    def product(self, dtype: "np.dtype[np.floating]") -> int:
        """Return the address of its product of matrices of float32 or float64."""
        letter = "s" if dtype.char == "f" else "d"
        function = getattr(self.functions, f"{self.prefix}cblas_{letter}gemm{self.suffix}")
        return ctypes.cast(function, ctypes.c_void_p).value or 0


@functools.cache
def library() -> Library | None:
    """Return NumPy's OpenBLAS, or None if NumPy uses another library."""
    # NumPy's own comes first, because SciPy, for example, loads an OpenBLAS of its own.
    for found in sorted(libraries().lib_controllers, key=lambda each: "numpy" not in each.filepath):
        if found.internal_api != "openblas" or found.threading_layer != "pthreads":
            continue
        # Functions of a PyDLL keep the interpreter's lock, so the calls are short.
        functions = ctypes.PyDLL(found.filepath)
        for prefix, suffix in _AFFIXES:
            if hasattr(functions, f"{prefix}openblas_set_num_threads{suffix}"):
                return Library(functions, prefix, suffix)
    return None


@functools.cache
def _single() -> _Single | None:
    found = library()
    if found is None:
        return None
    return _Single(found.threads_function("get"), found.threads_function("set"))


_AFFIXES: Final = [(before, after) for before in ("scipy_", "") for after in ("64_", "", "_64")]
"""The beginnings and the ends of the names of OpenBLAS's functions."""
