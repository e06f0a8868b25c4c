"""Rows of TensorArrays: arrays of tensors that a step writes and reads by index.

An array lives as long as the step. Ops on one array form a chain: each op takes the `flow` of the
previous op. The gradient of an array is another array, which TensorArrayGradV3 finds by the array's
handle and by the name of the call of `tf.gradients`. Sources: tensorflow/core/ops/data_flow_ops.cc
and python/ops/tensor_array_grad.py.
"""

from typing import Any

from capstan.core import dtypes, shapes, tensor_shape
from capstan.framework import facts
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, ShapeRule, define
from capstan.framework.ops import rules

HANDLE: shapes.Shape = (2,)
"""The shape of a handle."""

_HOST = ("flow_in", "flow_out", "index", "indices", "lengths", "size")
"""The arguments in host memory. The flow has no value, so no device needs a copy of it."""


def _made(ctx: ShapeContext) -> rules.Shapes:
    return (HANDLE, ())


def _read_shape(ctx: ShapeContext) -> rules.Shapes:
    rules.with_rank(ctx.inputs[1], 0)
    return (None,)


def _written(ctx: ShapeContext) -> rules.Shapes:
    rules.with_rank(ctx.inputs[1], 0)
    return ((),)


def _gathered(ctx: ShapeContext) -> rules.Shapes:
    (count,) = rules.with_rank(ctx.inputs[1], 1)
    element: shapes.Shape = ctx.attrs["element_shape"].internal
    return (None if element is None else (count, *element),)


def _concatenated(ctx: ShapeContext) -> rules.Shapes:
    rest: shapes.Shape = ctx.attrs["element_shape_except0"].internal
    return (None if rest is None else (None, *rest), (None,))


def _source(op: Op, tensor: Any) -> str:
    """Return the name of the call of `tf.gradients` that computed `tensor`, a gradient of `op`.

    Two calls may run in one step, so each call has gradient arrays of its own.

    Raises:
        ValueError: `op` is in another function than its gradient.
    """
    if tensor.graph is not op.graph:
        raise ValueError(
            f"'{op.name}' ({op.type}) is in a branch, a loop or a call that is made of functions. "
            "The gradient of a TensorArray must be in the function of the array: use tensor lists "
            "there, as TensorFlow does with control flow v2"
        )
    # The name of `tensor` may mislead: a list of ys is packed in the scope of the call.
    scope = op.graph.get_name_scope()
    call = scope.removesuffix(f"/{op.name}_grad")
    is_known = call != scope and call.rpartition("/")[2].startswith("gradients")
    return call if is_known else get_grad_source(tensor)


def get_grad_source(tensor: Any) -> str:
    """Return the name of the call of `tf.gradients` that computed `tensor`.

    Raises:
        ValueError: the name of the call does not begin with "gradients".
    """
    parts = tensor.name.split("/")
    calls = [index for index, part in enumerate(parts) if part.startswith("gradients")]
    if not calls:
        raise ValueError(
            "Expected op/tensor name to start with gradients (excluding scope), got: "
            f"{tensor.name}. This means that a tf.gradients op with this op in its dependency path "
            "has a custom name that does not start with 'gradients'. Please make sure all calls to "
            "tf.gradients that have non-empty `name` arguments use names that start with "
            "'gradients'."
        )
    return "/".join(parts[: calls[-1] + 1])


def _gradient_array(op: Op, flow: Any, source: str, raw: Raw) -> tuple[Any, Any]:
    """Return the handle and the flow of the gradient of the array that `op` uses.

    The returned flow waits for the gradient array. The gradient array waits for `flow`, because it
    is made when the final size of the array is known.
    """
    handle: Any = op.inputs[0]
    with op.graph.name_scope("TensorArray"):
        # TensorFlow makes a Python object for the array here, which takes this name.
        pass
    with op.graph.name_scope("TensorArrayGrad"), op.graph.colocate_with(handle.op):
        gradient, _ = raw.TensorArrayGradV3(handle, flow, source=source)
        with op.graph.control_dependencies([gradient]):
            flow = raw.Identity(flow, name="gradient_flow")
        with op.graph.name_scope("TensorArray"):
            pass
    return gradient, flow


def _after_write(op: Op, grad: Any, raw: Raw) -> Any:
    """Return `grad`, the gradient of the flow that `op` returns. It waits until `op` has run."""
    done = raw.Identity(op.outputs[0], name="flow_out")
    with op.graph.control_dependencies([done]):
        return raw.Identity(grad, name="write_barrier")


def _read(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (_, index, flow) = grads, op.inputs
    gradient, flow = _gradient_array(op, flow, _source(op, grad), raw)
    with op.graph.name_scope("TensorArrayWrite"):
        return None, None, raw.TensorArrayWriteV3(gradient, index, grad, flow)


def _write(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    source = _source(op, grads[0])
    flow = _after_write(op, grads[0], raw)
    gradient, gradient_flow = _gradient_array(op, flow, source, raw)
    grad = raw.TensorArrayReadV3(gradient, op.inputs[1], gradient_flow, dtype=op.get_attr("T"))
    return None, None, grad, flow


def _gather(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    (grad,), (_, indices, flow) = grads, op.inputs
    gradient, flow = _gradient_array(op, flow, _source(op, grad), raw)
    with op.graph.name_scope("TensorArrayScatter"):
        return None, None, raw.TensorArrayScatterV3(gradient, indices, grad, flow)


def _scatter(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    source = _source(op, grads[0])
    flow = _after_write(op, grads[0], raw)
    gradient, gradient_flow = _gradient_array(op, flow, source, raw)
    grad = raw.TensorArrayGatherV3(gradient, op.inputs[1], gradient_flow, dtype=op.get_attr("T"))
    return None, None, grad, flow


def _concat(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    grad, flow = grads[0], op.inputs[1]
    if grad is None:
        return None, None
    gradient, flow = _gradient_array(op, flow, _source(op, grad), raw)
    with op.graph.name_scope("TensorArraySplit"):
        return None, raw.TensorArraySplitV3(gradient, grad, op.outputs[1], flow)


def _split(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    source = _source(op, grads[0])
    flow = _after_write(op, grads[0], raw)
    gradient, gradient_flow = _gradient_array(op, flow, source, raw)
    grad, _ = raw.TensorArrayConcatV3(gradient, gradient_flow, dtype=op.get_attr("T"))
    return None, grad, None, flow


def _define(
    name: str,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    shape: ShapeRule,
    gradient: Any = None,
    **attrs: Any,
) -> None:
    declared = " ".join((*inputs, *outputs))
    define(
        OpDef(
            name,
            ("handle: resource", *inputs),
            outputs,
            attrs=attrs,
            shape=shape,
            gradient=gradient,
            not_differentiable=gradient is None,
            # The flow orders the ops on one array. A read changes the array too, because it may
            # clear the element.
            effect=facts.changes("handle"),
            host=tuple(name for name in _HOST if name in declared),
        )
    )


_FLOW = "flow_in: float32"
_OUT = ("flow_out: float32",)
_UNKNOWN = tensor_shape.TensorShape(None)

define(
    OpDef(
        "TensorArrayV3",
        ("size: int32",),
        ("handle: resource", "flow: float32"),
        attrs={
            "dtype": dtypes.DType,
            "element_shape": _UNKNOWN,
            "dynamic_size": False,
            "clear_after_read": True,
            "identical_element_shapes": False,
            "tensor_array_name": b"",
        },
        shape=_made,
        not_differentiable=True,
        effect=facts.MAKES,
        host=("size", "flow"),
    )
)
for _name, _more in (
    ("TensorArrayGradV3", ()),
    ("TensorArrayGradWithShape", ("shape_to_prepend: int32",)),
):
    define(
        OpDef(
            _name,
            ("handle: resource", _FLOW, *_more),
            ("grad_handle: resource", "flow_out: float32"),
            attrs={"source": bytes},
            shape=_made,
            not_differentiable=True,
            effect=facts.MAKES | facts.changes("handle"),
            host=("flow_in", "flow_out", *(("shape_to_prepend",) if _more else ())),
        )
    )
_define(
    "TensorArrayReadV3",
    ("index: int32", _FLOW),
    ("value: dtype",),
    _read_shape,
    _read,
    dtype=dtypes.DType,
)
_define("TensorArrayWriteV3", ("index: int32", "value: T", _FLOW), _OUT, _written, _write)
_define(
    "TensorArrayGatherV3",
    ("indices: int32", _FLOW),
    ("value: dtype",),
    _gathered,
    _gather,
    dtype=dtypes.DType,
    element_shape=_UNKNOWN,
)
_define("TensorArrayScatterV3", ("indices: int32", "value: T", _FLOW), _OUT, rules.scalar, _scatter)
_define(
    "TensorArrayConcatV3",
    (_FLOW,),
    ("value: dtype", "lengths: int64"),
    _concatenated,
    _concat,
    dtype=dtypes.DType,
    element_shape_except0=_UNKNOWN,
)
_define("TensorArraySplitV3", ("value: T", "lengths: int64", _FLOW), _OUT, rules.scalar, _split)
_define("TensorArraySizeV3", (_FLOW,), ("size: int32",), rules.scalar)
_define("TensorArrayCloseV3", (), (), rules.nothing)
