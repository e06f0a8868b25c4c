"""The kernel of a group of elementwise nodes, which is one kernel of the device."""

from typing import Any

from capstan.core import dtypes, elementwise
from capstan.core.arrays import Array
from capstan.kernels.registry import Function, Kernel, NodeContext, register

_FLOATS = frozenset({dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64})


def _elementwise(node: NodeContext) -> Function:
    program: elementwise.Program = node.attrs["program"]
    if program.results[1:]:
        return _with_results(node, program, node.attrs["alike"])
    return running(node, program)


def running(node: NodeContext, program: elementwise.Program) -> Function:
    """Return the function of a node that runs `program`, which has one result."""
    return node.hardware.ufunc(program, node.resources.spent)


def _with_results(
    node: NodeContext, program: elementwise.Program, alike: tuple[int, ...]
) -> Function:
    """Return the function of a node with several results.

    If the inputs `alike` have several shapes, the results may have several shapes, too.
    """
    call, count = node.hardware.ufunc(program, node.resources.spent), program.inputs
    if len(alike) < 2:
        return call
    first, *others = alike

    def compute(*arrays: Array) -> Any:
        shape = arrays[first].shape
        for other in others:
            if arrays[other].shape != shape:
                return program.run(arrays[:count], arrays[count:])
        return call(*arrays)

    return compute


for _device in ("CPU", "GPU"):
    register(
        Kernel(
            "_Elementwise",
            _elementwise,
            device=_device,
            types={"T": _FLOATS},
            out=True,
            repeats=True,
        )
    )
