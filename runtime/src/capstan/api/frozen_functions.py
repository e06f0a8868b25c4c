"""Functions of a GraphDef that get the values of variables in place of their handles.

TensorFlow 2 does this in python/framework/convert_to_constants.py.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

Tensor = tuple[str, int]
"""The name of a node, or of an argument of a function, and the number of the output."""

_CALLS = {
    "PartitionedCall": (0, ("f",), "Tin", "Tout"),
    "StatefulPartitionedCall": (0, ("f",), "Tin", "Tout"),
    "If": (1, ("then_branch", "else_branch"), "Tin", "Tout"),
    "StatelessIf": (1, ("then_branch", "else_branch"), "Tin", "Tout"),
    "Case": (1, ("branches",), "Tin", "Tout"),
    "While": (0, ("cond", "body"), "T", "T"),
    "StatelessWhile": (0, ("cond", "body"), "T", "T"),
}
"""For each op that calls functions: the number of inputs that they do not get, the attributes with
the functions, and those with the types of the inputs and outputs."""
_PASSES_ON = frozenset({"Enter", "Exit", "Identity", "NextIteration", "Switch"})

Read = Callable[[Any], Iterator[Any]]
"""Yields the nodes in place of one that reads a variable, whose value is the first input."""


class FrozenFunctions:
    """The functions of a GraphDef, of which new ones take values in place of handles."""

    def __init__(self, library: Any, read: Read) -> None:
        self._library = library
        self._functions = {each.signature.name: each for each in library.function}
        self._read = read
        self._made: dict[Any, Any] = {}

    def convert(self, nodes: Any, values: dict[Tensor, int]) -> None:
        """Change calls in place so that they take values. `values` has the types of the tensors.

        Raises:
            ValueError: a function uses a handle for anything else than to read the variable.
        """
        calls = [node for node in nodes if node.op in _CALLS]
        self._to_fixed_point(calls, values)

    def _to_fixed_point(self, nodes: Sequence[Any], values: dict[Tensor, int]) -> None:
        count = -1
        while len(values) != count:
            count = len(values)
            for node in nodes:
                self._pass_on(node, values)

    def _pass_on(self, node: Any, values: dict[Tensor, int]) -> None:
        """Give a node the types of its inputs, and note the values among its outputs."""
        found = _given(node, values)
        if not found:
            return
        if node.op in _PASSES_ON:
            node.attr["T"].type = found[0]
            outputs = range(2 if node.op == "Switch" else 1)
            values.update({(node.name, output): found[0] for output in outputs})
        elif node.op in _CALLS:
            self._call(node, found, values)

    def _call(self, node: Any, found: dict[int, int], values: dict[Tensor, int]) -> None:
        offset, attributes, inputs, outputs = _CALLS[node.op]
        types = {place - offset: kind for place, kind in found.items()}
        for place, kind in types.items():
            node.attr[inputs].list.type[place] = kind
        for attribute in attributes:
            held = node.attr[attribute]
            for reference in held.list.func if held.HasField("list") else [held.func]:
                made = self._function(reference.name, types)
                reference.name = made.signature.name
                if attribute == "cond":
                    continue
                for place, result in enumerate(made.signature.output_arg):
                    if node.attr[outputs].list.type[place] != result.type or (
                        outputs == "T" and place in types
                    ):
                        node.attr[outputs].list.type[place] = result.type
                        values[node.name, place] = result.type
        node.attr.pop("_output_shapes", None)

    def _function(self, name: str, types: dict[int, int]) -> Any:
        """Return the function whose arguments at some places are values of these types."""
        key = name, tuple(sorted(types.items()))
        if key in self._made:
            return self._made[key]
        original = self._functions[name]
        arguments = original.signature.input_arg
        if all(arguments[place].type == kind for place, kind in types.items()):
            return original
        made = self._library.function.add()
        made.CopyFrom(original)
        made.signature.name = f"{name}_frozen{len(self._made) or ''}"
        made.arg_attr.clear()
        self._made[key] = self._functions[made.signature.name] = made
        for place, kind in types.items():
            made.signature.input_arg[place].type = kind
        self._convert_body(made, {(arguments[place].name, 0): types[place] for place in types})
        return made

    def _convert_body(self, made: Any, values: dict[Tensor, int]) -> None:
        self._to_fixed_point(made.node_def, values)
        reads = {
            f"{node.name}:value:0": f"{node.name}:output:0"
            for node in made.node_def
            if node.op == "ReadVariableOp" and _given(node, values)
        }
        nodes = [each for node in made.node_def for each in self._converted(node, values)]
        for node in nodes:
            node.input[:] = [reads.get(name, name) for name in node.input]
        for name, result in made.ret.items():
            made.ret[name] = reads.get(result, result)
        del made.node_def[:]
        made.node_def.extend(nodes)
        for output in made.signature.output_arg:
            output.type = values.get(_tensor(made.ret[output.name]), output.type)

    def _converted(self, node: Any, values: dict[Tensor, int]) -> Iterator[Any]:
        if not _given(node, values) or node.op in _PASSES_ON or node.op in _CALLS:
            yield node
        elif node.op in ("ReadVariableOp", "ResourceGather"):
            for each in self._read(node):
                # An input in a function names the output argument too.
                each.input[2:3] = [f"{name}:output:0" for name in each.input[2:3]]
                yield each
        else:
            raise ValueError(
                f"{node.op} {node.name!r} of a function needs a variable, not only its value: "
                "freeze a graph that only reads its variables"
            )

    def drop_unused(self, nodes: Iterable[Any]) -> None:
        """Remove the functions in whose place others are called."""
        used: set[str] = set()
        waiting = [name for node in nodes for name in _called(node)]
        while waiting:
            name = waiting.pop()
            if name not in used and name in self._functions:
                used.add(name)
                waiting += [each for n in self._functions[name].node_def for each in _called(n)]
        replaced = {name for name, _ in self._made} - used
        kept = [each for each in self._library.function if each.signature.name not in replaced]
        kept = [type(each).FromString(each.SerializeToString()) for each in kept]
        del self._library.function[:]
        self._library.function.extend(kept)


def _given(node: Any, values: dict[Tensor, int]) -> dict[int, int]:
    """Return the places of the inputs that are values, and their types."""
    return {
        place: values[_tensor(name)]
        for place, name in enumerate(node.input)
        if not name.startswith("^") and _tensor(name) in values
    }


def _tensor(name: str) -> Tensor:
    """Return the tensor of an input: `node`, `node:1`, or `node:output:1` in a function."""
    node, *rest = name.split(":")
    return node, int(rest[-1]) if rest else 0


def _called(node: Any) -> list[str]:
    return [
        each.name
        for value in node.attr.values()
        for each in ([value.func] if value.HasField("func") else value.list.func)
    ]
