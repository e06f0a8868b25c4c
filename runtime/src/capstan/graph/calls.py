"""Calls of functions by name, and of their gradients, become PartitionedCall.

`Defun` of TensorFlow 1 writes a call as a node whose op is the name of the function.
A `SymbolicGradient` calls the gradient of a function, which may have to be made from the
function's body. Later passes see only calls that name their function in an attribute.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from capstan import errors
from capstan.core import function
from capstan.core import node as ir
from capstan.framework import facts, function_def, function_template, opdef
from capstan.framework.ops import nodes as build
from capstan.graph import old_calls

Symbolic = Callable[[function.Function, function.Library], Sequence[function.Function]]
"""Takes a function and a library. Returns the functions that the gradient of the function calls,
and the gradient last. Raises LookupError, TypeError or ValueError if there is no gradient."""


def merged(
    known: function.Library, added: Iterable[function.Function], symbolic: Symbolic
) -> function.Library:
    """Return the functions of `known` and `added`, with the calls in their bodies replaced.

    Raises:
        InvalidArgumentError: two different functions have one name, or a function whose gradient
            is needed has none.
    """
    fresh = {each.name: each for each in added}
    library: function.Library = {**fresh, **known}
    for each in fresh.values():
        nodes, library = explicit(list(each.nodes.values()), library, symbolic)
        rewritten = replace(each, nodes={node.name: node for node in nodes})
        if each.name not in known:
            library = {**library, each.name: rewritten}
        elif not function_def.are_equal(known[each.name], rewritten):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Cannot add function '{each.name}' because a different function with the same "
                "name already exists.",
            )
    return library


def explicit(
    nodes: Sequence[ir.Node], library: function.Library, symbolic: Symbolic
) -> tuple[list[ir.Node], function.Library]:
    """Return `nodes` with their calls replaced, and `library` with the gradients that they need.

    Raises:
        InvalidArgumentError: a function whose gradient is needed has none.
    """
    found: list[ir.Node] = []
    by_name = {node.name: node for node in nodes}
    for node in nodes:
        node, library = _instantiated(node, library, symbolic)
        call = node
        if opdef.role(node.op) is facts.Role.FOR:
            replaced, library = old_calls.loop(node, library)
            found += replaced
            continue
        if opdef.role(node.op) is facts.Role.REMOTE_CALL:
            call = node = old_calls.remote(node, by_name)
        if opdef.role(node.op) is facts.Role.GRADIENT:
            name, library = _gradient(node, library, symbolic)
            private = {key: value for key, value in node.attrs.items() if key.startswith("_")}
            call = replace(node, op=name, attrs=private)
        callee = library.get(call.op)
        found.append(node if callee is None else build.call(call, callee))
    return found, library


def _instantiated(
    node: ir.Node, library: function.Library, symbolic: Symbolic
) -> tuple[ir.Node, function.Library]:
    """Return `node` with instances in place of templates, and `library` with the instances."""
    template = library.get(node.op)
    if template is not None and template.template:
        private = {key: value for key, value in node.attrs.items() if key.startswith("_")}
        given = {key: value for key, value in node.attrs.items() if key not in private}
        name, library = _instance(template, given, library, symbolic)
        return replace(node, op=name, attrs=private), library
    attrs = dict(node.attrs)
    for key, value in node.attrs.items():
        references = value if isinstance(value, list | tuple) else [value]
        found = []
        for each in references:
            template = library.get(each.name) if isinstance(each, function.Reference) else None
            if template is not None and template.template:
                name, library = _instance(template, each.attrs, library, symbolic)
                each = function.Reference(name)
            found.append(each)
        if found != list(references):
            attrs[key] = found if isinstance(value, list | tuple) else found[0]
    return (node if attrs == node.attrs else replace(node, attrs=attrs)), library


def _instance(
    template: function.Function,
    attrs: Mapping[str, Any],
    library: function.Library,
    symbolic: Symbolic,
) -> tuple[str, function.Library]:
    """Return the name of the instance of `template` for `attrs`, and `library` with it."""
    values = ",".join(f"{key}={attrs[key]}" for key in sorted(attrs))
    name = f"{template.name}[{values}]"
    if name in library:
        return name, library
    made = function_template.instance(template, name, attrs, library)
    return name, merged(library, [made], symbolic)


def _gradient(
    node: ir.Node, library: function.Library, symbolic: Symbolic
) -> tuple[str, function.Library]:
    """Return the name of the gradient that a node calls, and the library with that gradient."""
    name = node.attrs["f"].name if "f" in node.attrs else ""
    source = library.get(name)
    if source is None:
        raise old_calls.refused(node, f"its function '{name}' is not in the library of the graph")
    if source.gradient in library:
        expected, actual = len(node.attrs["Tout"]), len(library[source.gradient].results)
        if expected != actual:
            raise old_calls.refused(
                node,
                f"SymGrad expects to return {expected} tensor(s), but get {actual} tensor(s) "
                "instead.",
            )
        return source.gradient, library
    if function.gradient_name(name) in library:
        return function.gradient_name(name), library
    try:
        *called, gradient = symbolic(source, library)
    except (LookupError, TypeError, ValueError) as fault:
        raise old_calls.refused(
            node, f"the gradient of '{name}' cannot be built: {fault}"
        ) from None
    return gradient.name, merged(library, [*called, gradient], symbolic)
