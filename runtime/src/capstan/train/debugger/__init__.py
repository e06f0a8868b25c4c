"""The debugger `tfdbg`: dumps of the tensors of a step, and a prompt that shows them.

    from capstan.python import debug as tf_debug

    session = tf_debug.LocalCLIDebugWrapperSession(session)
    session.add_tensor_filter("has_inf_or_nan", tf_debug.has_inf_or_nan)

The names are those of tensorflow/python/debug.
"""

from capstan.train.debugger.dump_folder import DebugDumpDir
from capstan.train.debugger.dumped import (
    DebugTensorDatum,
    has_inf_or_nan,
    load_tensor_from_event,
    load_tensor_from_event_file,
)
from capstan.train.debugger.dumping import DumpingDebugWrapperSession
from capstan.train.debugger.hooks import DumpingDebugHook, LocalCLIDebugHook
from capstan.train.debugger.local import LocalCLIDebugWrapperSession
from capstan.train.debugger.watching import (
    WatchOptions,
    add_debug_tensor_watch,
    watch_graph,
    watch_graph_with_blacklists,
)

__all__ = [
    "DebugDumpDir",
    "DebugTensorDatum",
    "DumpingDebugHook",
    "DumpingDebugWrapperSession",
    "LocalCLIDebugHook",
    "LocalCLIDebugWrapperSession",
    "WatchOptions",
    "add_debug_tensor_watch",
    "has_inf_or_nan",
    "load_tensor_from_event",
    "load_tensor_from_event_file",
    "watch_graph",
    "watch_graph_with_blacklists",
]
