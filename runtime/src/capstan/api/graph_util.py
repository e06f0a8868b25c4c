"""`tf.graph_util`: parts of a GraphDef, and graphs whose variables are constants.

Source: python/framework/graph_util_impl.py.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from capstan.api import frozen_functions, tensor_messages
from capstan.api.absent import absent
from capstan.api.importer import import_graph_def
from capstan.core import dtypes, tensor_shape
from capstan.framework import graph as graphs

__all__ = [
    "convert_variables_to_constants", "extract_sub_graph", "import_graph_def", "must_run_on_cpu",
    "remove_training_nodes", "tensor_shape_from_node_def_name",
]  # fmt: skip

_REFERENCES = frozenset({"Variable", "VariableV2"})
_HANDLE = "VarHandleOp"
_READS = frozenset({"ReadVariableOp", "ResourceGather"})
_PASSES_ON = frozenset({"Enter", "Exit", "Identity", "Merge", "NextIteration", "Switch"})
"""The ops that may stand between a variable's handle and an op that reads the variable."""
_PINNED = _REFERENCES | {
    *("Assign", "AssignAdd", "AssignSub", "Queue", "ScatterAdd", "ScatterSub", "ScatterUpdate"),
    "TruncatedNormal",
}
_INT32_ON_CPU = {"Cast": "SrcT", "DynamicStitch": "T", "ParallelDynamicStitch": "T"}
"""The type attribute of the ops whose nodes run on a CPU if this attribute is int32."""


def must_run_on_cpu(node: Any, pin_variables_on_cpu: bool = False) -> bool:
    """Return whether an operation or a NodeDef runs on CPUs only.

    With `pin_variables_on_cpu`, this is also true of operations on variables.
    """
    node_def = node.node_def if isinstance(node, graphs.Operation) else node
    if pin_variables_on_cpu and node_def.op in _PINNED:
        return True
    if node_def.op == "Const":
        return node_def.attr["dtype"].type in _enums(dtypes.string, dtypes.int32)
    attribute = _INT32_ON_CPU.get(node_def.op)
    return attribute is not None and node_def.attr[attribute].type in _enums(dtypes.int32)


def _enums(*types: dtypes.DType) -> list[int]:
    return [dtype.as_datatype_enum for dtype in types]


def tensor_shape_from_node_def_name(graph: Any, input_name: str) -> tensor_shape.TensorShape:
    """Return the shape of a tensor of `graph`. `input_name` may leave out the output 0.

    Raises:
        KeyError: the graph has no such tensor.
    """
    name = input_name if ":" in input_name else f"{input_name}:0"
    shape: tensor_shape.TensorShape = graph.get_tensor_by_name(name).get_shape()
    return shape


def extract_sub_graph(graph_def: Any, dest_nodes: Sequence[str]) -> Any:
    """Return the GraphDef of the nodes that the nodes of these names need, in their order.

    A node needs its inputs, also its control inputs, and the nodes with which it is colocated.

    Raises:
        TypeError: `graph_def` is not a GraphDef, or `dest_nodes` is a string.
        AssertionError: the graph has no node of a name.
    """
    if not hasattr(graph_def, "node") or not hasattr(graph_def, "library"):
        raise TypeError(f"graph_def must be a GraphDef, not {type(graph_def).__name__}")
    if isinstance(dest_nodes, str):
        raise TypeError(f"dest_nodes must be a list of names, not the string {dest_nodes!r}")
    nodes = {node.name: node for node in graph_def.node}
    for name in dest_nodes:
        if name not in nodes:
            raise AssertionError(f"{name} is not in graph")
    kept: set[str] = set()
    waiting = list(dest_nodes)
    while waiting:
        name = waiting.pop()
        if name not in kept and name in nodes:
            kept.add(name)
            waiting += _needs(nodes[name])
    return _like(graph_def, (node for node in graph_def.node if node.name in kept))


def _needs(node: Any) -> list[str]:
    return [*(_producer(name) for name in node.input), *_colocated(node)]


def _colocated(node: Any) -> list[str]:
    """Return the names of the nodes with which a node is colocated."""
    if "_class" not in node.attr:  # to look an attribute up would add it
        return []
    groups = [group.decode() for group in node.attr["_class"].list.s]
    return [group.removeprefix("loc:@") for group in groups if group.startswith("loc:@")]


def _producer(input_name: str) -> str:
    """Return the name of the node of an input, such as `add:1` or `^init`."""
    return input_name.removeprefix("^").partition(":")[0]


def _like(graph_def: Any, nodes: Iterable[Any]) -> Any:
    """Return a GraphDef of copies of `nodes`, with the functions and versions of `graph_def`."""
    result = type(graph_def)()
    result.node.extend(nodes)
    for field in ("library", "versions"):
        if graph_def.HasField(field):
            getattr(result, field).CopyFrom(getattr(graph_def, field))
    return result


def convert_variables_to_constants(
    sess: Any,
    input_graph_def: Any,
    output_node_names: Sequence[str],
    variable_names_whitelist: Collection[str] | None = None,
    variable_names_blacklist: Collection[str] | None = None,
) -> Any:
    """Return the part of a GraphDef that the output nodes need, with constants for its variables.

    The constants have the values that the variables have in the session. By default all variables
    are converted, else those of the first list, or all but those of the second. Functions get the
    values in place of the handles. Runs a step.

    Raises:
        ValueError: a node reads a variable whose handle is not found in the graph, or gathers from
            it with `batch_dims`, or a function changes a variable.
        FailedPreconditionError: a variable is not initialised.
    """
    needed = extract_sub_graph(input_graph_def, output_node_names)
    nodes = {node.name: node for node in needed.node}
    variables = [
        node
        for node in needed.node
        if (node.op in _REFERENCES or node.op == _HANDLE)
        and (variable_names_whitelist is None or node.name in variable_names_whitelist)
        and (variable_names_blacklist is None or node.name not in variable_names_blacklist)
    ]
    found = sess.run([_value_name(node) for node in variables]) if variables else []
    values = {node.name: value for node, value in zip(variables, found, strict=True)}
    types, reads = _reads(nodes, values)

    def converted(node: Any) -> Iterator[Any]:
        if node.name in values:
            yield _constant(node, node.name, node.attr["dtype"].type, values[node.name])
        elif node.name in reads:
            yield from _read(node)
        else:
            copy = type(node)()
            copy.CopyFrom(node)
            if node.name in types:
                copy.attr["T"].type = types[node.name]
                copy.attr.pop("_output_shapes", None)
            yield copy

    result = _like(needed, (each for node in needed.node for each in converted(node)))
    functions = frozen_functions.FrozenFunctions(result.library, _read)
    constants = {(name, 0): nodes[name].attr["dtype"].type for name in values} | {
        (name, output): kind for name, kind in types.items() for output in range(2)
    }
    functions.convert(result.node, constants)
    functions.drop_unused(result.node)
    return result


def _value_name(variable: Any) -> str:
    is_handle = variable.op == _HANDLE
    return f"{variable.name}/Read/ReadVariableOp:0" if is_handle else f"{variable.name}:0"


def _reads(nodes: Mapping[str, Any], values: Collection[str]) -> tuple[dict[str, int], set[str]]:
    """Find the nodes that read variables with a value by their handles.

    Return the types of the values that then pass through the nodes between, by the name of the
    node, and the names of the reading nodes.
    """
    types: dict[str, int] = {}
    reads = set()
    for node in nodes.values():
        if node.op not in _READS:
            continue
        between, handles = _sources(nodes, node)
        if handles & set(values):
            types.update(dict.fromkeys(between, node.attr["dtype"].type))
            reads.add(node.name)
    return types, reads


def _sources(nodes: Mapping[str, Any], read: Any) -> tuple[set[str], set[str]]:
    """Return the names of the nodes between a reading node and its handles, and of the handles."""
    between: set[str] = set()
    handles: set[str] = set()
    waiting = [_producer(read.input[0])]
    while waiting:
        source = nodes[waiting.pop()]
        if source.name in between:
            continue
        if source.op in _PASSES_ON:
            between.add(source.name)
            values = source.input if source.op == "Merge" else source.input[:1]
            waiting += [_producer(name) for name in values if not name.startswith("^")]
        elif source.op == _HANDLE:
            handles.add(source.name)
        else:
            raise ValueError(
                f"{read.op} {read.name!r} reads the output of {source.op} {source.name!r}, so its "
                "variable cannot be found: read the variable outside of functions"
            )
    return between, handles


def _read(node: Any) -> Iterator[Any]:
    """Yield the nodes that take the place of a node which reads a variable."""
    result = type(node)(name=node.name, input=node.input, device=node.device)
    if "_class" in node.attr:
        result.attr["_class"].CopyFrom(node.attr["_class"])
    if node.op == "ReadVariableOp":
        result.op = "Identity"
        result.attr["T"].CopyFrom(node.attr["dtype"])
    else:
        if node.attr["batch_dims"].i:
            raise ValueError(
                f"ResourceGather {node.name!r} has batch_dims {node.attr['batch_dims'].i}, and "
                "only 0 can be converted"
            )
        axis = _constant(node, f"{node.name}/axis", node.attr["Tindices"].type, 0)
        yield axis
        result.op = "GatherV2"
        result.input.insert(2, axis.name)
        for new, old in (("Tparams", "dtype"), ("Tindices", "Tindices"), ("Taxis", "Tindices")):
            result.attr[new].CopyFrom(node.attr[old])
    yield result


def _constant(like: Any, name: str, dtype: int, value: Any) -> Any:
    result = type(like)(name=name, op="Const", device=like.device)
    result.attr["dtype"].type = dtype
    message = tensor_messages.make_tensor_proto(value, dtypes.as_dtype(dtype))
    result.attr["value"].tensor.ParseFromString(message.SerializeToString())
    return result


def remove_training_nodes(input_graph: Any, protected_nodes: Collection[str] | None = None) -> Any:
    """Return a GraphDef without the nodes that only training needs, except the protected nodes.

    These are all CheckNumerics nodes, and the Identity nodes without control edges with which no
    node is colocated. What read their output reads their input. Control edges from CheckNumerics
    nodes are left out.
    """
    protected = set(protected_nodes or ())
    checks = _spliced(input_graph, lambda node: node.op == "CheckNumerics", protected)
    controlled = {
        name
        for node in checks.node
        for edge in node.input
        if edge.startswith("^")
        for name in (node.name, edge[1:])
    }
    colocated = {name for node in checks.node for name in _colocated(node)}
    return _spliced(checks, lambda node: node.op == "Identity", protected | controlled | colocated)


def _spliced(graph_def: Any, is_removed: Callable[[Any], bool], protected: set[str]) -> Any:
    """Return a GraphDef in which the inputs of removed nodes take the place of their outputs."""
    removed = {
        node.name: node.input[0]
        for node in graph_def.node
        if is_removed(node) and node.name not in protected
    }
    kept = []
    for node in graph_def.node:
        if node.name in removed:
            continue
        copy = type(node)()
        copy.CopyFrom(node)
        del copy.input[:]
        for name in node.input:
            is_control = name.startswith("^")
            if is_control and _producer(name) in removed:
                continue
            source = name
            while not is_control and _producer(source) in removed:
                source = removed[_producer(source)]
            copy.input.append(source)
        kept.append(copy)
    return _like(graph_def, kept)


def __getattr__(name: str) -> Any:
    raise absent("tf.graph_util", name)
