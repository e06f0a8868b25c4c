"""Sets along the last axis are those of TensorFlow."""

from typing import Any

import genuine
import pytest
from oracle_tables import compare

import capstan

pytestmark = genuine.MARKS

FIRST = [[[3, 1, 1], [5, 2, 4]], [[7, 7, 7], [0, 1, 2]]]
SECOND = [[[1, 9], [4, 2]], [[8, 6], [2, 2]]]


def parts(found: Any) -> list[Any]:
    return [found.indices, found.values, found.dense_shape]


def sparse(v1: Any, values: Any, dtype: Any) -> Any:
    indices = [[0, 0, 0], [0, 0, 2], [0, 1, 0], [1, 1, 0], [1, 1, 1]]
    return v1.SparseTensor(indices, v1.constant(values, dtype), [2, 2, 3])


def operations(v1: Any, a: Any, b: Any) -> list[Any]:
    sets = v1.sets
    found = [
        sets.set_intersection(a, b),
        sets.set_union(a, b),
        sets.set_difference(a, b),
        sets.set_difference(a, b, aminusb=False),
    ]
    return [part for each in found for part in (*parts(each), sets.set_size(each))]


@pytest.mark.parametrize("index", [[-1, 0], [2, 0]])
def test_a_set_of_no_group_is_refused_even_if_indices_are_not_validated(index: list[int]) -> None:
    """TensorFlow writes outside of its memory."""
    with capstan.Graph().as_default(), capstan.Session() as session:
        sets = capstan.SparseTensor([index], capstan.constant([1]), [2, 2])
        with pytest.raises(capstan.errors.InvalidArgumentError, match=r"is out of bounds \[0, 2\)"):
            session.run(capstan.sets.set_size(sets, validate_indices=False))


def test_sets_of_each_form_combine_as_in_tensorflow(v1: Any) -> None:
    def dense(v1: Any, values: Any) -> Any:
        return v1.constant(values, v1.int64)

    compare(
        v1,
        [
            lambda v1: operations(v1, dense(v1, FIRST), dense(v1, SECOND)),
            lambda v1: operations(
                v1,
                v1.as_string(dense(v1, FIRST)),
                v1.constant([[["1", "9"], ["4", "2"]], [["", "x"], ["2", "2"]]]),
            ),
            lambda v1: operations(v1, dense(v1, FIRST), sparse(v1, [1, 5, 2, 2, 9], v1.int64)),
            lambda v1: operations(v1, sparse(v1, [1, 5, 2, 2, 9], v1.int64), dense(v1, FIRST)),
            lambda v1: operations(
                v1, sparse(v1, [1, 1, 4, 2, 9], v1.int32), sparse(v1, [3, 1, 4, 9, 7], v1.int32)
            ),
            lambda v1: parts(
                v1.sets.set_union(
                    v1.placeholder_with_default([[1]], None),
                    v1.placeholder_with_default([[1], [2]], None),
                )
            ),
            lambda v1: parts(v1.sets.set_union([[1, 2]], v1.placeholder_with_default([[3]], None))),
            lambda v1: parts(
                v1.sets.set_union(*[v1.placeholder_with_default([1], None) for _ in range(2)])
            ),
            *(
                lambda v1, index=index: v1.sets.set_size(
                    v1.SparseTensor([[1, 0], index], v1.constant([1, 2]), [2, 2])
                )
                for index in ([0, 1], [1, 0], [1, 3])
            ),
        ],
    )


SPARSE = [[None, 3], [None], [3]]
UNKNOWN = [None, None, None]


@pytest.mark.parametrize(
    "op, known",
    [
        ("DenseToSparse", [[3, 4], *UNKNOWN]),
        ("DenseToSparse", [None, *SPARSE]),
        ("DenseToSparse", [None, [None, 3], None, None]),
        ("DenseToSparse", [None, None, None, [3]]),
        ("DenseToSparse", [None, *UNKNOWN]),
        ("DenseToSparse", [[5], *UNKNOWN]),
        ("DenseToSparse", [[3, 4], *SPARSE]),
        ("DenseToSparse", [[3, 4], [2, 2], [3], [2]]),
        ("DenseToSparse", [[3, 4], [2], None, None]),
        ("DenseToSparse", [None, [None, 3], [None], [2]]),
        ("SparseToSparse", [*SPARSE, *UNKNOWN]),
        ("SparseToSparse", [*UNKNOWN, *UNKNOWN]),
        ("SparseToSparse", [*SPARSE, None, None, [2]]),
        ("SparseToSparse", [None, [2, 2], None, *UNKNOWN]),
    ],
)
def test_the_shapes_of_sparse_sets_are_those_of_tensorflow(
    v1: Any, op: str, known: list[Any]
) -> None:
    sparse_parts = ("indices", "values", "shape")
    names = ["set1"] if op == "DenseToSparse" else [f"set1_{part}" for part in sparse_parts]
    names += [f"set2_{part}" for part in sparse_parts]

    def found(of: Any) -> Any:
        with of.Graph().as_default():
            sets = {
                name: of.placeholder(of.int64, shape)
                for name, shape in zip(names, known, strict=True)
            }
            try:
                result = getattr(of.raw_ops, f"{op}SetOperation")(**sets, set_operation="union")
            except ValueError:
                return None
            return [each.shape.as_list() for each in result]

    assert found(capstan) == found(v1)
