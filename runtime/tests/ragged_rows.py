"""Ragged tensors of Capstan or TensorFlow, for tests that compare the two."""

from typing import Any

import numpy as np
from oracle_tables import Case, outcome

ROWS = [[1, 2], [], [3, 4, 5]]
DEEP = [[[1.0, 2], [3]], [], [[4, 5, 6], [], [7]]]


def rows(v1: Any, **options: Any) -> Any:
    return v1.ragged.constant(ROWS, **options)


def deep(v1: Any) -> Any:
    return v1.ragged.constant(DEEP)


def wide(v1: Any) -> Any:
    """Return rows of pairs."""
    return v1.ragged.constant([[[1, 2]], [], [[3, 4], [5, 6]]], ragged_rank=1)


def fed(v1: Any, value: Any, kind: Any = np.int64) -> Any:
    """Return a value that only the step knows."""
    return v1.placeholder_with_default(np.array(value, kind), [None] * np.ndim(value))


def parts(v1: Any, *given: Any) -> list[Any]:
    """Return the tensors of ragged tensors, also in lists, and tensors as they are."""
    found: list[Any] = []
    for each in given:
        if isinstance(each, list | tuple):
            found += parts(v1, *each)
        elif isinstance(each, v1.RaggedTensor):
            found += [each.flat_values, *each.nested_row_splits]
        else:
            found.append(v1.convert_to_tensor(each))
    return found


def of(v1: Any, case: Case) -> Any:
    """Return the outcome of a case that returns ragged tensors."""
    return outcome(v1, lambda module: parts(module, case(module)))
