"""Builds the operations that compute what other operations compute in all iterations of a loop.

The rules of ops are in `framework.ops.stacked`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from capstan.framework import convert, facts, opdef, scopes
from capstan.framework import graph as graphs
from capstan.framework.ops import stacked
from capstan.framework.raw import raw

Operand = stacked.Operand

_LEFT_OUT = facts.CONTROL_FLOW | {facts.Role.WHILE, facts.Role.IF, facts.Role.CASE}


class CannotStackError(Exception):
    """The iterations must run one after the other."""


def require_stackable(op: graphs.Operation) -> None:
    """Check that an operation does not decide which other operations run.

    Raises:
        CannotStackError: it does, or its gradient is replaced.
    """
    is_known = opdef.is_defined(op.type) and opdef.role(op.type) not in _LEFT_OUT
    if not is_known or scopes.GRADIENT in op.node.attrs:
        raise CannotStackError(op.name)


Otherwise = Callable[[graphs.Operation, Sequence[Operand]], Sequence[Operand]]
"""Adds the operations in place of one without a rule. It may raise CannotStackError."""


def cannot(op: graphs.Operation, _: Sequence[Operand]) -> Sequence[Operand]:
    """Refuse an operation without a rule."""
    raise CannotStackError(op.name)


class StackedOperations(stacked.Loop):
    """Builds the operations for all iterations in the default graph."""

    def __init__(
        self,
        count: Any,
        sources: Mapping[graphs.Tensor, Operand],
        otherwise: Otherwise = cannot,
        *,
        redraws: bool = False,
        retries: bool = False,
    ) -> None:
        """`sources` has the operands in place of some tensors. `count` is a scalar of int32.

        If `redraws`, random operations of the default graph draw numbers for each iteration too.
        `retries` is that of `stacked.Loop`.
        """
        self.raw = raw
        self.count = count
        self._graph = graphs.get_default_graph()
        self._operands = dict(sources)
        self._otherwise = otherwise
        self._redraws = redraws
        self.retries = retries

    def operand(self, tensor: graphs.Tensor) -> Operand:
        return self._operands[tensor]

    def add(self, op: graphs.Operation) -> None:
        """Add the operations that compute what `op` computes in all iterations.

        The operations of its inputs were added before, or the inputs are sources.

        Raises:
            CannotStackError: `op` has no rule.
        """
        operands = [self.operand(tensor) for tensor in op.inputs]
        with graphs.get_default_graph().device(op.device or None):
            made = self._made(op, opdef.lookup(op.type), operands)
        self._operands.update(zip(op.outputs, made, strict=True))

    def _made(
        self, op: graphs.Operation, row: opdef.OpDef, operands: list[Operand]
    ) -> Sequence[Operand]:
        # The random numbers of a forward pass are those that its results came from.
        redraws = row.effect.random and (self._redraws or op.graph is not self._graph)
        if not redraws and not any(operand.is_stacked for operand in operands):
            if op.graph is self._graph:
                outputs = list(op.outputs)
            else:
                outputs = self.again(op, [operand.tensor for operand in operands])
            return [Operand(tensor, False) for tensor in outputs]
        rule = stacked.rule_of(row)
        try:
            made = None if rule is None else rule(self, op, operands)
        except TypeError:  # an op of the rule does not take the type of this one
            made = None
        return self._otherwise(op, operands) if made is None else made

    def again(self, op: Any, inputs: Sequence[Any], **attrs: Any) -> list[Any]:
        # An operation without a rule may be called in a graph of its own.
        graph = graphs.get_default_graph()
        for each in op.graph.functions():
            graph.add_function(each, op.graph.python_gradient(each.name))
        types = [tensor.dtype for tensor in op.outputs]
        rest = [
            each
            if isinstance(each, graphs.Tensor)
            else convert.convert_to_tensor(each, given.dtype)
            for each, given in zip(inputs, op.inputs, strict=True)
        ]
        made = graph.create_op(
            op.type, rest, types, name=op.name.rpartition("/")[2], attrs={**op.node.attrs, **attrs}
        )
        return list(made.outputs)
