"""The table of kernels. A kernel makes the function that runs a node on a device.

A worker chooses the kernel of a node once, when it compiles a segment. A step only calls the
function that the kernel made. Rows are looked up by op, device type and the dtypes of the type
attributes.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from capstan import errors
from capstan.core import dtypes, kernel_list, shapes
from capstan.core.arrays import Array
from capstan.hardware import device as device_of
from capstan.resources import containers, dataset, waiters

Function = Callable[..., Any]

Columns = Sequence[Sequence[Any]]
"""Each input, or each output, of several nodes. A column has one value of each node, in order."""

Done = waiters.Done
"""Receives the outputs of a node, in order, or the error with which the node failed."""


@dataclass(frozen=True, slots=True)
class NodeContext:
    """The facts about a node from which a kernel makes the node's function.

    Shapes are static, and `None` if unknown. `attrs` includes the op's default values. `resources`
    holds the variables of the task, and objects that the node keeps between steps. `constants` are
    the input values that the compiler knows, by input index. A kernel may use them to prepare its
    function. The function still receives them as arguments in every call.
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
    packed: frozenset[int] = frozenset()
    """The numbers of the outputs that may be `PackedStrings` in place of an object array."""
    callee: Callable[[str], dataset.Callee] | None = None
    """Returns the compiled function that the attribute of that name refers to.

    Only the nodes of parts have functions.
    """

    @property
    def hardware(self) -> device_of.Device:
        """The device that runs the node: it allocates memory and has the array module."""
        return self.resources.devices.of(self.device)


@dataclass(frozen=True, slots=True)
class Join:
    """How one call runs several nodes of an op that do not depend on each other.

    `make(nodes)` returns `function(*inputs)`, or None if it cannot join these nodes. The function
    takes a column for each input, and returns a column for each output. A column may be a
    `stacking.Column`, which the next function takes without copying it. A function may return a
    column that it took. It returns None or raises an error if the inputs are not all valid, or do
    not fit together. Then it has changed nothing, and the executor runs the nodes one after
    another.

    The attributes of the nodes are equal, except for those named in `free`. So are the static
    shapes of their inputs without the first size. `tables` are the numbers of the inputs of which
    the function reads single rows. It copies all other tensors.
    """

    make: "Joining"
    free: tuple[str, ...] = ()
    tables: tuple[int, ...] = ()


Joined = Callable[..., Columns | None]
"""The function of several nodes."""
Joining = Callable[[Sequence[NodeContext]], Joined | None]
"""Returns the function of several nodes, or None."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """One row of the table. It has either `make` or `start`.

    `make(node)` returns `function(*inputs)`. The function returns None (no output), one value, or a
    tuple of values (several outputs). A value is a `numpy.ndarray` or a NumPy scalar. Strings are
    object arrays of `bytes`. A reference or a handle is passed and returned as a
    `resources.variable.Variable`. The function must be thread-safe and must not write to its
    inputs.

    `start(node)` is for an op that may wait, such as a dequeue. It returns
    `function(*inputs, done, cancellation)`, which never blocks and holds no thread while the op
    waits. `done`, a `Done`, and `cancellation`, a `core.cancellation.Cancellation`, are passed by
    name. The function or another thread calls `done` exactly once, possibly before the function
    returns. `done` only hands the outputs over: it runs nothing of the step itself, never blocks
    and never raises. The inputs may change after `done` was called, so the function copies the
    inputs that it keeps. The outputs belong to the step. When the step is cancelled, the function
    calls `done` with the error of the cancellation. If the function has an attribute `abort`,
    `abort(error)` is called when the part of the node fails, also before the node has started. It
    never blocks.

    With `out=True` the function also takes one preallocated array per output, by position after the
    inputs. It writes its results there and returns them. The compiler passes the arrays only if the
    shapes are known. With `alias=True`, output 0 may share the memory of input 0, as views and
    identities do. `emit(inputs)` returns an expression over the names of the inputs, which replaces
    the call. Loops use `operator`, the operator of Python that computes the same of two NumPy
    scalars. `types` maps a type attribute to the dtypes that this row serves. A type attribute that
    is not in `types` may have any dtype.

    With `repeats=True`, a device may do the work of a call again without the host
    (`hardware.Device.record`): the outputs depend only on the inputs, the variables and the memory
    of the device, and the function keeps nothing on the host between calls. If `repeats_with`
    has entries, this holds only for nodes that one of them allows, as `types` does.

    With `holds_thread=True`, the function of `make` may block its thread, for example in a Python
    function that waits for another Python function. If several such nodes of a step do not depend
    on each other, they run at the same time, in the inter-op threads of the task.

    `join` runs several nodes in one call. Only rows of CPUs have it.

    With `gives_packed=True`, outputs that are vectors of strings may be `PackedStrings`, if
    `NodeContext.packed` has their numbers. `takes_packed` are the numbers of the inputs that may be
    `PackedStrings` or arrays. All other strings are object arrays.
    """

    op: str
    make: Callable[[NodeContext], Function] | None = None
    device: str = "CPU"
    types: Mapping[str, frozenset[dtypes.DType]] = field(default_factory=dict)
    out: bool = False
    alias: bool = False
    emit: Callable[[Sequence[str]], str] | None = None
    start: Callable[[NodeContext], Function] | None = None
    operator: str = ""
    holds_thread: bool = False
    repeats: bool = False
    repeats_with: tuple[Mapping[str, frozenset[dtypes.DType]], ...] = ()
    join: Join | None = None
    gives_packed: bool = False
    takes_packed: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if (self.make is None) == (self.start is None):
            raise ValueError(f"The kernel of {self.op} needs either make or start, and not both")

    @property
    def is_asynchronous(self) -> bool:
        """Whether the function of the kernel may answer after it returns."""
        return self.start is not None

    def can_repeat(self, attrs: Mapping[str, Any]) -> bool:
        """Return whether a device may repeat a node with these attributes without the host."""
        allowed = self.repeats_with or ({},)
        return self.repeats and any(kernel_list.serves(types, attrs) for types in allowed)

    def bind(self, node: NodeContext) -> Function:
        """Return the function that runs `node`, as `make` or `start` describes it."""
        build = self.make if self.start is None else self.start
        assert build is not None
        return build(node)


_ROWS: dict[str, dict[str, list[Kernel]]] = {}
"""The rows of each op, by device type."""


def register(kernel: Kernel) -> Kernel:
    """Add a row. If several rows serve a node, the row that was added first is used."""
    _ROWS.setdefault(kernel.op, {}).setdefault(kernel.device, []).append(kernel)
    listed.cache_clear()
    return kernel


def amend(op: str, change: Callable[[Kernel], Kernel]) -> None:
    """Replace each row of `op`, on all device types, by the row that `change` returns for it."""
    for kernels in _ROWS.get(op, {}).values():
        kernels[:] = map(change, kernels)
    listed.cache_clear()


def specialise(
    op: str, types: Mapping[str, frozenset[dtypes.DType]], change: Callable[[Kernel], Kernel]
) -> None:
    """Let the rows of `op` for CPUs serve `types` as the rows that `change` returns for them."""
    kernels = _ROWS[op]["CPU"]
    kernels[:0] = [replace(change(kernel), types={**kernel.types, **types}) for kernel in kernels]
    listed.cache_clear()


def rows(op: str, device: str) -> Sequence[Kernel]:
    """Return the rows of `op` on a device type, in the order in which they are tried."""
    return tuple(_of(op, device))


def _of(op: str, device: str) -> Sequence[Kernel]:
    return _ROWS.get(op, {}).get(device, ())


@functools.cache
def listed() -> kernel_list.KernelList:
    """Return the kernels of this process, for the placers of all masters."""
    return kernel_list.KernelList(
        kernel_list.KernelDef(kernel.op, kernel.device, kernel.types)
        for devices in _ROWS.values()
        for kernels in devices.values()
        for kernel in kernels
    )


def find(op: str, device: str, attrs: Mapping[str, Any]) -> Kernel | None:
    """Return the kernel for `op` with `attrs` on a device type, or None."""
    for kernel in _of(op, device):
        if kernel_list.serves(kernel.types, attrs):
            return kernel
    return None


def has_asynchronous(op: str, device: str) -> bool:
    """Return whether any row of `op` for a device type may wait."""
    return any(kernel.is_asynchronous for kernel in _of(op, device))


def has_alias(op: str, device: str) -> bool:
    """Return whether any row of `op` for a device type may return the memory of an input."""
    return any(kernel.alias for kernel in _of(op, device))


def has_joining(op: str, device: str) -> bool:
    """Return whether a call of any row of `op` for a device type may run several nodes."""
    return any(kernel.join is not None for kernel in _of(op, device))


def gives_packed(op: str) -> bool:
    """Return whether a row of `op` for CPUs may return `PackedStrings`."""
    return any(kernel.gives_packed for kernel in _of(op, "CPU"))


def holds_thread(op: str, device: str) -> bool:
    """Return whether any row of `op` for a device type may block its thread."""
    return any(kernel.holds_thread for kernel in _of(op, device))


def supports(op: str, device: str, attrs: Mapping[str, Any]) -> bool:
    """Return whether a device type can run `op`. The placer calls this."""
    return find(op, device, attrs) is not None


def require(op: str, device: str, attrs: Mapping[str, Any], node: str) -> Kernel:
    """Return the kernel for the node called `node`.

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
