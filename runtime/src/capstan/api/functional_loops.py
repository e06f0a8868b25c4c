"""`tf.while_loop` as one operation that calls functions (python/ops/while_v2.py).

The loop variables are a counter, the maximum number of iterations, the variables of the program,
and the tensors that the functions capture, which no iteration changes.
"""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import control_flow_bodies
from capstan.core import function, tensor_shape
from capstan.framework import array_flows, body_graph, convert, nest, while_loop
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

_OWN = 2
"""The number of loop variables before those of the program."""


def build(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any,
    maximum_iterations: Any,
    parallel_iterations: int,
    name: str | None,
) -> Any:
    """Return the results of a `While`, in the structure of `loop_vars`.

    Raises:
        TypeError: the body returns other types or another structure than `loop_vars`.
        ValueError: `body` changes a shape that must stay the same.
    """
    graph = graphs.get_default_graph()
    loop_vars = nest.mapped(while_loop.converted, loop_vars, composites=True)
    leaves = nest.flatten(loop_vars, composites=True)
    invariants = while_loop.invariants(loop_vars, shape_invariants)
    with graph.name_scope(name or "while") as scope:
        limit = -1 if maximum_iterations is None else maximum_iterations
        most = convert.convert_to_tensor(limit, name="maximum_iterations")
        if most.shape.ndims != 0:
            raise ValueError(f"'maximum_iterations' must be a scalar. Received shape: {most.shape}")
        counter = convert.constant(0, most.dtype.base_dtype, name="loop_counter")
        starts = [counter, most, *map(array_flows.flow_of, leaves)]
        shapes = [tensor_shape.TensorShape([])] * _OWN + invariants
        test = _Part(loop_vars, starts, shapes)
        step = _Part(loop_vars, starts, shapes)
        test.trace(lambda count, most, *values: _goes_on(cond(*values), count, most, limit))
        for tensor in test.body.captured_inputs:
            step.body.capture(tensor)
        step.trace(lambda count, most, *values: _following(body(*values), loop_vars, count, most))
        outputs = _called(scope, test.body, step.body, starts, shapes, parallel_iterations)
        return control_flow_bodies.results(loop_vars, outputs[_OWN : len(starts)])


class _Part:
    """The condition or the body of a loop."""

    def __init__(self, loop_vars: Any, starts: Sequence[graphs.Tensor], shapes: Sequence[Any]):
        self.body = body_graph.BodyGraph()
        self._loop_vars = loop_vars
        for start, shape in zip(starts, shapes, strict=True):
            self.body.add_argument(start.op.name.rpartition("/")[2], start.dtype.base_dtype, shape)

    def trace(self, function: Callable[..., Any]) -> None:
        """Build the results of `function` of the loop variables."""
        starts = nest.flatten(self._loop_vars, composites=True)
        count, most, *flows = self.body.inputs[: _OWN + len(starts)]
        leaves = array_flows.with_flows(starts, flows)
        values = nest.packed(self._loop_vars, leaves, composites=True)
        control_flow_bodies.traced(self.body, lambda: function(count, most, *values))


def _goes_on(pred: Any, count: graphs.Tensor, most: graphs.Tensor, limit: Any) -> graphs.Tensor:
    chosen = control_flow_bodies.scalar(pred)
    if isinstance(limit, int) and limit < 0:
        return chosen
    is_below: graphs.Tensor = raw.LogicalAnd(raw.Less(count, most), chosen)
    return is_below


def _following(result: Any, loop_vars: Any, count: graphs.Tensor, most: graphs.Tensor) -> list[Any]:
    if not nest.is_nested(result):
        result = [result]
    nest.check_same(list(result), list(loop_vars), composites=True)
    return [raw.AddV2(count, 1, name="add"), most, *result]


def _called(
    scope: str,
    test: body_graph.BodyGraph,
    step: body_graph.BodyGraph,
    starts: Sequence[graphs.Tensor],
    shapes: Sequence[tensor_shape.TensorShape],
    parallel_iterations: int,
) -> Sequence[graphs.Tensor]:
    _check(step.outputs, starts, shapes)
    captured = step.captured_inputs
    step.outputs += [step.capture(tensor) for tensor in captured]
    for tensor in captured:
        test.capture(tensor)
    base = scope.replace("/", "_")
    made = [test.finished(None, f"{base}cond"), step.finished(None, f"{base}body")]
    graph = graphs.get_default_graph()
    for part, built in zip((test, step), made, strict=True):
        for each in part.functions():
            graph.add_function(each, part.python_gradient(each.name))
        graph.add_function(built)
    build_op = raw.While if any(built.is_stateful for built in made) else raw.StatelessWhile
    cond, body = (function.Reference(built.name) for built in made)
    with graph.control_dependencies([*test.awaited, *step.awaited]):
        outputs: Sequence[graphs.Tensor] = build_op(
            [*starts, *captured],
            cond=cond,
            body=body,
            output_shapes=[*shapes, *(tensor.inferred_shape for tensor in captured)],
            parallel_iterations=parallel_iterations,
            name=scope,
        )
    return outputs


def _check(
    results: Sequence[graphs.Tensor], starts: Sequence[graphs.Tensor], shapes: Sequence[Any]
) -> None:
    """Check that each loop variable keeps its type and its shape."""
    for start, result, shape in zip(starts, results, shapes, strict=True):
        if start.dtype.base_dtype is not result.dtype.base_dtype:
            raise TypeError(
                f"Loop var {start.name} enters the loop with type {start.dtype.base_dtype!r} but "
                f"has type {result.dtype.base_dtype!r} after 1 iteration."
            )
        while_loop.check_shape(start, shape, result)
