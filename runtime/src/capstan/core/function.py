"""Functions: graphs with arguments and results (framework/function.proto).

The bodies of loops, the branches of `If` and `Case`, and the results of `Defun` are functions. A
node names the function that it calls by a `Reference` in an attribute. The functions themselves are
in the library of the graph.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from capstan.core import dtypes, shapes
from capstan.core import node as ir


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a function. The nodes of the function read it as `Edge(name, 0)`.

    `shape` is None if the shape is unknown or differs between calls.
    """

    name: str
    dtype: dtypes.DType
    shape: shapes.Shape = None
    is_ref: bool = False

    @property
    def edge(self) -> ir.Edge:
        return ir.Edge(self.name)


@dataclass(frozen=True, slots=True)
class Function:
    """A graph that takes `arguments` and returns `results`.

    `nodes` are in any order. No node has the name of an argument. A result is a tensor of a node or
    an argument. The nodes in `control_results` run in every call, also if no result needs them.
    `result_names` and `result_dtypes` describe the results in the signature. Both are empty for a
    function that no node calls by its name. `attrs` are the attributes of the function, such as
    `_noinline`. `gradient` names the function that computes the gradient of this function. It is
    empty if no such function was defined. `template` is the FunctionDef of a function whose types
    are attributes of the call. Such a function has neither arguments nor nodes. `description` is a
    text for people.
    """

    name: str
    arguments: tuple[Argument, ...]
    results: tuple[ir.Edge, ...]
    nodes: Mapping[str, ir.Node]
    control_results: tuple[str, ...] = ()
    result_names: tuple[str, ...] = ()
    is_stateful: bool = False
    attrs: Mapping[str, Any] = field(default_factory=dict)
    gradient: str = ""
    result_dtypes: tuple[dtypes.DType, ...] = ()
    template: bytes = b""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Reference:
    """An attribute that names a function, with attributes for the call (NameAttrList)."""

    name: str
    attrs: Mapping[str, Any] = field(default_factory=dict)


def gradient_name(name: str) -> str:
    """Return the name of the generated function that is the gradient of the function `name`."""
    return f"{name}__gradient"


Library = Mapping[str, Function]
"""The functions of a graph, by name."""
