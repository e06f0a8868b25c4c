"""Random valid calls of every op, for the property tests of the registry.

Each module of a family has a table `CASES`, which names for each op the strategy that draws its
arguments. `elsewhere` lists the ops that other files test.

Numbers are distinct, a tenth apart and never 0. No case therefore lies on a kink of `Abs` or a tie
of `Max`, where a difference quotient is not the gradient.
"""

from collections.abc import Iterator

from op_cases import (
    arithmetic,
    creation,
    images,
    indexing,
    layout,
    matrices,
    networks,
    reductions,
    sparse,
)
from op_cases.drawing import Case as Case
from op_cases.drawing import Strategy
from op_cases.elsewhere import ELSEWHERE as ELSEWHERE

_FAMILIES = (arithmetic, creation, images, indexing, layout, matrices, networks, reductions, sparse)


def _cases() -> Iterator[tuple[str, Strategy]]:
    seen: dict[str, str] = {}
    for family in _FAMILIES:
        for op, strategy in family.CASES.items():
            assert op not in seen, f"{family.__name__} and {seen[op]} both have cases of {op}"
            seen[op] = family.__name__
            yield op, strategy


CASES = dict(_cases())
CRASHING = frozenset({*images.CONVOLUTIONS, *images.POOLS, "ConjugateTranspose"})
"""Some calls of these ops, such as those with empty images, end the process of TensorFlow.

`oracle/test_convolutions.py` and `oracle/test_client_gradients.py` compare the ops with TensorFlow
on calls that it survives.
"""
