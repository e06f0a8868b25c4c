"""`tf.compat.v1.wrap_function`: a function of TensorFlow 1 as a function of the graph
(python/eager/wrap_function.py)."""

from collections.abc import Callable
from typing import Any

from capstan.api.traced import body as bodies
from capstan.api.traced import concrete, leaves
from capstan.framework import convert, lifting, nest
from capstan.framework import graph as graphs

__all__ = ["WrappedFunction", "function_from_graph_def", "wrap_function"]


class WrappedFunction(concrete.ConcreteFunction):
    """A function of the graph that `wrap_function` has made. `variables` are those that it made."""

    _made_variables: list[Any]

    @property
    def variables(self) -> list[Any]:
        return list(self._made_variables)

    def prune(
        self, feeds: Any, fetches: Any, name: str | None = None, input_signature: Any = None
    ) -> "WrappedFunction":
        """Return the part of the function that computes `fetches` from `feeds`.

        Both are tensors of the body or their names, in any structure. A fetch may be an operation:
        each call runs it. `input_signature` is accepted and ignored.

        Raises:
            ValueError: a feed is not a tensor of the body, or a fetch depends on an argument that
                is not fed.
            KeyError: the body has no element of a name.
        """
        body = bodies.TracedGraph(is_separate=True)
        captured = dict(zip(self.graph.captured_arguments, self.captured_inputs, strict=True))
        fed = [self.graph.as_graph_element(each) for each in nest.flatten(feeds, composites=True)]
        if not all(isinstance(each, graphs.Tensor) for each in fed):
            raise ValueError("Feeds must be tensors.")
        fed = [each for each in fed if each not in captured]
        result = nest.mapped(self.graph.as_graph_element, fetches, composites=True)
        with body.as_default():
            sources = {
                each: body.add_argument(each.op.name, each.dtype.base_dtype, each.inferred_shape)
                for each in fed
            }
            sources |= {inner: body.capture(outer) for inner, outer in captured.items()}
            flat = nest.flatten(result, composites=True)
            found = lifting.lifted(flat, body, sources)
        result = nest.packed(result, found, composites=True)
        return _finished(body, name or "pruned", ((*fed,), {}), result, self._made_variables)


def wrap_function(fn: Callable[..., Any], signature: Any, name: str | None = None) -> Any:
    """Return `fn` as a function of the graph, which runs what its results need and nothing else.

    `signature` has a `tf.TensorSpec` for each argument that is a tensor, and the values of the
    others. `fn` is called once. Its variables belong to the graph around it. If a result is an
    operation, each call runs it, and returns None in its place. Unlike in a `tf.function`,
    operations with effects have no order.

    Raises:
        TypeError: `fn` returns a value that is neither a tensor nor an operation.
    """
    body = bodies.TracedGraph(is_separate=True)
    made_variables: list[Any] = []
    args = tuple(signature)
    with bodies.tracing(body, bodies.lifting_creator(made_variables)):
        names = [f"arg{place}" for place in range(len(args))]
        placed = [
            leaves.placeholders(value, body.add_argument, each)
            for value, each in zip(args, names, strict=True)
        ]
        result = nest.mapped(lambda leaf: _converted(leaf), fn(*placed))
    base = name or getattr(fn, "__name__", "wrapped").replace("<lambda>", "lambda")
    return _finished(body, base, (args, {}), result, made_variables)


def function_from_graph_def(graph_def: Any, inputs: Any, outputs: Any) -> Any:
    """Return the function that computes the tensors `outputs` of a GraphDef from `inputs`.

    Both are names in any structure.
    """
    from capstan.api import importer

    def imported() -> None:
        importer.import_graph_def(graph_def, name="")

    return wrap_function(imported, []).prune(inputs, outputs)


def _converted(leaf: Any) -> Any:
    if leaf is None or isinstance(leaf, graphs.Operation):
        return leaf
    is_whole = leaves.is_traced(leaf)
    return leaf if is_whole else convert.convert_to_tensor(leaf)


def _finished(
    body: bodies.TracedGraph, name: str, arguments: Any, result: Any, made_variables: list[Any]
) -> WrappedFunction:
    """Return the function. The operations among its results run in each call."""
    flat = nest.flatten(result, composites=True)
    body.control_outputs = [leaf for leaf in flat if isinstance(leaf, graphs.Operation)]
    kept = nest.mapped(lambda leaf: None if isinstance(leaf, graphs.Operation) else leaf, result)
    made = concrete.finished(body, name, arguments, kept, WrappedFunction)
    made._made_variables = made_variables
    return made
