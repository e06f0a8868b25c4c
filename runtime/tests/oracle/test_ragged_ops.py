"""The ops of ragged tensors have the results and errors of TensorFlow's."""

import itertools
from typing import Any

import genuine
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_tables import outcome

import capstan
from capstan.framework.raw import raw

pytestmark = genuine.MARKS

VALUES = np.arange(10, 18)
INDEX = (np.int32, np.int64)


def add(module: Any, op: str, **arguments: Any) -> Any:
    """Add an op, and return the list of all its outputs."""
    if module is capstan:
        found = getattr(raw, op)(**arguments)
    else:
        found = getattr(module.raw_ops, op)(**arguments)
    outputs = found if isinstance(found, list | tuple) else [found]
    return [each for part in outputs for each in (part if isinstance(part, list) else [part])]


def check(v1: Any, op: str, **arguments: Any) -> None:
    """Require the same outputs, or an error of the same class."""
    ours, theirs = (
        outcome(module, lambda module: add(module, op, **arguments)) for module in (capstan, v1)
    )
    if isinstance(theirs, tuple):
        assert ours[0] == theirs[0]
    else:
        assert ours == theirs


def splits_for(size: int) -> st.SearchStrategy[list[int]]:
    inner = st.lists(st.integers(0, size), max_size=5).map(sorted)
    return inner.map(lambda ends: [0, *ends, size])


@st.composite
def nested(draw: Any) -> tuple[list[Any], Any]:
    """Draw the splits of one to three ragged axes, and values."""
    kind = draw(st.sampled_from(INDEX))
    size = draw(st.integers(0, 8))
    values = VALUES[:size] if draw(st.booleans()) else np.arange(size * 2.0).reshape(size, 2)
    found: list[Any] = []
    for _ in range(draw(st.integers(1, 3))):
        ends = draw(splits_for(size))
        found.insert(0, np.array(ends, kind))
        size = len(ends) - 1
    return found, values


@settings(max_examples=25)
@given(data=st.data(), rows=nested())
def test_rows_are_gathered_as_in_tensorflow(v1: Any, data: Any, rows: Any) -> None:
    splits, values = rows
    shape = data.draw(st.sampled_from([(), (3,), (0,), (2, 3)]))
    count = len(splits[0]) - 1
    numbers = st.integers(0, count - 1) if count else st.nothing()
    size = int(np.prod(shape))
    if size and not count:
        return
    flat = data.draw(st.lists(numbers, min_size=size, max_size=size)) if size else []
    indices = np.array(flat, data.draw(st.sampled_from(INDEX))).reshape(shape)
    check(
        v1, "RaggedGather", params_nested_splits=splits, params_dense_values=values,
        indices=indices, OUTPUT_RAGGED_RANK=len(splits) + len(shape) - 1,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("splits", "indices"),
    [([[0, 8]], [1]), ([[0, 8]], [-1]), ([[0, 9]], [0]), ([[0, 5, 3, 8]], [0]), ([[-1, 8]], [0]),
     ([[]], [0]), ([[0, 1], []], [0])],
)  # fmt: skip
def test_rows_that_do_not_exist_are_refused(v1: Any, splits: Any, indices: Any) -> None:
    check(
        v1, "RaggedGather", params_nested_splits=[np.array(each, np.int64) for each in splits],
        params_dense_values=VALUES, indices=np.array(indices), OUTPUT_RAGGED_RANK=len(splits),
    )  # fmt: skip


@settings(max_examples=25)
@given(rows=nested())
def test_rows_become_sparse_as_in_tensorflow(v1: Any, rows: Any) -> None:
    check(v1, "RaggedTensorToSparse", rt_nested_splits=rows[0], rt_dense_values=rows[1])


@pytest.mark.parametrize("splits", [[[0, 7]], [[1, 8]], [[]], [[0, 2], [0, 8]], [[0, 9]]])
def test_splits_that_do_not_fit_do_not_become_sparse(v1: Any, splits: Any) -> None:
    arrays = [np.array(each, np.int64) for each in splits]
    check(v1, "RaggedTensorToSparse", rt_nested_splits=arrays, rt_dense_values=VALUES)


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float32, np.float64])
def test_ranges_are_those_of_tensorflow(v1: Any, kind: Any) -> None:
    for starts, limits, deltas in (
        (0, 5, 1), ([0, 3], 5, 2), ([5, 3], [0, 9], [-2, 3]), (4, 4, 1), ([], 3, 1), (7, 2, 1),
        (0, 3, 0), ([1, 2], [3], 1), ([[1]], 2, 1), (1, [2, 9], [1, 0]), (2, 9, 3),
    ):  # fmt: skip
        bounds = {
            "starts": np.array(starts, kind),
            "limits": np.array(limits, kind),
            "deltas": np.array(deltas, kind),
        }
        for splits in (v1.int32, v1.int64):
            check(v1, "RaggedRange", **bounds, Tsplits=splits.as_datatype_enum)


@settings(max_examples=40)
@given(data=st.data(), rows=nested())
def test_rows_become_dense_as_in_tensorflow(v1: Any, data: Any, rows: Any) -> None:
    splits, values = rows
    kinds, partitions = ["ROW_SPLITS"] * len(splits), list(splits)
    if data.draw(st.booleans()):
        kinds = ["FIRST_DIM_SIZE", *["VALUE_ROWIDS"] * len(splits)]
        partitions = [np.array(len(splits[0]) - 1, splits[0].dtype)]
        for each in splits:
            ids = np.repeat(np.arange(len(each) - 1), np.diff(each))
            partitions.append(ids.astype(each.dtype))
    inner = [st.sampled_from([-1, 2])] * (values.ndim - 1)
    sizes = st.tuples(*[st.integers(-1, 4)] * (len(splits) + 1), *inner)
    shape = np.array(data.draw(sizes)) if data.draw(st.booleans()) else np.array(-1)
    default = values.dtype.type(data.draw(st.sampled_from([0, 7])))
    check(
        v1, "RaggedTensorToTensor", shape=shape, values=values, default_value=default,
        row_partition_tensors=partitions, row_partition_types=kinds,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kinds", "partitions"),
    [
        ([], []), (["ROW_SPLITS"], []), (["VALUE_ROWIDS"], [[0, 1]]), (["FIRST_DIM_SIZE"], [3]),
        (["ROW_SPLITS", "FIRST_DIM_SIZE"], [[0, 8], 3]), (["ROW_LENGTHS"], [[8]]),
        (["ROW_SPLITS"], [8]), (["FIRST_DIM_SIZE", "VALUE_ROWIDS"], [[1], [0] * 8]),
        (["other"], [[0, 8]]),
    ],
)  # fmt: skip
def test_partitions_of_another_kind_are_refused(v1: Any, kinds: Any, partitions: Any) -> None:
    arrays = [np.array(each, np.int64) for each in partitions]
    for module in (capstan, v1):
        found = outcome(
            module,
            lambda module: add(
                module, "RaggedTensorToTensor", shape=np.array(-1), values=VALUES,
                default_value=np.int64(0), row_partition_tensors=arrays, row_partition_types=kinds,
            ),
        )  # fmt: skip
        assert isinstance(found, tuple)


def test_a_shape_that_does_not_fit_is_refused(v1: Any) -> None:
    for shape, default in (([3], 0), ([2, 2, 2], 0), ([-1, -1, 3], 0), (-1, [1, 2, 3])):
        values = np.arange(16).reshape(8, 2)
        check(
            v1, "RaggedTensorToTensor", shape=np.array(shape), values=values,
            default_value=np.array(default), row_partition_tensors=[np.array([0, 3, 8])],
            row_partition_types=["ROW_SPLITS"],
        )  # fmt: skip


def through_variants(splits: list[Any], values: Any, *, batched: bool) -> list[Any]:
    encoded = raw.RaggedTensorToVariant(splits, values, batched_input=batched)
    found = raw.RaggedTensorFromVariant(
        encoded,
        input_ragged_rank=-1,
        output_ragged_rank=len(splits),
        Tvalues=capstan.as_dtype(values.dtype),
        Tsplits=capstan.as_dtype(splits[0].dtype),
    )
    return [*found.output_nested_splits, found.output_dense_values]


@settings(max_examples=20)
@given(rows=nested(), batched=st.booleans())
def test_variants_keep_the_rows(rows: Any, batched: bool) -> None:
    splits, values = rows
    if batched and len(splits[0]) == 1:
        return
    with capstan.Graph().as_default(), capstan.Session() as session:
        found = session.run(through_variants(splits, values, batched=batched))
    for kept, given_part in itertools.zip_longest(found, [*splits, values]):
        assert kept.dtype == given_part.dtype
        np.testing.assert_array_equal(kept, given_part)


def test_a_matrix_of_variants_becomes_one_ragged_tensor() -> None:
    with capstan.Graph().as_default(), capstan.Session() as session:
        one, other = (
            raw.RaggedTensorToVariant(
                [np.array(splits)], np.array(values, np.int64), batched_input=False
            )
            for splits, values in (([0, 1, 3], [1, 2, 3]), ([0, 0], []))
        )
        matrix = raw.Pack([raw.Pack([one, other]), raw.Pack([other, one])])
        spec = capstan.RaggedTensorSpec([None] * 4, capstan.int64)
        found = session.run(spec.unpacked(matrix))
    assert found.to_list() == [[[[1], [2, 3]], [[]]], [[[]], [[1], [2, 3]]]]


def test_a_variant_of_another_type_is_refused() -> None:
    with capstan.Graph().as_default(), capstan.Session() as session:
        encoded = raw.RaggedTensorToVariant([np.array([0, 2])], VALUES[:2], batched_input=False)
        for options, message in (
            ({"Tvalues": capstan.float32}, "Expected values Tensor dtype: float, found: int64"),
            ({"Tsplits": capstan.int32}, "Expected splits Tensor dtype: int32, found: int64"),
            ({"output_ragged_rank": 2}, "zero splits Tensors, 1 values Tensor"),
        ):
            attrs = {
                "input_ragged_rank": -1, "output_ragged_rank": 1, "Tvalues": capstan.int64,
                "Tsplits": capstan.int64, **options,
            }  # fmt: skip
            with pytest.raises(capstan.errors.InvalidArgumentError, match=message):
                session.run(raw.RaggedTensorFromVariant(encoded, **attrs).output_dense_values)
