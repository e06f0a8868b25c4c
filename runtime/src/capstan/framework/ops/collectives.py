"""Rows of the ops that combine tensors of several GPUs (tensorflow/core/ops/nccl_ops.cc).

The compiler turns a sum of tensors of several GPUs of a task, and `NcclReduce`, into one node that
reads the tensors where they are. Another such node copies the output of `NcclBroadcast` to all GPUs
that read it (`partition.copies`). No client sends these nodes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from capstan.core import dtypes, tensor_shape
from capstan.core import node as ir
from capstan.framework import facts
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, Tensor, define
from capstan.framework.ops import rules

_TYPES = {"T": (dtypes.float16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)}
_REDUCTIONS = {"reduction": (b"min", b"max", b"prod", b"sum")}


def check_device(tensor: Any, expected: str | None = None) -> None:
    """Raise ValueError if a tensor has no device, or another device than expected."""
    if not tensor.device:
        raise ValueError("Device assignment required for nccl collective ops")
    if expected and expected != tensor.device:
        raise ValueError(f"Expected device {expected}, got {tensor.device}")


def _all_reduced(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    grad = _of_a_sum(op, grads)
    with op.graph.device(op.device):
        return [
            raw.NcclAllReduce(
                grad,
                reduction=b"sum",
                num_devices=op.get_attr("num_devices"),
                shared_name=op.get_attr("shared_name") + b"_grad",
            )
        ]


def _reduced(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    grad = _of_a_sum(op, grads)
    with op.graph.device(op.device):
        spread = raw.NcclBroadcast(grad, shape=grad.shape)
    return [spread] * len(op.inputs)


def _of_a_sum(op: Op, grads: Gradients) -> Tensor:
    """Return the gradient of the output of a sum, after checks of the op and of the devices."""
    if op.get_attr("reduction") != b"sum":
        raise LookupError(f"No gradient defined for {op.type} except sum.")
    (grad,) = grads
    assert grad is not None
    check_device(grad, op.device)
    return grad


def _broadcast(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """Reduce the gradients of the readers to the device of the source.

    `tf.gradients` has added the gradients of several readers up. TensorFlow's rule takes the inputs
    of the node that it gets for these gradients, also if there is one reader.
    """
    (added,) = grads
    assert added is not None
    parts = list(added.op.inputs) if added.op.type == "AddN" else [added]
    for part in parts:
        check_device(part)
    with op.graph.device(op.device):
        return [raw.NcclReduce(parts, reduction=b"sum")]


define(
    OpDef(
        "NcclAllReduce",
        ("input: T",),
        ("data: T",),
        attrs={"reduction": bytes, "num_devices": int, "shared_name": bytes},
        choices=_REDUCTIONS,
        shape=rules.unchanged,
        gradient=_all_reduced,
        types=_TYPES,
        effect=facts.BLOCKS,
    )
)
define(
    OpDef(
        "NcclReduce",
        ("input: num_devices * T",),
        ("data: T",),
        attrs={"reduction": bytes},
        choices=_REDUCTIONS,
        shape=rules.unchanged,
        gradient=_reduced,
        types=_TYPES,
        effect=facts.BLOCKS,
    )
)
define(
    OpDef(
        "NcclBroadcast",
        ("input: T",),
        ("output: T",),
        attrs={"shape": tensor_shape.TensorShape},
        shape=rules.unchanged,
        gradient=_broadcast,
        types=_TYPES,
    )
)
define(
    OpDef(
        "_ReduceAcross",
        ("inputs: N * T",),
        ("output: T",),
        attrs={"reduction": bytes, "sources": list},
        shape=rules.merged,
        effect=facts.BLOCKS,
    )
)
define(
    OpDef(
        "_BroadcastAcross",
        ("input: T",),
        ("outputs: N * T",),
        attrs={"N": int, "targets": list},
        shape=lambda ctx: [ctx.inputs[0]] * ctx.attrs["N"],
        effect=facts.BLOCKS,
    )
)


def reduction(node: ir.Node) -> bytes | None:
    """Return how a node combines tensors that may be on several GPUs, such as `b"sum"`.

    A sum of variants is on one GPU.
    """
    if node.op == "NcclReduce":
        found: bytes = node.attrs["reduction"]
        return found
    return b"sum" if node.op == "AddN" and node.attrs["T"] is not dtypes.variant else None


def has_partial_sums(node: ir.Node) -> bool:
    """Return whether another node like this one may add some of its inputs before."""
    return node.op == "AddN"


def partial_sum(name: str, whole: ir.Node, inputs: Sequence[ir.Edge], device: str) -> ir.Node:
    """Return the node that adds some of the inputs of the sum `whole` on another device."""
    attrs: Mapping[str, Any] = {**whole.attrs, "N": len(inputs)}
    return ir.Node(name, whole.op, tuple(inputs), (), device, attrs)


def reduced(
    node: ir.Node, how: bytes, inputs: Sequence[ir.Edge], sources: Sequence[str]
) -> ir.Node:
    """Return the node that takes the place of `node`, and reads each input where it is.

    `sources` are the devices whose memories have the inputs.
    """
    attrs = {
        "T": node.attrs["T"],
        "N": len(inputs),
        "reduction": how,
        "sources": [source.encode() for source in sources],
    }
    return ir.Node(node.name, "_ReduceAcross", tuple(inputs), node.control, node.device, attrs)


def is_broadcast(node: ir.Node) -> bool:
    """Return whether all GPUs that read the output of a node get it at once."""
    return node.op == "NcclBroadcast"


def broadcast(
    name: str, edge: ir.Edge, dtype: dtypes.DType, device: str, targets: Sequence[str]
) -> ir.Node:
    """Return a node that copies `edge` from the memory of `device` to the memories of others.

    Output `i` is in the memory of `targets[i]`.
    """
    attrs = {"T": dtype, "N": len(targets), "targets": [each.encode() for each in targets]}
    return ir.Node(name, "_BroadcastAcross", (edge,), (), device, attrs)
