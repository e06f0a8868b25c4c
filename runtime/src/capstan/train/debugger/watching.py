"""Write watches of tensors into RunOptions (python/debug/lib/debug_utils.py)."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from capstan.core import debug_watches
from capstan.framework.ops import dumps

_Texts = str | Sequence[str]


class WatchOptions:
    """The tensors to watch in a run, and the debug ops to dump them with.

    The patterns are regular expressions that must match the start of the name of a node, of its op
    and of the dtype of the tensor. None matches all.
    """

    def __init__(
        self,
        debug_ops: _Texts | None = None,
        node_name_regex_whitelist: str | None = None,
        op_type_regex_whitelist: str | None = None,
        tensor_dtype_regex_whitelist: str | None = None,
        tolerate_debug_op_creation_failures: bool = False,
    ) -> None:
        self.debug_ops = debug_ops or [dumps.IDENTITY]
        self.node_name_regex_whitelist = node_name_regex_whitelist
        self.op_type_regex_whitelist = op_type_regex_whitelist
        self.tensor_dtype_regex_whitelist = tensor_dtype_regex_whitelist
        self.tolerate_debug_op_creation_failures = tolerate_debug_op_creation_failures

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"WatchOptions({fields})"

    def fill(self, run_options: Any, graph: Any, url: str) -> None:
        """Add the watches of the tensors of `graph` to RunOptions. Their dumps go to `url`."""
        watch_graph(run_options, graph, debug_urls=url, **vars(self))


def add_debug_tensor_watch(
    run_options: Any,
    node_name: str,
    output_slot: int = 0,
    debug_ops: _Texts = dumps.IDENTITY,
    debug_urls: _Texts | None = None,
    tolerate_debug_op_creation_failures: bool = False,
    global_step: int = -1,
) -> None:
    """Add the watch of one tensor to RunOptions.

    A debug op may have attributes: `DebugNumericSummary(lower_bound=-1;upper_bound=1)`.
    """
    run_options.debug_options.global_step = global_step
    run_options.debug_options.debug_tensor_watch_opts.add(
        node_name=node_name,
        output_slot=output_slot,
        debug_ops=_listed(debug_ops),
        debug_urls=_listed(debug_urls or ()),
        tolerate_debug_op_creation_failures=tolerate_debug_op_creation_failures,
    )


def watch_graph(
    run_options: Any,
    graph: Any,
    debug_ops: _Texts = dumps.IDENTITY,
    debug_urls: _Texts | None = None,
    node_name_regex_whitelist: str | None = None,
    op_type_regex_whitelist: str | None = None,
    tensor_dtype_regex_whitelist: str | None = None,
    tolerate_debug_op_creation_failures: bool = False,
    global_step: int = -1,
    reset_disk_byte_usage: bool = False,
) -> None:
    """Watch the tensors of a graph whose node, op and dtype match all patterns.

    Without patterns, tensors that the compiler adds are watched too. The environment variable
    `TFDBG_DISK_BYTES_LIMIT` limits the bytes that a process dumps. With `reset_disk_byte_usage`,
    the process of the session begins to count them anew.

    Raises:
        ValueError: `debug_ops` or `debug_urls` is empty.
    """
    if not debug_ops or not debug_urls:
        raise ValueError("debug_ops and debug_urls must not be empty or None.")
    patterns = (node_name_regex_whitelist, op_type_regex_whitelist, tensor_dtype_regex_whitelist)
    tests = [re.compile(pattern or "").match for pattern in patterns]
    more = (debug_ops, debug_urls, tolerate_debug_op_creation_failures, global_step)
    _watch(run_options, graph, lambda texts: all(map(_matches, tests, texts)), *more)
    if not any(patterns):
        add_debug_tensor_watch(run_options, debug_watches.ANY, -1, *more)
    run_options.debug_options.reset_disk_byte_usage = reset_disk_byte_usage


def watch_graph_with_blacklists(
    run_options: Any,
    graph: Any,
    debug_ops: _Texts = dumps.IDENTITY,
    debug_urls: _Texts | None = None,
    node_name_regex_blacklist: str | None = None,
    op_type_regex_blacklist: str | None = None,
    tensor_dtype_regex_blacklist: str | None = None,
    tolerate_debug_op_creation_failures: bool = False,
    global_step: int = -1,
    reset_disk_byte_usage: bool = False,
) -> None:
    """Watch the tensors of a graph whose node, op and dtype match none of the patterns."""
    patterns = (node_name_regex_blacklist, op_type_regex_blacklist, tensor_dtype_regex_blacklist)
    tests = [re.compile(pattern).match if pattern else _never for pattern in patterns]
    more = (debug_ops, debug_urls or (), tolerate_debug_op_creation_failures, global_step)
    _watch(run_options, graph, lambda texts: not any(map(_matches, tests, texts)), *more)
    run_options.debug_options.reset_disk_byte_usage = reset_disk_byte_usage


def _watch(
    run_options: Any, graph: Any, is_watched: Callable[[Sequence[str]], bool], *more: Any
) -> None:
    for op in graph.get_operations():
        for slot, output in enumerate(op.outputs):
            if is_watched((op.name, op.type, output.dtype.name)):
                add_debug_tensor_watch(run_options, op.name, slot, *more)


def _matches(test: Callable[[str], Any], text: str) -> bool:
    return bool(test(text))


def _never(text: str) -> None:
    return None


def _listed(texts: _Texts) -> list[str]:
    return [texts] if isinstance(texts, str) else [*texts]
