"""Operations that call one of several functions: `If`, `Case` and plain calls."""

from collections.abc import Sequence

from capstan.core import function, shapes, tensor_shape
from capstan.framework import facts, func_graph
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


def built(
    role: facts.Role | None,
    chosen: graphs.Tensor,
    bodies: Sequence[func_graph.FuncGraph],
    names: Sequence[str],
    name: str | None = None,
) -> Sequence[graphs.Tensor]:
    """Return the outputs of a new operation that calls one of `bodies`.

    The operation passes all captured tensors to every function. `chosen` is the first input of an
    `If` or a `Case`. Other calls ignore it. The name of each function is the name in `names` with a
    hash of its body.
    """
    inputs = list(dict.fromkeys(tensor for body in bodies for tensor in body.captured_inputs))
    graph = graphs.get_default_graph()
    called = []
    is_stateful = False
    for body, base_name in zip(bodies, names, strict=True):
        body.take(inputs)
        made = body.finished(None, base_name)
        for each in body.functions():
            graph.add_function(each, body.python_gradient(each.name))
        graph.add_function(made)
        is_stateful = is_stateful or made.is_stateful
        called.append(function.Reference(made.name))
    types = [tensor.dtype.base_dtype for tensor in bodies[0].outputs]
    shared = [
        tensor_shape.TensorShape(shapes.join([body.outputs[place].static_shape for body in bodies]))
        for place in range(len(types))
    ]
    outputs: Sequence[graphs.Tensor]
    if role is facts.Role.IF:
        build = raw.If if is_stateful else raw.StatelessIf
        outputs = build(
            chosen,
            inputs,
            Tout=types,
            then_branch=called[0],
            else_branch=called[1],
            output_shapes=shared,
            name=name,
        )
    elif role is facts.Role.CASE:
        # TensorFlow 1 has no `StatelessCase`.
        outputs = raw.Case(
            chosen, inputs, Tout=types, branches=called, output_shapes=shared, name=name
        )
    else:
        build = raw.StatefulPartitionedCall if is_stateful else raw.PartitionedCall
        outputs = build(inputs, Tout=types, f=called[0], name=name)
        for tensor, shape in zip(outputs, shared, strict=True):
            tensor.infer_shape(shape)
    return outputs
