"""What the profiler knows of a graph beside its GraphDef (python/profiler/tfprof_logger.py).

An OpLogProto has entries of nodes: their floating-point operations, types of the user, and the
lines of Python that made them.
"""

import os
import sys
from collections.abc import Mapping
from typing import Any

from capstan.api import file_io
from capstan.api.profiler.option_builder import TRAINABLE_VARIABLES
from capstan.core import profiler_messages as messages
from capstan.framework import statistics
from capstan.framework.collections import GraphKeys
from capstan.framework.graph import get_default_graph

_FLOPS = "flops"


class _Strings:
    """Numbers for strings that many entries have."""

    def __init__(self) -> None:
        self.numbers = {"none": 0}

    def number(self, text: str | None) -> int:
        return self.numbers.setdefault(text, len(self.numbers)) if text else 0


def merge_default_with_oplog(
    graph: Any,
    op_log: Any = None,
    run_meta: Any = None,
    add_trace: bool = True,
    add_trainable_var: bool = True,
) -> Any:
    """Return an OpLogProto with the entries of `op_log` and with those that the graph tells.

    The graph tells floating-point operations, trainable variables and, if `add_trace`, the
    innermost lines of the program that made each node. Lines of Capstan are left out. `run_meta`
    completes the shapes of the graph's tensors. A number of `op_log` wins.
    """
    graph = graph or get_default_graph()
    entries, strings = _logged(graph, run_meta, add_trace, add_trainable_var)
    merged = messages.OpLogProto()
    if op_log:
        given = {entry.name: entry for entry in op_log.log_entries}
        for name, entry in entries.items():
            _merge(given.setdefault(name, entry), entry)
        entries = given
    merged.log_entries.extend(entries.values())
    for text, number in strings.items():
        merged.id_to_string[number] = text
    return merged


def write_op_log(
    graph: Any, log_dir: str, op_log: Any = None, run_meta: Any = None, add_trace: bool = True
) -> None:
    """Write the op log of a graph to the file `tfprof_log` of the folder `log_dir`.

    `graph` None is the default graph. The arguments are those of `merge_default_with_oplog`.

    Raises:
        NotFoundError: there is no such folder.
    """
    merged = merge_default_with_oplog(graph, op_log, run_meta, add_trace)
    with file_io.GFile(os.path.join(log_dir, "tfprof_log"), "w") as log:
        log.write(merged.SerializeToString())


def _merge(given: Any, found: Any) -> None:
    """Add what the graph tells of a node to the user's entry."""
    if given is found:
        return
    given.types.extend(found.types)
    if found.float_ops > 0 and given.float_ops == 0:
        given.float_ops = found.float_ops
    if found.code_def.traces and not given.code_def.traces:
        given.code_def.MergeFrom(found.code_def)


def _logged(
    graph: Any, run_meta: Any, add_trace: bool, add_trainable_var: bool
) -> tuple[dict[str, Any], Mapping[str, int]]:
    """Return the entries of a graph by node, and the numbers of their strings."""
    if run_meta:
        _complete_shapes(graph, run_meta)
    strings = _Strings()
    entries: dict[str, Any] = {}
    without_shape = 0
    for op in graph.get_operations():
        entry = messages.OpLogEntry(name=op.name)
        try:
            flops = statistics.get_stats_for_node_def(graph, op.node_def, _FLOPS).value
        except ValueError:
            without_shape += 1
        else:
            entry.float_ops = int(flops or 0)
        if add_trace:
            _add_trace(entry.code_def, op, strings)
        if entry.float_ops or add_trace:
            entries[op.name] = entry
    if add_trainable_var:
        for variable in graph.get_collection(GraphKeys.TRAINABLE_VARIABLES):
            name = variable.op.name
            entry = entries.setdefault(name, messages.OpLogEntry(name=name))
            entry.types.append(TRAINABLE_VARIABLES)
    if without_shape and not run_meta:
        sys.stderr.write(f"{without_shape} ops no flops stats due to incomplete shapes.\n")
    return entries, strings.numbers


def _add_trace(code_def: Any, op: Any, strings: _Strings) -> None:
    for file, line, function, text, first_line in op.traceback_with_start_lines:
        code_def.traces.add(
            file_id=strings.number(file),
            lineno=line,
            function_id=strings.number(function),
            line_id=strings.number(text),
            func_start_line=first_line,
        )


def _complete_shapes(graph: Any, run_meta: Any) -> None:
    """Set the shapes of the graph's tensors that a run reported and the graph does not know."""
    for device in run_meta.step_stats.dev_stats:
        for node in device.node_stats:
            try:
                op = graph.get_operation_by_name(node.node_name)
            except (KeyError, ValueError):
                continue  # A RecvTensor, for example, is no node of the graph.
            if len(node.output) == len(op.outputs):
                _complete_outputs(op, node)


def _complete_outputs(op: Any, node: Any) -> None:
    for tensor, output in zip(op.outputs, node.output, strict=True):
        if tensor.shape.is_fully_defined():
            continue
        found = [dim.size for dim in output.tensor_description.shape.dim]
        try:
            tensor.set_shape(found)
        except ValueError as error:
            sys.stderr.write(f"Node {op.name} incompatible shapes: {error}.\n")
