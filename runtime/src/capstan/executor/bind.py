"""Choose the kernel of a node, and make the function that runs the node."""

import contextvars
import functools
import threading
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from capstan import errors
from capstan.core import cancellation, devices, shapes
from capstan.core import node as ir
from capstan.core.arrays import Array
from capstan.graph import infer
from capstan.kernels import registry
from capstan.resources import containers, dataset


@dataclass(frozen=True, slots=True)
class Bound:
    """The kernel of a node, its function, and the types of its inputs and outputs."""

    context: registry.NodeContext
    kernel: registry.Kernel
    function: registry.Function
    inputs: infer.Tensors
    outputs: infer.Tensors


def bind(
    node: ir.Node,
    known: Mapping[ir.Edge, shapes.Shape],
    constants: Mapping[ir.Edge, Array],
    resources: containers.SessionResources,
    callee: Callable[[str], dataset.Callee] | None = None,
    packed: Container[ir.Edge] = (),
) -> Bound:
    """Return the kernel of `node`, and the function that runs `node`.

    `known` gives the static shapes of the tensors, and `constants` the inputs that are constant.
    `callee` returns the function of an attribute, if the node is in a part. `packed` are the
    tensors that may be `PackedStrings`.

    Raises:
        NotFoundError: the op, or a kernel for it on the node's device, does not exist.
        InvalidArgumentError: the node is malformed.
    """
    inputs, outputs = infer.arguments(node)
    attrs = infer.attributes(node)
    kind = devices.type_of(node.device)
    kernel = registry.require(node.op, kind, attrs, node.name)
    context = registry.NodeContext(
        name=node.name,
        op=node.op,
        device=node.device,
        attrs=attrs,
        input_dtypes=[dtype for dtype, _ in inputs],
        input_shapes=[known.get(edge) for edge in node.inputs],
        output_dtypes=[dtype for dtype, _ in outputs],
        output_shapes=[known.get(ir.Edge(node.name, index)) for index in range(len(outputs))],
        resources=resources,
        constants={
            index: constants[edge] for index, edge in enumerate(node.inputs) if edge in constants
        },
        callee=callee,
        packed=frozenset(n for n in range(len(outputs)) if ir.Edge(node.name, n) in packed),
    )
    if not context.hardware.is_host:
        context.hardware.use()  # A kernel may make arrays of its device when it is bound.
    return Bound(context, kernel, kernel.bind(context), inputs, outputs)


def blocking(
    start: Callable[..., None], count: int, cancelled: cancellation.Cancellation
) -> Callable[..., Any]:
    """Return a function that starts a waiting node with `count` outputs, and blocks until its end.

    `start` is the function of the node's kernel (`registry.Kernel.start`). `cancelled` ends the
    wait.
    """

    def call(*inputs: Any) -> Any:
        answered = threading.Event()
        found: list[Any] = []

        def done(outputs: Sequence[Any], error: errors.OpError | None, _: Any = None) -> bool:
            found.append((outputs, error))
            answered.set()
            return True

        start(*inputs, done=done, cancellation=cancelled)
        answered.wait()
        ((outputs, error),) = found
        if error is not None:
            raise error
        return outputs[0] if count == 1 else tuple(outputs)

    return call


def beside(
    function: registry.Function,
    outputs: infer.Tensors,
    submit: Callable[[Callable[[], None]], None],
) -> registry.Function:
    """Return a `start` (`registry.Kernel`) that calls `function` in a thread of `submit`."""

    def work(
        inputs: Sequence[Any], done: registry.Done, cancelled: cancellation.Cancellation
    ) -> None:
        if cancelled.error is not None:
            done((), cancelled.error)
            return
        try:
            found = results(function(*inputs), outputs)
        except BaseException as fault:  # noqa: BLE001 - the step's error
            done((), errors.from_exception(fault))
        else:
            done(found, None)

    def start(*inputs: Any, done: registry.Done, cancellation: cancellation.Cancellation) -> None:
        run = functools.partial(contextvars.copy_context().run, work, inputs, done, cancellation)
        try:
            submit(run)
        except RuntimeError as fault:
            done((), errors.from_exception(fault))

    return start


def holds_thread(node: ir.Node) -> bool:
    """Return whether `node` may block its thread. It then runs beside nodes that also may."""
    return registry.holds_thread(node.op, devices.type_of(node.device))


def waits(node: ir.Node) -> bool:
    """Return whether `node` may answer late, because its kernel is asynchronous."""
    kind = devices.type_of(node.device)
    if not registry.has_asynchronous(node.op, kind):
        return False
    kernel = registry.find(node.op, kind, infer.attributes(node))
    return kernel is not None and kernel.is_asynchronous


def results(value: Any, outputs: infer.Tensors) -> Sequence[Any]:
    """Return the value of a node's function as a sequence with one value per output."""
    if len(outputs) == 1:
        return (value,)
    return tuple(value) if outputs else ()
