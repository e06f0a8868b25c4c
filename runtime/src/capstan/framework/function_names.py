"""The names of tensors in a FunctionDef (framework/function.proto).

A node of a FunctionDef names its inputs by the output arguments of their producers
(`split:output:1`). The IR numbers the outputs of a node instead. The conversion therefore needs the
OpDef of each op. For a node that calls a function by name, it reads the function in the library.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from capstan import errors
from capstan.core import dtypes, function
from capstan.core import node as ir
from capstan.framework import opdef


class Names:
    """Names the tensors of one function as a FunctionDef does."""

    def __init__(self, source: function.Function, library: function.Library) -> None:
        self._source = source
        self._library = library
        self._arguments = {argument.name: argument for argument in source.arguments}
        self._outputs: dict[str, list[tuple[str, dtypes.DType]]] = {}

    def text(self, edge: ir.Edge) -> str:
        if edge.node in self._arguments:
            return edge.node
        outputs = self._of(edge.node)
        # The outputs of an op that Capstan does not know count as one list of tensors.
        known = edge.index < len(outputs)
        return f"{edge.node}:{outputs[edge.index][0] if known else f'output:{edge.index}'}"

    def results(self) -> Sequence[tuple[str, dtypes.DType]]:
        """Return the name and the dtype of each result.

        Raises:
            InvalidArgumentError: the dtype of a result is not known.
        """
        source = self._source
        names = source.result_names or tuple(f"result_{at}" for at in range(len(source.results)))
        kinds = source.result_dtypes or tuple(map(self._dtype, source.results))
        return list(zip(names, kinds, strict=True))

    def _dtype(self, edge: ir.Edge) -> dtypes.DType:
        argument = self._arguments.get(edge.node)
        if argument is not None:
            return argument.dtype
        outputs = self._of(edge.node)
        if edge.index >= len(outputs):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"The type of {edge.tensor}, a result of function '{self._source.name}', is not "
                "known",
            )
        return outputs[edge.index][1]

    def _of(self, name: str) -> list[tuple[str, dtypes.DType]]:
        """Return the name and the dtype of each output of a node."""
        known = self._outputs.get(name)
        if known is None:
            known = self._outputs[name] = list(self._described(self._source.nodes[name]))
        return known

    def _described(self, node: ir.Node) -> Iterable[tuple[str, dtypes.DType]]:
        if node.op in self._library:
            results = Names(self._library[node.op], self._library).results()
            return [(f"{output}:0", dtype) for output, dtype in results]
        if not opdef.is_defined(node.op):
            return ()
        row = opdef.lookup(node.op)
        starts = [name for name, count in _counts(row, node.attrs) for name in [name] * count]
        kinds = opdef.expand(row.output_arguments, node.attrs)
        first = dict(first_tensors(row, node.attrs))
        return [
            (f"{name}:{index - first[name]}", dtype)
            for index, (name, (dtype, _)) in enumerate(zip(starts, kinds, strict=True))
        ]


def first_tensors(row: opdef.OpDef, attrs: Mapping[str, Any]) -> Iterable[tuple[str, int]]:
    """Return the name of each output argument of a node, and the index of its first tensor."""
    start = 0
    for name, count in _counts(row, attrs):
        yield name, start
        start += count


def _counts(row: opdef.OpDef, attrs: Mapping[str, Any]) -> Sequence[tuple[str, int]]:
    """Return the name of each output argument of a node, and the number of its tensors."""
    complete = {
        **{name: value for name, value in row.attrs.items() if not isinstance(value, type)},
        **attrs,
    }
    return [
        (argument.name, len(opdef.expand([argument], complete)))
        for argument in row.output_arguments
    ]
