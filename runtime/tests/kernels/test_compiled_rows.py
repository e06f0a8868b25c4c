"""Kernels that change or combine rows give the same results by NumPy and by compiled loops."""

from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capstan as tf
from capstan.hardware import cpu_loops
from capstan.kernels import rows

Draw = Any


def late(value: Any) -> Any:
    """Return a tensor whose value is not known before the step. Slices of it are views."""
    return tf.placeholder_with_default(value, value.shape)


def table_of(draw: Draw, dtype: Any) -> Any:
    width = draw.choice([1, 3, 16])
    return draw.integers(0, 5, (draw.choice([1, 7, 40]), width)).astype(dtype)


def scattered(change: str) -> Callable[[Draw, Any], Any]:
    """Return a program with a reference and a resource, of which two steps change rows."""

    def build(draw: Draw, dtype: Any) -> Any:
        table = table_of(draw, dtype)
        indices = draw.integers(0, len(table), (draw.choice([0, 1, 30]), 2))
        values = draw.integers(0, 5, (*indices.shape, table.shape[1])).astype(dtype)
        found: list[Any] = []
        for name, is_resource in (("v", False), ("r", True)):
            v = tf.get_variable(name, initializer=table, use_resource=is_resource)
            with tf.control_dependencies([getattr(v, change)(tf.IndexedSlices(values, indices))]):
                found.append(v.read_value())
        updated = getattr(tf, f"tensor_{change}".replace("scatter", "scatter_nd"))
        found.append(updated(table, indices[..., None], values))
        return found

    return build


def scattered_from_itself(draw: Draw, dtype: Any) -> Any:
    """Add the rows of a variable to its own rows in another order."""
    table = table_of(draw, dtype)
    v = tf.get_variable("v", initializer=table)
    places = draw.permutation(len(table))
    with tf.control_dependencies([tf.scatter_add(v, places, v)]):
        return v.read_value()


def summed_columns(draw: Draw, dtype: Any) -> Any:
    """Add columns of an array to columns, at places that are a column of an array too."""
    values = draw.integers(0, 5, (3, draw.choice([1, 30]), 4)).astype(dtype)
    places = draw.integers(0, 5, (values.shape[1], 2))
    columns = tf.transpose(late(values), [1, 0, 2])
    return tf.math.unsorted_segment_sum(columns, late(places)[:, 0], 5)


def summed_segments(draw: Draw, dtype: Any) -> Any:
    count = draw.choice([1, 5, 60])
    ids = draw.integers(-2, count, (draw.choice([0, 1, 50]), 1)).astype(
        draw.choice([np.int32, int])
    )
    data = draw.integers(0, 9, (*ids.shape, draw.choice([1, 4]))).astype(dtype)
    return tf.unsorted_segment_sum(data, ids, count)


def scattered_anew(draw: Draw, dtype: Any) -> Any:
    indices = draw.integers(0, 6, (draw.choice([0, 1, 50]), 1))
    updates = draw.integers(0, 9, (len(indices), draw.choice([1, 4]))).astype(dtype)
    return tf.scatter_nd(indices, updates, [6, updates.shape[1]])


def distinct(draw: Draw, dtype: Any) -> Any:
    """Find the distinct numbers in small and in huge ranges, and in every second place."""
    width = draw.choice([1, 10, 2**30])
    kind = draw.choice([np.int32, np.int64, np.int16, np.uint8])
    numbers = draw.integers(-width, width, 2 * draw.choice([0, 1, 3, 200])).astype(kind)
    return [tf.unique(numbers), tf.unique(late(numbers)[::2], out_idx=tf.int64)]


def looked_up(draw: Draw, dtype: Any) -> Any:
    """Combine rows of a table by segments, and compute the gradients."""
    table = tf.constant(table_of(draw, dtype))
    size = draw.choice([1, 2, 40])
    places = late(draw.integers(0, table.shape[0].value, (size, 2)))[:, 1]
    ids = late(np.sort(draw.integers(0, 1 + size // 2, (size, 2)).astype(np.int32), 0))[:, 1]
    found: list[Any] = []
    for combine in (tf.sparse_segment_sum, tf.sparse_segment_mean, tf.sparse_segment_sqrt_n):
        rows = combine(table, places, ids)
        found += [rows, tf.gradients(rows * rows, table)]
    return found


def multiplied(draw: Draw, dtype: Any) -> Any:
    places = np.stack([draw.integers(0, size, 30) for size in (6, 4)], 1)
    sparse = tf.SparseTensor(places, draw.integers(0, 9, 30).astype(dtype), [6, 4])
    return tf.sparse_tensor_dense_matmul(sparse, draw.integers(0, 9, (4, 3)).astype(dtype))


def trained(draw: Draw, dtype: Any) -> Any:
    """Change rows by optimizers. A gradient names a row twice, or is the variable itself."""
    table = table_of(draw, dtype) + dtype(1)
    count = draw.choice([1, len(table)])
    order = draw.permutation(len(table))
    found: list[Any] = []
    for name, indices in (("one", order[:count]), ("two", np.repeat(order, 2)), ("own", order)):
        v = tf.get_variable(name, initializer=table, use_resource=False)
        sums = tf.get_variable(f"{name}_sums", initializer=table, use_resource=False)
        grad = tf.constant(draw.integers(0, 5, (len(indices), table.shape[1])).astype(dtype))
        change = tf.raw_ops.SparseApplyAdagrad(
            var=v._ref(),
            accum=sums._ref(),
            lr=dtype(0.5),
            grad=v if name == "own" else grad,
            indices=indices,
        )
        with tf.control_dependencies([change]):
            found += [v.read_value(), sums.read_value()]
    return found


FLOATS = (np.float32, np.float64)
PROGRAMS: dict[str, tuple[Callable[[Draw, Any], Any], tuple[Any, ...]]] = {
    "add": (scattered("scatter_add"), (*FLOATS, np.int32, np.int64, np.float16)),
    "subtract": (scattered("scatter_sub"), (*FLOATS, np.int32, np.int64, np.float16)),
    "itself": (scattered_from_itself, FLOATS),
    "columns": (summed_columns, (*FLOATS, np.int32, np.float16)),
    "segments": (summed_segments, (*FLOATS, np.int32, np.float16)),
    "anew": (scattered_anew, (*FLOATS, np.int32)),
    "distinct": (distinct, (None,)),
    "looked up": (looked_up, FLOATS),
    "multiplied": (multiplied, (*FLOATS, np.int32)),
    "trained": (trained, FLOATS),
}


def outcome(build: Callable[[Draw, Any], Any], seed: int, dtype: Any) -> list[Any]:
    with tf.Graph().as_default(), tf.Session() as session:
        fetches = tf.nest.flatten(build(np.random.default_rng(seed), dtype))
        session.run(tf.global_variables_initializer())
        return [session.run(fetch) for fetch in fetches]


@pytest.mark.parametrize("name", PROGRAMS)
@given(data=st.data(), seed=st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_compiled_loops_over_rows_give_the_values_of_numpy(
    name: str, data: st.DataObject, seed: int
) -> None:
    build, dtypes = PROGRAMS[name]
    dtype = data.draw(st.sampled_from(dtypes))
    expected = outcome(build, seed, dtype)
    with mock.patch.object(cpu_loops.Spent, "pays", return_value=True):
        found = outcome(build, seed, dtype)
    for mine, theirs in zip(found, expected, strict=True):
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)


@pytest.mark.parametrize("build", [summed_columns, multiplied])
def test_compiled_loops_add_values_that_are_spread_over_memory(
    build: Callable[[Draw, Any], Any],
) -> None:
    pays = mock.patch.object(cpu_loops.Spent, "pays", return_value=True)
    with pays, mock.patch.object(rows, "accumulate") as sum_with_numpy:
        outcome(build, 0, np.float32)
    assert not sum_with_numpy.called
