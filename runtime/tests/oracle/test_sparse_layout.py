"""Sparse tensors are joined, split and turned as in TensorFlow."""

from typing import Any

import genuine
import numpy as np
import pytest
from oracle_tables import compare, outcome

import capstan

pytestmark = genuine.MARKS


def tall(v1: Any, shape: Any = (2, 3)) -> Any:
    return v1.SparseTensor([[0, 1], [1, 0], [1, 2]], [1, 2, 3], shape)


def wide(v1: Any, shape: Any = (2, 4)) -> Any:
    return v1.SparseTensor([[0, 3], [1, 0]], [4, 5], shape)


def cube(v1: Any) -> Any:
    places = [[0, 1, 4], [0, 2, 0], [1, 0, 3], [1, 0, 1]]
    return v1.SparseTensor(places, ["a", "b", "c", "d"], [2, 3, 5])


def parts(*tensors: Any) -> list[Any]:
    return [part for each in tensors for part in (each.indices, each.values, each.dense_shape)]


def fed(v1: Any, value: Any) -> Any:
    return v1.placeholder_with_default(np.int64(value), None)


def slices(v1: Any) -> Any:
    return v1.IndexedSlices([[1, 2], [3, 4], [5, 6]], v1.constant([4, 1, 7]), v1.constant([9, 2]))


def masked(v1: Any) -> list[Any]:
    left = v1.sparse_mask(slices(v1), [1, 5])
    return [left.values, left.indices, left.dense_shape]


def test_sparse_tensors_are_tensorflows(v1: Any) -> None:
    compare(
        v1,
        [
            *(
                lambda v1, axis=axis: parts(v1.sparse_concat(axis, [tall(v1), wide(v1)]))
                for axis in (1, -1)
            ),
            *(
                lambda v1, axis=axis: parts(
                    v1.sparse_concat(axis, [tall(v1), wide(v1)], expand_nonconcat_dim=True)
                )
                for axis in (0, 1, -2, -1)
            ),
            lambda v1: parts(v1.sparse.concat(0, [cube(v1), cube(v1), cube(v1)])),
            lambda v1: parts(v1.sparse_concat(2, [cube(v1)])),
            *(
                lambda v1, axis=axis, count=count: parts(
                    *v1.sparse_split(sp_input=cube(v1), num_split=count, axis=axis)
                )
                for axis, count in ((0, 1), (0, 2), (1, 2), (2, 2), (-1, 3), (2, 5))
            ),
            lambda v1: parts(*v1.sparse.split(sp_input=tall(v1), num_split=2, axis=1)),
            *(
                lambda v1, perm=perm: parts(v1.sparse_transpose(cube(v1), perm))
                for perm in (None, [1, 0, 2], [2, 0, 1])
            ),
            lambda v1: parts(v1.sparse.transpose(tall(v1, fed(v1, [2, 3])))),
            lambda v1: parts(v1.sparse_reset_shape(tall(v1, [9, 9]))),
            lambda v1: parts(v1.sparse_reset_shape(tall(v1), [4, 5])),
            lambda v1: parts(v1.sparse.reset_shape(tall(v1), fed(v1, [4, 5]))),
            lambda v1: v1.sparse_to_indicator(tall(v1), 5),
            lambda v1: v1.sparse.to_indicator(
                v1.SparseTensor([[0, 0], [0, 1]], np.int64([3, 3]), [2, 3]), 4
            ),
            masked,
            *(
                lambda v1, size=size: parts(v1.sparse.eye(*size))
                for size in ((3,), (2, 4), (4, 2, np.int64))
            ),
            *(
                lambda v1, axis=axis: parts(v1.sparse.expand_dims(tall(v1), axis))
                for axis in (None, -1, -3, 0, 1, 2)
            ),
            lambda v1: parts(v1.sparse.from_dense([[0, 3, 0], [1, 0, 2]])),
            lambda v1: parts(v1.sparse.from_dense([["", "a"], ["b", ""]])),
        ],
    )


@pytest.mark.parametrize(
    "case",
    [
        lambda v1: parts(v1.sparse_concat(5, [tall(v1, fed(v1, [2, 3])), wide(v1)])),
        lambda v1: parts(v1.sparse_concat(0, [tall(v1, fed(v1, [2, 3])), wide(v1)])),
        lambda v1: parts(
            v1.sparse_concat(0, [tall(v1, fed(v1, [2, 3])), tall(v1, fed(v1, [2, 5]))])
        ),
        lambda v1: v1.sparse_split(tall(v1), 2, 1),
        lambda v1: v1.sparse_split(sp_input=tall(v1), axis=1),
        lambda v1: parts(*v1.sparse_split(sp_input=tall(v1), num_split=4, axis=1)),
        lambda v1: parts(*v1.sparse_split(sp_input=tall(v1), num_split=2, axis=2)),
        lambda v1: parts(v1.sparse_reset_shape(tall(v1), [1, 5])),
        lambda v1: v1.sparse_to_indicator([1], 5),
    ],
)
def test_errors_are_tensorflows(v1: Any, case: Any) -> None:
    found = outcome(capstan, case)
    assert isinstance(found, tuple)
    assert found == outcome(v1, case)


def test_a_program_of_tensorflow_runs_on_our_servers(v1: Any, tasks: genuine.Tasks) -> None:
    joined = v1.sparse_concat(1, [tall(v1), wide(v1, fed(v1, [2, 4]))])
    fetches = parts(joined, *v1.sparse_split(sp_input=joined, num_split=3, axis=1))
    fetches += parts(v1.sparse_transpose(cube(v1), [1, 2, 0]), v1.sparse.expand_dims(tall(v1), 1))
    fetches.append(v1.sparse_to_indicator(tall(v1), 6))
    with v1.Session() as local, v1.Session(tasks.target()) as session:
        expected, found = local.run(fetches), session.run(fetches)
    for value, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(value, wanted, strict=True)
