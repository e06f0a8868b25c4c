"""Write the files of a debugger's dump folder (core/debug/debug_io_utils.cc). All calls block."""

import hashlib
import time
from typing import Any

from capstan import errors
from capstan.core import debug_layout
from capstan.resources import dump_allowance, files

_SCHEME = "file://"


def write_tensor(url: str, key: debug_layout.Key, value: Any, dtype: int) -> None:
    """Write a tensor below the folder `url`. `value` is None for a variable without a value.

    Raises:
        UnavailableError: `url` does not begin with `file://`.
        ResourceExhaustedError: the process has dumped as many bytes as it may.
        OpError: the file cannot be written.
    """
    folder = folder_of(url)
    dump_allowance.OF_PROCESS.take(_size(value), f"{key.node}:{key.slot}")
    now = _now()
    event = debug_layout.tensor_event(key, value, dtype, now)
    files.write_all(_unused(f"{folder}/{key.path}_{now}"), event)


def write_graph(url: str, device: str, graph: bytes) -> None:
    """Write the GraphDef of a device below the folder `url`. Raises as `write_tensor`."""
    now = _now()
    folder = f"{folder_of(url)}/{debug_layout.device_folder(device)}"
    name = f"{debug_layout.GRAPH}hash{_hash(graph)}_{now}"
    files.write_all(f"{folder}/{name}", debug_layout.graph_event(graph, now))


def write_run(url: str, run: int, text: str) -> None:
    """Write the description of a run below the folder `url`. Raises as `write_tensor`."""
    now = _now()
    name = _unused(f"{folder_of(url)}/{debug_layout.CORE}sessionrun{run:014d}_{now}")
    files.write_all(name, debug_layout.text_event(text, now))


def folder_of(url: str) -> str:
    """Return the folder that a URL names.

    Raises:
        UnavailableError: `url` does not begin with `file://`.
    """
    if not url.lower().startswith(_SCHEME):
        raise errors.UnavailableError(
            None, None, f"Invalid debug target URL: {url}. Capstan dumps to file:// only"
        )
    return url[len(_SCHEME) :].rstrip("/")


def _size(value: Any) -> int:
    """Return the bytes of the elements of a tensor. A variable without a value has none."""
    if value is None:
        return 0
    return sum(map(len, value.flat)) if value.dtype == object else int(value.nbytes)


def _hash(content: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "big")


def _now() -> int:
    return time.time_ns() // 1000


def _unused(name: str) -> str:
    """Return the name of a file that does not exist: `name`, `name-1`, `name-2` and so on."""
    found, number = name, 0
    while files.of(found).exists(found):
        number += 1
        found = f"{name}-{number}"
    return found
