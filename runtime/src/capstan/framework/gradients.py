"""`tf.gradients` (python/ops/gradients_impl.py). `reverse_pass` computes the gradients."""

import enum
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from capstan.core import dtypes
from capstan.framework import (
    closures,
    control_context,
    convert,
    facts,
    forward_call,
    gradient_sums,
    indexed_slices,
    loop_gradients,
    reverse_pass,
)
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.framework.static_raw import static_raw


class UnconnectedGradients(enum.Enum):
    """What `tf.gradients` returns for an x on which no y depends: None or zeros."""

    NONE = "none"
    ZERO = "zero"


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
) -> list[Any]:
    """Return the derivative of the sum of all `ys` with respect to each of `xs`.

    Each derivative is a Tensor or an IndexedSlices. If no y depends on that x, it is None, or zeros
    if `unconnected_gradients` is "zero" or `tf.UnconnectedGradients.ZERO`. `grad_ys` are
    the weights of the ys (default: ones of their shapes). Tensors in `stop_gradients` count as
    constants. `colocate_gradients_with_ops` places each gradient with the operation that it
    belongs to. `gate_gradients` makes all gradients of one operation available at once.
    `aggregation_method` says how several gradients of one tensor are added.

    Raises:
        LookupError: an operation between the xs and the ys has no gradient.
        TypeError: a y is complex or a string and has no weight in `grad_ys`, or a weight is not a
            number.
        ValueError: `grad_ys` does not match `ys`, the tensors belong to different graphs, a loop of
            TensorFlow 1 between the xs and the ys is outside of the function that calls this,
            `unconnected_gradients` is unknown, or `aggregation_method` is not a constant of
            `tf.AggregationMethod`.
    """
    if unconnected_gradients not in (*UnconnectedGradients, "none", "zero"):
        raise ValueError(f"Unknown value for unconnected_gradients: {unconnected_gradients!r}")
    gives_zeros = UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO
    if aggregation_method not in (None, 0, 1, 2):
        raise ValueError(f"Invalid aggregation_method specified {aggregation_method}.")
    ys, xs = _as_list(ys), _as_list(xs)
    given = _as_list(grad_ys) if grad_ys is not None else [None] * len(ys)
    if len(given) != len(ys):
        raise ValueError(f"Passed {len(given)} grad_ys for {len(ys)} ys")
    graph = graphs.graph_of([*ys, *xs, *(g for g in given if g is not None)])
    with graph.as_default(), graph.name_scope(name):
        targets = [convert.convert_to_tensor(y, name="y") for y in ys]
        sources = [convert.convert_to_tensor(x, name="x", as_ref=True) for x in xs]
        stopped = {
            convert.convert_to_tensor(t, name="stop_gradients", as_ref=True).op
            for t in _as_list([] if stop_gradients is None else stop_gradients)
        }
        loops = loop_gradients.LoopGradients(graph.control_flow_context)
        seen = closures.Closures(graph, set(sources))
        path = _between(seen, sources, targets, stopped)
        _begin_loops(graph, loops, path, colocate_gradients_with_ops)
        reverse = reverse_pass.ReversePass(
            graph,
            sources,
            path,
            seen,
            loops,
            gradients,
            colocate=colocate_gradients_with_ops,
            gate=gate_gradients,
            method=aggregation_method or gradient_sums.AggregationMethod.DEFAULT,
        )
        for index, (y, seed) in enumerate(zip(targets, given, strict=True)):
            reverse.receive(y, _seed(y, seed, index))
        reverse.run([y.op for y in targets])
        totals = [reverse.total(x) for x in sources]
        if gives_zeros:
            return [
                zeros_for(x, source) if total is None else total
                for x, source, total in zip(xs, sources, totals, strict=True)
            ]
        return totals


def zeros_for(x: Any, source: graphs.Tensor) -> graphs.Tensor:
    """Return the gradient zero of `x`. If `x` is a variable, `source` may be its handle."""
    dtype = source.dtype.base_dtype
    if dtype is dtypes.resource:
        dtype = (source.op.get_attr("dtype") if x is source else x.dtype).base_dtype
    if not source.inferred_shape.is_fully_defined():
        return forward_call.zeros_like(source, dtype)
    zeros: graphs.Tensor = raw.Fill(source.inferred_shape.as_list(), dtype.as_numpy_dtype(0))
    return zeros


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _seed(y: graphs.Tensor, given: Any, index: int) -> Any:
    """Return the gradient with which the pass starts at `y`."""
    kind = y.dtype.base_dtype
    if given is None:
        if kind.is_complex:
            raise TypeError(f"Gradients of complex tensors must set grad_ys (y.dtype = {kind!r})")
        if y.shape.ndims == 0:
            return convert.constant(1, kind, name=f"grad_ys_{index}")
        return static_raw.Fill(
            static_raw.Shape(y), convert.constant(1, kind, name=f"grad_ys_{index}")
        )
    seed = convert.convert_to_tensor_or_indexed_slices(given, kind, f"grad_y_{index}")
    is_number = seed.dtype.is_floating or seed.dtype.is_integer or seed.dtype.is_complex
    if not is_number and seed.dtype is not dtypes.variant:
        raise TypeError(
            f"Gradient type {seed.dtype.name} generated for tensor {y} with type {kind.name} must "
            "be a number"
        )
    # A loop may read the tensor `given`, too. The tensor of the pass has to be another one, because
    # each of the two enters the loop of the gradient in its own way.
    return indexed_slices.mapped(lambda part: raw.Identity(part, name=f"grad_ys_{index}"), seed)


def _between(
    seen: closures.Closures,
    sources: Sequence[graphs.Tensor],
    targets: Sequence[graphs.Tensor],
    stopped: set[graphs.Operation],
) -> dict[graphs.Operation, None]:
    """Return the operations on paths from sources to targets, the nearest to a target first."""
    downstream: set[graphs.Operation] = set()
    reached = [x for x in sources if reverse_pass.is_trainable(x)]
    while reached:
        for consumer in seen.consumers(reached.pop()):
            if consumer not in downstream and consumer not in stopped:
                downstream.add(consumer)
                reached += filter(reverse_pass.is_trainable, consumer.values())
    between: dict[graphs.Operation, None] = {}
    todo = [y.op for y in targets]
    for op in todo:
        if op in downstream and op not in between:
            between[op] = None
            todo += [tensor.op for tensor in seen.inputs(op)]
    return between


def _begin_loops(
    graph: graphs.Graph,
    loops: loop_gradients.LoopGradients,
    path: dict[graphs.Operation, None],
    colocate: bool,
) -> None:
    """Begin the gradients of the loops on `path`. Add all exits of these loops to `path`."""
    for op in list(path):
        if control_context.role(op) is facts.Role.EXIT:
            if op.graph is not graph:
                raise ValueError(
                    f"Cannot compute in a function the gradient of the loop that '{op.name}' "
                    "leaves, because the loop is in the graph around the function. Build the loop "
                    "in the function, call tf.gradients outside of it, or build the loop after "
                    "tf.enable_control_flow_v2()"
                )
            with graph.colocate_with(op) if colocate else nullcontext():
                path.update(dict.fromkeys(loops.add(op)))
