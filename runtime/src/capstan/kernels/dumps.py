"""Kernels that write tensors to the dump folders of a debugger (core/debug/debug_io_utils.cc)."""

import numpy as np

from capstan.core import debug_layout, debug_watches
from capstan.core.arrays import Array
from capstan.framework.ops import dumps
from capstan.kernels import debugging
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.resources import tensor_dumps, variable


def _dump(node: NodeContext) -> Function:
    key = debug_layout.Key(
        node.attrs["device_name"].decode(),
        node.attrs["node_name"].decode(),
        node.attrs["output_slot"],
        node.attrs["debug_op"].decode(),
    )
    target, dtype = node.attrs["target"], node.input_dtypes[0].base_dtype.as_datatype_enum
    is_muted = node.attrs["mute_if_healthy"]

    def dump(value: Array | None, targets: Array) -> None:
        if is_muted and value is not None and debugging.is_healthy(value):
            return
        for url in debug_watches.decoded(targets[target]):
            tensor_dumps.write_tensor(url, key, value, dtype)

    return dump


def _dump_tensor(node: NodeContext) -> Function:
    dump = _dump(node)
    if node.attrs["debug_op"] == dumps.IDENTITY.encode():
        return lambda value, targets: dump(np.asarray(value), targets)
    # All debug ops of TensorFlow return vectors, also those with the shape function of a scalar.
    return lambda value, targets: dump(np.atleast_1d(value), targets)


def _dump_variable(node: NodeContext) -> Function:
    dump = _dump(node)
    op = node.attrs["debug_op"].decode()
    if op == dumps.IDENTITY:
        return lambda cell, targets: dump(cell.array, targets)
    inspect = debugging.inspection(node, op)
    without_value = debugging.inspection_without_value(node, op)

    def dump_result(cell: variable.Variable, targets: Array) -> None:
        array = cell.array
        dump(np.atleast_1d(without_value if array is None else inspect(array)), targets)

    return dump_result


register(Kernel("_Dump", _dump_tensor))
register(Kernel("_DumpRef", _dump_variable))
