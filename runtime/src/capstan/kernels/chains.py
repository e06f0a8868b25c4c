"""The kernel of a chain of elementwise nodes, which is one kernel of the device."""

from typing import Any

from capstan.core import dtypes, elementwise
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

_FLOATS = frozenset({dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64})


def _elementwise(node: NodeContext) -> Function:
    return running(node, node.attrs["program"])


def running(node: NodeContext, program: elementwise.Program) -> Function:
    """Return the function of a node that runs `program`, which has one result."""
    run = node.hardware.compile(program)

    def compute(*arrays: Array) -> Any:
        inputs = arrays[: program.inputs]
        try:
            [result] = run(inputs, arrays[program.inputs :])
        except ValueError:
            found = " vs. ".join(show(array.shape) for array in inputs)
            raise invalid(f"Incompatible shapes: {found}") from None
        return result

    return compute


register(
    Kernel("_Elementwise", _elementwise, device="GPU", types={"T": _FLOATS}, out=True, repeats=True)
)
