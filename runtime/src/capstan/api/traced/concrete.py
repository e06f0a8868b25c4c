"""One trace of a `tf.function`, as a function of the graph (python/eager/function.py)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from capstan.api.traced import body as bodies
from capstan.api.traced import leaves
from capstan.core import function
from capstan.framework import array_flows, composite, convert, func_graph, function_def, nest
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

Creator = Callable[..., Any]


class ConcreteFunction:
    """A function of the graph with fixed types of its arguments.

    A call adds a `PartitionedCall` to the default graph, or a `StatefulPartitionedCall` if the
    function has effects.
    """

    def __init__(
        self,
        body: bodies.TracedGraph,
        made: function.Function,
        arguments: tuple[tuple[Any, ...], dict[str, Any]],
        result: Any,
    ) -> None:
        self._body = body
        self._made = made
        self._arguments = arguments
        self._result = result

    @property
    def name(self) -> bytes:
        """The name of the function in the graph."""
        return self._made.name.encode()

    @property
    def graph(self) -> bodies.TracedGraph:
        """The body of the function."""
        return self._body

    @property
    def inputs(self) -> list[graphs.Tensor]:
        """The tensors of the body that stand for the arguments and the captured tensors."""
        return list(self._body.inputs)

    @property
    def outputs(self) -> list[graphs.Tensor]:
        """The tensors of the body that are the results."""
        return list(self._body.outputs)

    @property
    def captured_inputs(self) -> list[graphs.Tensor]:
        """The tensors of graphs around the body that the function reads."""
        return self._body.captured_inputs

    @property
    def structured_input_signature(self) -> tuple[Any, ...]:
        """The types of the positional arguments and of the keyword arguments."""
        return tuple(nest.mapped(leaves.spec_of, part) for part in self._arguments)

    @property
    def structured_outputs(self) -> Any:
        """The result as the Python function has returned it, with the tensors of the body."""
        return self._result

    @property
    def output_dtypes(self) -> Any:
        """The types of the results, in their structure."""
        return nest.mapped(lambda leaf: None if leaf is None else leaf.dtype, self._result)

    @property
    def output_shapes(self) -> Any:
        """The static shapes of the results, in their structure."""
        return nest.mapped(lambda leaf: getattr(leaf, "shape", None), self._result)

    @property
    def variables(self) -> list[Any]:
        """The variables that the function reads or changes."""
        handles = set(self.captured_inputs)
        graph: Any = self._outermost()
        found = graph.get_collection("variables") + graph.get_collection("local_variables")
        return list(
            dict.fromkeys(each for each in found if getattr(each, "handle", None) in handles)
        )

    @property
    def trainable_variables(self) -> list[Any]:
        """The trainable variables that the function reads or changes."""
        return [each for each in self.variables if each.trainable]

    @property
    def function_def(self) -> Any:
        """The function as a FunctionDef."""
        library = {each.name: each for each in self._body.functions()}
        return function_def.encode_function(self._made, library)

    def add_to_graph(self, g: graphs.Graph | None = None) -> None:
        """Add the function, and the functions that it calls, to `g` or to the default graph."""
        graph = graphs.get_default_graph() if g is None else g
        for each in self._body.functions():
            graph.add_function(each, self._body.python_gradient(each.name))
        graph.add_function(self._made)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function on its tensors, in the order of its arguments or by their names.

        A tensor of an argument with parts, such as a list, is one argument of the call. Values
        that were not tensors when the function was traced are part of the function.

        Raises:
            TypeError: an argument is missing, unknown or given twice.
        """
        count = len(self._body.inputs) - len(self.captured_inputs)
        given = list(args)
        names = [tensor.op.name for tensor in self._body.inputs[:count]]
        if len(given) > count:
            raise TypeError(
                f"Expected at most {count} positional arguments ({names}), got {len(given)}."
            )
        for name in names[len(given) :]:
            if name not in kwargs:
                raise TypeError(f"Expected argument names {names}, but '{name}' is missing.")
            given.append(kwargs.pop(name))
        if kwargs:
            raise TypeError(
                f"Unexpected keyword arguments {sorted(kwargs)}: the arguments are {names}."
            )
        kinds = [tensor.dtype for tensor in self._body.inputs[:count]]
        return self.called(
            [
                convert.convert_to_tensor(array_flows.flow_of(value), preferred_dtype=kind)
                for value, kind in zip(given, kinds, strict=True)
            ]
        )

    def called(self, tensors: Sequence[graphs.Tensor]) -> Any:
        """Add the call, and return its results in the structure of the function's result.

        If there is no result, return the operation.
        """
        self.add_to_graph()
        graph = graphs.get_default_graph()
        made = self._made
        build = raw.StatefulPartitionedCall if made.is_stateful else raw.PartitionedCall
        types = [tensor.dtype.base_dtype for tensor in self._body.outputs]
        inputs = [*tensors, *self.captured_inputs]
        waits = graph.control_dependencies(self._body.awaited)
        with waits, graph.name_scope(build.__name__) as scope:
            outputs = build(inputs, Tout=types, f=function.Reference(made.name), name=scope)
        if self._result is None:
            return graph.get_operation_by_name(scope[:-1])
        for tensor, inner in zip(outputs, self._body.outputs, strict=True):
            tensor.infer_shape(inner.inferred_shape)
        return self._structured(outputs)

    def _structured(self, outputs: Sequence[graphs.Tensor]) -> Any:
        rest = iter(outputs)

        def filled(leaf: Any) -> Any:
            return None if leaf is None else array_flows.with_flows([leaf], [next(rest)])[0]

        return nest.mapped(filled, self._result, composites=True)

    def _outermost(self) -> graphs.Graph:
        graph: Any = self._body
        while isinstance(graph, func_graph.FuncGraph):
            graph = graph.outer_graph
        found: graphs.Graph = graph
        return found


def trace(
    python_function: Callable[..., Any],
    name: str,
    arguments: tuple[tuple[Any, ...], dict[str, Any]],
    names: Sequence[str],
    creator: Creator,
    *,
    attributes: Mapping[str, Any] | None = None,
    only_ranks: bool = False,
) -> ConcreteFunction:
    """Call a Python function on placeholders, and return the function of the graph that it builds.

    `names` are those of the positional arguments. `creator` makes the variables.

    Raises:
        TypeError: the function returns a value that is not a tensor.
    """
    body = bodies.TracedGraph()
    with bodies.tracing(body, creator):
        args, kwargs = arguments
        placed = [
            leaves.placeholders(value, body.add_argument, each, only_ranks=only_ranks)
            for value, each in zip(args, names, strict=True)
        ]
        named = {
            each: leaves.placeholders(value, body.add_argument, each, only_ranks=only_ranks)
            for each, value in kwargs.items()
        }
        returned = python_function(*placed, **named)
        result = nest.mapped(lambda leaf: _converted(leaf, python_function), returned)
    return finished(body, name, arguments, result, ConcreteFunction, attributes)


Made = TypeVar("Made", bound=ConcreteFunction)


def finished(
    body: bodies.TracedGraph,
    name: str,
    arguments: tuple[tuple[Any, ...], dict[str, Any]],
    result: Any,
    kind: type[Made],
    attributes: Mapping[str, Any] | None = None,
) -> Made:
    """Return the function of a body that computes `result`, a structure of its tensors."""
    with body.as_default():
        found = [leaf for leaf in nest.flatten(result, composites=True) if leaf is not None]
        body.outputs = [body.capture(array_flows.flow_of(leaf)) for leaf in found]
    body.order_effects()
    captured = set(body.captured_arguments)
    inner = [tensor for tensor in body.inputs if tensor not in captured]
    body.inputs = [*inner, *body.captured_arguments]
    made = body.finished(None, f"__inference_{name}", attrs=dict(attributes or {}))
    return kind(body, made, arguments, result)


def _converted(leaf: Any, python_function: Callable[..., Any]) -> Any:
    """Return a copy of a result, so that no operation of the body waits for the result itself."""
    if leaf is None or isinstance(leaf, graphs.Operation):
        return None  # each call runs the operations of the body that have effects
    if composite.is_composite(leaf):
        return composite.like(leaf, [raw.Identity(part) for part in composite.parts(leaf) or ()])
    flow = array_flows.flow_of(leaf)
    if flow is not leaf:
        return array_flows.with_flows([leaf], [raw.Identity(flow)])[0]
    try:
        return raw.Identity(convert.convert_to_tensor(leaf))
    except (TypeError, ValueError) as fault:
        raise TypeError(
            "To be compatible with tf.contrib.eager.defun, Python functions must return zero or "
            f"more Tensors; in compilation of {python_function}, found return value of type "
            f"{type(leaf).__name__}, which is not a Tensor."
        ) from fault
