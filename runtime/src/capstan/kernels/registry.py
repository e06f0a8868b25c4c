"""How an op runs on a device: the table of kernels.

A kernel is chosen once, when a worker compiles a segment; a step only calls the function that the
kernel made for its node. Rows are looked up by (op, device type, dtypes of the type attributes).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from capstan import errors
from capstan.core import dtypes, shapes
from capstan.core.arrays import Array
from capstan.resources import containers

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class NodeContext:
    """What a kernel may know of its node when it makes the function that runs it.

    Shapes are static (`None`: unknown); `attrs` has the defaults filled in. `resources` holds the
    variables of the task and what the node keeps between steps. `constants` holds the inputs whose
    values the compiler knows, by index: a kernel may prepare itself for them, and is handed them in
    every call all the same.
    """

    name: str
    op: str
    device: str
    attrs: Mapping[str, Any]
    input_dtypes: Sequence[dtypes.DType]
    input_shapes: Sequence[shapes.Shape]
    output_dtypes: Sequence[dtypes.DType]
    output_shapes: Sequence[shapes.Shape]
    resources: "containers.SessionResources"
    constants: Mapping[int, Array] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Kernel:
    """One row of the table.

    `make(node)` returns `function(*inputs)`, which gives None (no output), one value, or a tuple of
    values (several outputs). A value is a `numpy.ndarray` or a NumPy scalar; strings are object
    arrays of `bytes`. A reference argument arrives as a `resources.variable.Variable`, and so does
    the output of a reference. The function must be thread-safe and must not write to its inputs.

    With `out=True` the function also takes one preallocated array per output, by position after the
    inputs, writes its results there and returns them; it is called so when the shapes are known.
    `alias=True`: output 0 may share the memory of input 0 (views and identities).
    `emit(inputs)` gives an expression over the input names in place of a call.
    `types` maps a type attribute to the dtypes that this row serves; what is not named is not
    looked at.
    """

    op: str
    make: Callable[[NodeContext], Function]
    device: str = "CPU"
    types: Mapping[str, frozenset[dtypes.DType]] = field(default_factory=dict)
    out: bool = False
    alias: bool = False
    emit: Callable[[Sequence[str]], str] | None = None


_ROWS: dict[tuple[str, str], list[Kernel]] = {}


def register(kernel: Kernel) -> Kernel:
    """Add a row. Of several that serve a node, the first registered wins."""
    _ROWS.setdefault((kernel.op, kernel.device), []).append(kernel)
    return kernel


def find(op: str, device: str, attrs: Mapping[str, Any]) -> Kernel | None:
    """Return the kernel that serves `op` with `attrs` on a device type, or None."""
    for kernel in _ROWS.get((op, device), ()):
        if all(_serves(allowed, attrs.get(name)) for name, allowed in kernel.types.items()):
            return kernel
    return None


def supports(op: str, device: str, attrs: Mapping[str, Any]) -> bool:
    """Say whether a device type can run `op`: the question that the placer asks."""
    return find(op, device, attrs) is not None


def require(op: str, device: str, attrs: Mapping[str, Any], node: str) -> Kernel:
    """Return the kernel, or raise as TensorFlow does.

    Raises:
        NotFoundError: no kernel serves the node.
    """
    kernel = find(op, device, attrs)
    if kernel is None:
        types = ", ".join(
            f"{name}={value.name}"
            for name, value in attrs.items()
            if isinstance(value, dtypes.DType)
        )
        raise errors.NotFoundError(
            None,
            None,
            f"No registered '{op}' OpKernel for {device} devices compatible with node "
            f"{{{{node {node}}}}} ({types})",
        )
    return kernel


def _serves(allowed: frozenset[dtypes.DType], value: object) -> bool:
    if isinstance(value, dtypes.DType):
        return value in allowed
    return value is None or all(item in allowed for item in value)  # type: ignore[attr-defined]
