"""The kernel of a group of elementwise nodes, which is one kernel of the device."""

from typing import Any

from capstan.core import dtypes, elementwise
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

_FLOATS = frozenset({dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64})


def _elementwise(node: NodeContext) -> Function:
    program: elementwise.Program = node.attrs["program"]
    if program.results[1:]:
        return _with_results(node, program, node.attrs["alike"])
    return running(node, program)


def running(node: NodeContext, program: elementwise.Program) -> Function:
    """Return the function of a node that runs `program`, which has one result."""
    run = node.hardware.compile(program)

    def compute(*arrays: Array) -> Any:
        inputs = arrays[: program.inputs]
        try:
            [result] = run(inputs, arrays[program.inputs :])
        except ValueError:
            raise _incompatible(inputs) from None
        return result

    return compute


def _with_results(
    node: NodeContext, program: elementwise.Program, alike: tuple[int, ...]
) -> Function:
    """Return the function of a node with several results.

    If the inputs `alike` have several shapes, the results may have several shapes, too.
    """
    run = node.hardware.compile(program)
    first, others = (alike or (0,))[0], alike[1:]

    def compute(*arrays: Array) -> Any:
        inputs, out = arrays[: program.inputs], arrays[program.inputs :]
        shape = inputs[first].shape
        try:
            for other in others:
                if inputs[other].shape != shape:
                    return program.run(inputs, out)
            return run(inputs, out)
        except ValueError:
            raise _incompatible(inputs) from None

    return compute


def _incompatible(inputs: tuple[Array, ...]) -> Exception:
    found = " vs. ".join(show(array.shape) for array in inputs)
    return invalid(f"Incompatible shapes: {found}")


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
