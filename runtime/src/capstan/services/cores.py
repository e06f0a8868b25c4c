"""The cores that the matrix products of a process may use.

NumPy's BLAS starts a thread per core, and these threads spin while they wait. Two tasks that both
do so on one machine are slower than one task. `intra_op_parallelism_threads` sets the number of
threads of a process. If it is 0, the tasks of a cluster that run on one host share the cores of the
host, and a process without a server uses all cores. A container has no more cores than its limit of
processor time grants (`cpu_quota`).
"""

import ctypes
import gc
import os
import sys
import threading
from collections.abc import Mapping
from typing import Final

from capstan.core import config
from capstan.hardware import blas, processors
from capstan.services import cpu_quota

_SPIN: Final = 17
"""Idle threads of OpenBLAS spin for 2**17 cycles, some 50 us, before they sleep.

The products of a step often follow each other within this time. OpenBLAS's own choice is 2**26 or
more cycles, some 30 ms. In this time, an idle thread takes a core away from other threads of the
process, for example from those that read the next batch.
"""

_VARIABLE: Final = "OPENBLAS_THREAD_TIMEOUT"

_WAITS: Final = frozenset(
    {
        ("threading", "wait"),
        ("threading", "_wait_for_tstate_lock"),
        ("concurrent.futures.thread", "_worker"),
        ("selectors", "select"),
        ("socket", "accept"),
        ("socket", "readinto"),
    }
)
"""The functions in which threads wait, with their modules."""

_NEVER: Final = 1000.0
"""A switch interval, in seconds, so long that a running thread keeps the interpreter's lock."""


def threads_for(
    settings: config.SessionConfig, task: str, addresses: Mapping[str, str], cores: int
) -> int:
    """Return the number of BLAS threads for `task`, which is at least one.

    `addresses` holds the address of every task of the cluster.
    """
    if settings.intra_op_parallelism_threads:
        return settings.intra_op_parallelism_threads
    hosts = [address.rpartition(":")[0] for address in addresses.values()]
    neighbours = hosts.count(addresses[task].rpartition(":")[0])
    return max(1, cores // max(1, neighbours))


def usable() -> int:
    """Return the number of cores that this process may run on, and whose time it may use."""
    present = processors.schedulable()
    return min(present, cpu_quota.cores() or present)


def limit(threads: int) -> None:
    """Limit the BLAS libraries of this process to `threads` threads."""
    blas.adjust(lambda: blas.libraries().limit(limits=threads, user_api="blas"))


def keep_to_quota() -> None:
    """Limit the BLAS libraries to the cores of a container. They do not know its quota."""
    allowed = cpu_quota.cores()
    if not allowed:
        return

    def lower() -> None:
        for library in blas.libraries().select(user_api="blas").lib_controllers:
            library.set_num_threads(min(allowed, library.num_threads))

    blas.adjust(lower)


def sleep_when_idle() -> None:
    """Let idle threads of OpenBLAS sleep soon after a product.

    A number of cycles that the user chose by `OPENBLAS_THREAD_TIMEOUT` stays. Nothing changes if
    another thread of Python could be in the middle of a product. A thread that waits in one of the
    functions `_WAITS` cannot be.
    """
    spinning = [
        library
        for library in blas.libraries().lib_controllers
        if library.internal_api == "openblas"
        and library.threading_layer == "pthreads"
        and _spins(library.dynlib)
    ]
    if not spinning:
        return
    interval = sys.getswitchinterval()
    if interval > _NEVER / 2:
        return  # Another thread is just doing the same.
    # No other thread begins a product before OpenBLAS has stopped its threads.
    sys.setswitchinterval(_NEVER)
    try:
        if _all_others_wait():
            for library in spinning:
                _shorten(ctypes.PyDLL(library.filepath))
    finally:
        sys.setswitchinterval(interval)


def _spins(library: ctypes.CDLL) -> bool:
    """Return whether OpenBLAS has its own time of spinning, and can be given another."""
    names = "openblas_thread_timeout", "openblas_read_env", "blas_thread_shutdown_"
    if _VARIABLE in os.environ or not all(hasattr(library, name) for name in names):
        return False  # The user has chosen a time, or this is another version of OpenBLAS.
    return not library.openblas_thread_timeout()


def _all_others_wait() -> bool:
    """Return whether every other thread of Python waits, and multiplies no matrices meanwhile."""
    is_collecting = gc.isenabled()
    # In CPython 3.11, a collection of garbage while the frames are listed may wait for ever.
    gc.disable()
    try:
        frames = sys._current_frames()
    finally:
        if is_collecting:
            gc.enable()
    del frames[threading.get_ident()]
    return all(
        (frame.f_globals.get("__name__"), frame.f_code.co_name) in _WAITS
        for frame in frames.values()
    )


def _shorten(library: ctypes.PyDLL) -> None:
    """Make one OpenBLAS start its threads again, with a short time of spinning.

    Functions of a PyDLL keep the interpreter's lock, so no other thread runs meanwhile.

    OpenBLAS has no function for this. It reads the variable when it is loaded, which is before
    Capstan in most programs. `blas_thread_shutdown_` is what OpenBLAS calls before a fork; the next
    product starts the threads again.
    """
    os.environ[_VARIABLE] = str(_SPIN)
    try:
        library.openblas_read_env()
    finally:
        del os.environ[_VARIABLE]
    library.blas_thread_shutdown_()
