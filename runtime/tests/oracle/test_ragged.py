"""Ragged tensors have the rows, dtypes and errors that they have in TensorFlow."""

from typing import Any

import genuine
import numpy as np
import pytest
from oracle_tables import Case, compare
from ragged_rows import DEEP, ROWS, deep, fed, of, parts, rows, wide

import capstan

pytestmark = genuine.MARKS

FLAT = [3, 1, 4, 1, 5, 9, 2, 6]


FACTORIES: list[Case] = [
    lambda v1: v1.RaggedTensor.from_row_splits(FLAT, [0, 4, 4, 7, 8, 8]),
    lambda v1: v1.RaggedTensor.from_row_splits(FLAT, np.array([0, 4, 8], np.int32)),
    lambda v1: v1.RaggedTensor.from_row_splits(fed(v1, FLAT), fed(v1, [0, 4, 8])),
    lambda v1: v1.RaggedTensor.from_row_lengths(FLAT, [4, 0, 3, 1, 0]),
    lambda v1: v1.RaggedTensor.from_row_lengths(fed(v1, FLAT), fed(v1, [4, 0, 4])),
    lambda v1: v1.RaggedTensor.from_row_starts(FLAT, [0, 4, 4, 7, 8]),
    lambda v1: v1.RaggedTensor.from_row_limits(FLAT, [4, 4, 7, 8, 8]),
    lambda v1: v1.RaggedTensor.from_value_rowids(FLAT, [0, 0, 0, 0, 2, 2, 2, 3], 5),
    lambda v1: v1.RaggedTensor.from_value_rowids(FLAT, [0, 0, 0, 0, 2, 2, 2, 3]),
    lambda v1: v1.RaggedTensor.from_value_rowids(fed(v1, [7, 8]), fed(v1, [1, 3])),
    lambda v1: v1.RaggedTensor.from_value_rowids(fed(v1, []), fed(v1, []), fed(v1, 2)),
    lambda v1: v1.RaggedTensor.from_nested_row_splits(FLAT, [[0, 3, 3, 5], [0, 4, 4, 7, 8, 8]]),
    lambda v1: v1.RaggedTensor.from_nested_row_lengths(FLAT, [[2, 1], [4, 0, 4]]),
    lambda v1: v1.RaggedTensor.from_nested_value_rowids(FLAT, [[0, 2], [0] * 4 + [1] * 4]),
    lambda v1: v1.RaggedTensor.from_nested_value_rowids(FLAT, [[0, 2], [0] * 4 + [1] * 4], [4, 2]),
    lambda v1: v1.RaggedTensor.from_row_splits([[1, 2], [3, 4]], [0, 2]),
    lambda v1: v1.RaggedTensor.from_row_splits([], [0]),
    lambda v1: v1.RaggedTensor.from_tensor([[1, 2, 0], [3, 0, 0]]),
    lambda v1: v1.RaggedTensor.from_tensor([[1, 2, 0], [3, 0, 0]], lengths=[1, 9]),
    lambda v1: v1.RaggedTensor.from_tensor([[1, 0, 2, 0], [0, 0, 0, 0]], padding=0),
    lambda v1: v1.RaggedTensor.from_tensor([[[1, 2], [0, 0]], [[0, 1], [0, 3]]], padding=[0, 0]),
    lambda v1: v1.RaggedTensor.from_tensor(fed(v1, [[1, 0, 2], [0, 5, 0]]), padding=0),
    lambda v1: v1.RaggedTensor.from_tensor(np.arange(24).reshape(2, 3, 4), ragged_rank=2),
    lambda v1: v1.RaggedTensor.from_tensor(
        np.arange(24).reshape(2, 3, 4), ragged_rank=2, lengths=[1, 2, 3, 4, 0, 1]
    ),
    lambda v1: v1.RaggedTensor.from_tensor(
        np.arange(12).reshape(2, 3, 2), lengths=([1, 2], [2, 1, 0])
    ),
    lambda v1: v1.RaggedTensor.from_tensor([[1], [2]], row_splits_dtype=v1.int32),
    lambda v1: v1.RaggedTensor.from_tensor(np.zeros([0, 3])),
    lambda v1: v1.RaggedTensor.from_sparse(
        v1.SparseTensor([[0, 0], [0, 1], [2, 0]], ["a", "b", "c"], [4, 3])
    ),
    lambda v1: v1.RaggedTensor.from_sparse(rows(v1).to_sparse(), row_splits_dtype=v1.int32),
]
WRONG: list[Case] = [
    lambda v1: v1.RaggedTensor.from_row_splits(fed(v1, FLAT), fed(v1, [0, 5])),
    lambda v1: v1.RaggedTensor.from_row_splits(fed(v1, FLAT), fed(v1, [1, 8])),
    lambda v1: v1.RaggedTensor.from_row_splits(fed(v1, FLAT), fed(v1, [0, 5, 4, 8])),
    lambda v1: v1.RaggedTensor.from_row_lengths(fed(v1, FLAT), fed(v1, [4, -1, 5])),
    lambda v1: v1.RaggedTensor.from_row_lengths(fed(v1, FLAT), fed(v1, [4, 5])),
    lambda v1: v1.RaggedTensor.from_row_starts(fed(v1, FLAT), fed(v1, [0, 9])),
    lambda v1: v1.RaggedTensor.from_row_limits(fed(v1, FLAT), fed(v1, [2, 7])),
    lambda v1: v1.RaggedTensor.from_value_rowids(fed(v1, [1, 2]), fed(v1, [1, 0]), 3),
    lambda v1: v1.RaggedTensor.from_value_rowids(fed(v1, [1, 2]), fed(v1, [0, 4]), 3),
    lambda v1: v1.RaggedTensor.from_value_rowids(fed(v1, [1, 2]), fed(v1, [-1, 1]), 3),
    lambda v1: v1.RaggedTensor.from_sparse(v1.SparseTensor([[0, 1]], [1], [2, 2])),
]
REFUSED: list[Case] = [
    lambda v1: v1.RaggedTensor([1], [0, 1]),
    lambda v1: v1.RaggedTensor.from_row_splits([1], []),
    lambda v1: v1.RaggedTensor.from_row_splits([1], [0, 1], validate=1),
    lambda v1: v1.RaggedTensor.from_row_splits([1], [0.0, 1.0]),
    lambda v1: v1.RaggedTensor.from_row_splits([1], [[0, 1]]),
    lambda v1: v1.RaggedTensor.from_row_splits(5, [0, 1]),
    lambda v1: v1.RaggedTensor.from_value_rowids([1], [0], -1),
    lambda v1: v1.RaggedTensor.from_value_rowids([1, 2], [0, 4], 2),
    lambda v1: v1.RaggedTensor.from_nested_row_splits([1], v1.constant([0, 1])),
    lambda v1: v1.RaggedTensor.from_nested_value_rowids([1], [[0]], [1, 2]),
    lambda v1: v1.RaggedTensor.from_tensor([1, 2]),
    lambda v1: v1.RaggedTensor.from_tensor([[1]], ragged_rank=0),
    lambda v1: v1.RaggedTensor.from_tensor([[1]], ragged_rank=1.0),
    lambda v1: v1.RaggedTensor.from_tensor([[1]], lengths=[1], padding=0),
    lambda v1: v1.RaggedTensor.from_sparse([1]),
    lambda v1: v1.RaggedTensor.from_sparse(v1.SparseTensor([[0]], [1], [2])),
    lambda v1: rows(v1).with_row_splits_dtype(v1.float32),
    lambda v1: rows(v1).to_list(),
    lambda v1: bool(rows(v1)),
    lambda v1: rows(v1).with_values(rows(v1, row_splits_dtype=v1.int32)),
    lambda v1: rows(v1).row_lengths(axis=2),
    lambda v1: v1.ragged.constant([1, [2]]),
    lambda v1: v1.ragged.constant([[1], [[2]]]),
    lambda v1: v1.ragged.constant([[1], [[]]]),
    lambda v1: v1.ragged.constant(ROWS, ragged_rank=-1),
    lambda v1: v1.ragged.constant(ROWS, ragged_rank=2),
    lambda v1: v1.ragged.constant(5, ragged_rank=1),
    lambda v1: v1.ragged.constant(rows(v1)),
    lambda v1: rows(v1)[:, 1],
    lambda v1: rows(v1)[1, 2, 3, 4],
    lambda v1: rows(v1)[:, ::0.5],
]


@pytest.mark.parametrize("number", range(len(FACTORIES)))
def test_rows_are_made_as_in_tensorflow(v1: Any, number: int) -> None:
    case = FACTORIES[number]
    assert of(capstan, case) == of(v1, case)


def test_rows_that_do_not_fit_fail_the_step_as_in_tensorflow(v1: Any) -> None:
    for number, case in enumerate(WRONG):
        assert of(capstan, case)[0] == of(v1, case)[0] == "InvalidArgumentError", number


def test_wrong_arguments_are_refused_as_in_tensorflow(v1: Any) -> None:
    for number, case in enumerate(REFUSED):
        assert of(capstan, case)[0] == of(v1, case)[0], number


CONSTANTS: list[Case] = [
    lambda v1: v1.ragged.constant(ROWS),
    lambda v1: v1.ragged.constant(DEEP),
    lambda v1: v1.ragged.constant(DEEP, row_splits_dtype=v1.int32, dtype=v1.float64),
    lambda v1: v1.ragged.constant([[], [[]]]),
    lambda v1: v1.ragged.constant([]),
    lambda v1: v1.ragged.constant([[]], ragged_rank=1),
    lambda v1: v1.ragged.constant([[[1, 2]], [], [[3, 4]]], ragged_rank=1),
    lambda v1: v1.ragged.constant([[[1, 2]], [], [[3, 4]]], inner_shape=(2,)),
    lambda v1: v1.ragged.constant([["a"], [b"b", "c"]]),
    lambda v1: v1.ragged.constant([np.array([1, 2]), np.array([3])]),
    lambda v1: v1.ragged.constant(7),
    lambda v1: v1.ragged.constant([1, 2]),
    lambda v1: v1.ragged.constant([[1, 2], [3, 4]], ragged_rank=0),
]


@pytest.mark.parametrize("number", range(len(CONSTANTS)))
def test_constants_are_those_of_tensorflow(v1: Any, number: int) -> None:
    case = CONSTANTS[number]
    assert of(capstan, case) == of(v1, case)


def test_constant_values_are_those_of_tensorflow(v1: Any) -> None:
    for given, options in (
        (ROWS, {}), (DEEP, {"dtype": np.float64}), (DEEP, {"row_splits_dtype": "int32"}),
        ([[[1, 2]], [[3, 4]]], {"ragged_rank": 1}), (5, {}), ([1, 2], {}), ([[], [[]]], {}),
    ):  # fmt: skip
        ours = capstan.ragged.constant_value(given, **options)  # type: ignore[arg-type]
        theirs = v1.ragged.constant_value(given, **options)
        assert repr(ours) == repr(theirs)
        assert str(ours) == str(theirs)
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype


PROPERTIES: list[Case] = [
    lambda v1: [rows(v1).value_rowids(), *deep(v1).nested_value_rowids()],
    lambda v1: [rows(v1).nrows(), rows(v1).nrows(out_type=v1.int32)],
    lambda v1: [rows(v1).row_starts(), rows(v1).row_limits(), rows(v1).row_lengths()],
    lambda v1: [deep(v1).row_lengths(), deep(v1).row_lengths(axis=0)],
    lambda v1: parts(v1, deep(v1).row_lengths(axis=2), wide(v1).row_lengths(axis=2)),
    lambda v1: list(deep(v1).nested_row_lengths()),
    lambda v1: [deep(v1).bounding_shape(), wide(v1).bounding_shape()],
    lambda v1: [deep(v1).bounding_shape(axis=0), deep(v1).bounding_shape(axis=1)],
    lambda v1: [deep(v1).bounding_shape(axis=[2, 0], out_type=v1.int32)],
    lambda v1: parts(v1, deep(v1).with_row_splits_dtype(v1.int32)),
    lambda v1: parts(v1, rows(v1).with_values(rows(v1).values * 2)),
    lambda v1: parts(v1, deep(v1).with_flat_values(deep(v1).flat_values + 1)),
    lambda v1: [rows(v1).to_tensor(), rows(v1).to_tensor(-1), deep(v1).to_tensor(9.0)],
    lambda v1: [wide(v1).to_tensor(), wide(v1).to_tensor(7), wide(v1).to_tensor([7, 8])],
    lambda v1: [v1.ragged.constant([["a"], ["b", "c"]]).to_tensor(), rows(v1)[:0].to_tensor()],
    lambda v1: [v1.ragged.constant([["a"], ["b", "c"]]).to_tensor("?")],
    lambda v1: [
        part
        for each in (rows(v1), deep(v1), wide(v1), rows(v1)[:0])
        for part in (each.to_sparse().indices, each.to_sparse().values,
                     each.to_sparse().dense_shape)
    ],
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(PROPERTIES)))
def test_parts_and_conversions_are_those_of_tensorflow(v1: Any, number: int) -> None:
    compare(v1, [PROPERTIES[number]])


def test_static_shapes_are_those_of_tensorflow(v1: Any) -> None:
    shapes: list[Case] = [
        lambda v1: rows(v1), lambda v1: deep(v1), lambda v1: wide(v1), lambda v1: rows(v1)[1:],
        lambda v1: rows(v1) + 1, lambda v1: v1.concat([rows(v1), rows(v1)], 1),
        lambda v1: v1.stack([rows(v1), rows(v1)], 1),
        lambda v1: v1.ragged.placeholder(v1.float32, 2, [3]),
        lambda v1: v1.RaggedTensor.from_value_rowids([1, 2], [0, 4], 7),
    ]  # fmt: skip
    for number, case in enumerate(shapes):
        found = []
        for module in (capstan, v1):
            with module.Graph().as_default():
                ragged = case(module)
                found.append((str(ragged.shape.as_list()), ragged.ragged_rank, ragged.dtype.name))
        assert found[0] == found[1], number
