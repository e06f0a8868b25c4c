"""Compile, for the shapes of one step, the functions that loops call.

The passes that compile a graph also compile a function: its arguments are fed, and its results are
fetched. The shape of a loop variable is the most specific shape that fits all iterations. If a
tensor is known before the step and the loop does not change it, it becomes a constant of the
functions.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from capstan import errors
from capstan.core import dtypes, function, shapes, tensor_shape
from capstan.core import node as ir
from capstan.framework import facts, opdef
from capstan.framework.ops import nodes as build
from capstan.graph import (
    idle,
    infer,
    inline,
    kept_callees,
    lift,
    loop_callees,
    loop_copies,
    order,
    simplify,
    verify,
)


@dataclass(slots=True)
class Specialiser:
    """Specialises the functions that the nodes of one graph call.

    The nodes of the functions in `placed` are placed, those in `library` are not. `made` are
    the specialised functions so far, by their new names.
    """

    library: function.Library
    placed: function.Library
    evaluate: simplify.Evaluate
    place: inline.Place
    made: dict[str, function.Function] = field(default_factory=dict)
    scope: str = ""

    def __call__(self, node: ir.Node, known: infer.Knowledge) -> ir.Node:
        """Return the loop `node` with functions compiled for the shapes of its inputs.

        The inputs must be in `known`. If `node` pops from a stack, return it with the facts about
        the elements of the stack. Any other node is returned as it is.

        Raises:
            NotFoundError: the library lacks the function, or an op in it is not registered.
            InvalidArgumentError: a function does not fit the node, or is malformed.
        """
        match opdef.role(node.op):
            case facts.Role.POP:
                return _with_element(node, known)
            case facts.Role.KEEPS:
                return self._with_kept_functions(node, known)
            case facts.Role.WHILE:
                return self._with_loop_functions(node, known)
            case _:
                return node

    def _with_loop_functions(self, node: ir.Node, known: infer.Knowledge) -> ir.Node:
        """Return a loop with its functions compiled."""
        cond = loop_callees.deciding(self._function(node, "cond"))
        body = self._function(node, "body")
        kinds: Sequence[dtypes.DType] = node.attrs["T"]
        for called, results in ((cond, (dtypes.bool_,)), (body, kinds)):
            loop_callees.check_fit(node, called, kinds, results)
        invariant = {
            index: edge
            for index, edge in enumerate(node.inputs)
            if body.results[index] == body.arguments[index].edge
        }
        copies = {}
        for index, edge in invariant.items():
            name = loop_copies.copy_name(index, body, cond)
            copy = loop_copies.copy_of(edge, name, (cond, body), known)
            if copy is not None:
                copies[index] = copy
        given = [
            _Given(
                known.tensor_shapes.get(edge),
                known.elements.get(known.first_handle(edge)) if index in invariant else None,
            )
            for index, edge in enumerate(node.inputs)
        ]
        special, given, pushed = self._stable_body(node, body, given, copies)
        for index, (edge, after) in enumerate(zip(node.inputs, pushed, strict=True)):
            if known.tensor_dtypes.get(edge) is dtypes.resource and (
                after is not None or index not in invariant
            ):
                known.add_elements(
                    edge, after if after and index in invariant else infer.Elements()
                )
        condition, _ = self._compiled(node, "cond", cond, given, copies)
        for each in (special, condition):
            self.made[each.name] = each
        return replace(
            node,
            attrs={
                **node.attrs,
                "cond": function.Reference(condition.name),
                "body": function.Reference(special.name),
                "output_shapes": [tensor_shape.TensorShape(fact.shape) for fact in given],
            },
        )

    def _stable_body(
        self,
        node: ir.Node,
        body: function.Function,
        given: list["_Given"],
        copies: Mapping[int, ir.Node],
    ) -> tuple[function.Function, list["_Given"], list[infer.Elements | None]]:
        """Compile the body of a loop for facts about its arguments that fit all iterations.

        `given` fits the first iteration. Return the body, these facts, and the elements of the
        stacks after an iteration.
        """
        while True:
            special, found = self._compiled(node, "body", body, given, copies)
            pushed = [found.elements.get(argument.edge) for argument in special.arguments]
            is_stable = not any(
                argument.edge in found.popped and _differ(fact.elements, after)
                for argument, fact, after in zip(special.arguments, given, pushed, strict=True)
            )
            sizes = [
                shapes.most_general(fact.shape, found.tensor_shapes.get(edge))
                for fact, edge in zip(given, special.results, strict=True)
            ]
            if is_stable and sizes == [fact.shape for fact in given]:
                return special, given, pushed
            given = list(map(_Given, sizes, pushed))

    def _with_kept_functions(self, node: ir.Node, known: infer.Knowledge) -> ir.Node:
        """Return a node that keeps functions with its functions compiled.

        The last arguments of each function are the inputs that the function captures.
        """
        inputs = kept_callees.captured(node)
        compiled: dict[str, function.Reference] = {}
        for attribute, value in node.attrs.items():
            if not isinstance(value, function.Reference) or not value.name:
                continue
            called = self._function(node, attribute)
            captured = inputs.get(attribute, [])
            first = len(called.arguments) - len(captured)
            if first < 0:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"Node '{node.name}' ({node.op}) captures {len(captured)} tensors for "
                    f"function '{called.name}', which takes {len(called.arguments)} arguments",
                )
            given = [_Given(argument.shape, None) for argument in called.arguments[:first]]
            given += [_Given(known.tensor_shapes.get(edge), None) for edge in captured]
            copies = {}
            for index, edge in enumerate(captured, first):
                name = loop_copies.copy_name(index, called, called)
                copy = loop_copies.copy_of(edge, name, (called,), known)
                if copy is not None and infer.is_constant(copy):
                    copies[index] = copy
            special, _ = self._compiled(node, attribute, called, given, copies)
            kept_callees.check_places(node, special)
            self.made[special.name] = special
            compiled[attribute] = function.Reference(special.name)
        return replace(node, attrs={**node.attrs, **compiled})

    def called(self, nodes: Iterable[ir.Node]) -> dict[str, function.Function]:
        """Return the functions in `made` that the nodes call, directly or through a function."""
        found: dict[str, function.Function] = {}
        pending = list(nodes)
        while pending:
            for value in pending.pop().attrs.values():
                if isinstance(value, function.Reference) and value.name not in found:
                    found[value.name] = self.made[value.name]
                    pending += found[value.name].nodes.values()
        return found

    def _function(self, node: ir.Node, attribute: str) -> function.Function:
        name = node.attrs[attribute].name
        called = self.placed.get(name) or self.library.get(name)
        if called is None:
            raise errors.NotFoundError(
                None,
                None,
                f"Function {name} of node {{{{node {node.name}}}}} is not in the library",
            )
        return called

    def _compiled(
        self,
        node: ir.Node,
        attribute: str,
        called: function.Function,
        given: Sequence["_Given"],
        copies: Mapping[int, ir.Node],
    ) -> tuple[function.Function, infer.Knowledge]:
        """Return `called` compiled for the arguments `given`, and the facts about its tensors."""
        called = loop_copies.with_copies(loop_callees.without_waits(called), copies, node.device)
        fed = {
            argument.edge: infer.Fed(argument.dtype, fact.shape, argument.is_ref, fact.elements)
            for argument, fact in zip(called.arguments, given, strict=True)
        }
        roots = [edge.node for edge in called.results] + list(called.control_results)
        caller = "" if node.attrs[attribute].name in self.placed else node.device
        nodes = order.topological(dict(called.nodes), roots)
        nodes = inline.inline(nodes, self.library, roots, self.place, caller)
        verify.verify(nodes, fed)
        nodes, functions = lift.lift(nodes, list(fed), roots)
        inner = Specialiser(
            self.library,
            {**self.placed, **functions} if functions else self.placed,
            self.evaluate,
            self.place,
            self.made,
            f"{self.scope}{node.name}/{attribute}/",
        )
        simple, known = simplify.simplify(nodes, fed, frozenset(roots), self.evaluate, inner)
        simple = idle.relieve(simple, frozenset(fed), frozenset(roots), known)
        special = replace(
            called,
            name=f"{self.scope}{node.name}/{attribute}",
            arguments=tuple(
                replace(argument, shape=fact.shape)
                for argument, fact in zip(called.arguments, given, strict=True)
            ),
            nodes=order.topological(simple, roots),
            result_dtypes=tuple(known.tensor_dtypes[edge] for edge in called.results),
        )
        return special, known


@dataclass(frozen=True, slots=True)
class _Given:
    """The facts about an argument of a function in all iterations."""

    shape: shapes.Shape
    elements: infer.Elements | None


def _differ(before: infer.Elements | None, after: infer.Elements | None) -> bool:
    if before is None or after is None:
        return before is not after
    return not before.is_as(after)


def _with_element(node: ir.Node, known: infer.Knowledge) -> ir.Node:
    """Return `node`, which pops from a stack, with the facts about all elements of the stack.

    If all elements have the same known value, return a constant. This requires that the handle of
    the stack is an argument: otherwise a branch may decide whether the node runs.
    """
    (handle,) = node.inputs
    elements = known.elements.get(known.first_handle(handle))
    if elements is None:
        return node
    if elements.value is not None and handle in known.fed:
        kind = node.attrs["elem_type"]
        return build.constant(node.name, elements.value, kind, node.device, node.control)
    if elements.shape is None:
        return node
    shape = tensor_shape.TensorShape(elements.shape)
    return replace(node, attrs={**node.attrs, "_element_shape": shape})
