"""Operators that are made of one other operator, or of several."""

from collections.abc import Mapping, Sequence
from typing import Any

from capstan.api.linear_operators import arguments, operator
from capstan.api.scoped import scoped

Hints = Mapping[str, operator.Hint]


class OfOne(operator.LinearOperator):
    """The adjoint or the inverse of an operator. Both operators have the same hints."""

    def __init__(self, of: operator.LinearOperator, noun: str, hints: Hints, name: str) -> None:
        """`noun` says in errors how this operator is made.

        Raises:
            ValueError: `hints` contradict those of the operator.
        """
        self._operator = of
        shared = {
            hint: arguments.combined_hint(
                of, hint, given,
                "An operator is {0} if and only if its {1} is {0}.".format(_word(hint), noun),
            )
            for hint, given in hints.items()
        }  # fmt: skip
        with scoped(name, "", of.graph_parents):
            super().__init__(of.dtype, of.graph_parents, name=name, **shared)

    @property
    def operator(self) -> operator.LinearOperator:
        return self._operator

    def _assert_non_singular(self) -> Any:
        return self._operator.assert_non_singular()

    def _assert_positive_definite(self) -> Any:
        return self._operator.assert_positive_definite()

    def _assert_self_adjoint(self) -> Any:
        return self._operator.assert_self_adjoint()


class OfSeveral(operator.LinearOperator):
    """A combination of the operators of a list, which have one type."""

    def __init__(
        self, operators: Sequence[operator.LinearOperator], noun: str, implied: Hints,
        is_square: operator.Hint, joint: str, name: str | None, **hints: operator.Hint,
    ) -> None:  # fmt: skip
        """Join the names of the operators by `joint` if there is no `name`.

        The combination has each hint of `implied` that all operators have. `noun` says in errors
        how it is made.

        Raises:
            TypeError: the operators have different types.
            ValueError: there is no operator, or the operators contradict the hints.
        """
        self._operators = list(operators)
        if not self._operators:
            raise ValueError(f"Expected a non-empty list of operators. Found: {operators}")
        dtype = arguments.one_dtype(self._operators)
        for hint, given in implied.items():
            message = "The {1} of {0} operators is always {0}.".format(_word(hint), noun)
            hints[hint] = arguments.implied_hint(self._operators, hint, given, message)
        parents = [parent for each in self._operators for parent in each.graph_parents]
        name = name or joint.join(each.name for each in self._operators)
        with scoped(name, "", parents):
            super().__init__(dtype, parents, is_square=is_square, name=name, **hints)

    @property
    def operators(self) -> list[operator.LinearOperator]:
        return self._operators


def _word(hint: str) -> str:
    """Return the property that a hint is about.

    >>> _word("is_self_adjoint")
    'self-adjoint'
    """
    return hint.removeprefix("is_").replace("_", "-")
