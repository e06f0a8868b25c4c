"""The distinct elements of vectors, in the order of their first appearance."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import capstan as tf


def expected(elements: list[Any]) -> tuple[list[Any], list[int], list[int]]:
    kept: list[Any] = []
    for element in elements:
        if element not in kept:
            kept.append(element)
    places = [kept.index(element) for element in elements]
    return kept, places, [places.count(place) for place in range(len(kept))]


@settings(max_examples=80, deadline=None)
@given(
    elements=st.one_of(
        st.lists(st.integers(-3, 3)),
        st.lists(st.integers(0, 5)),
        st.lists(st.sampled_from([0, 7, 2**21, 2**40, 2**62])),
    ),
    dtype=st.sampled_from([np.int32, np.int64]),
)
def test_distinct_integers(elements: list[int], dtype: Any) -> None:
    x = np.array(elements, np.int64)
    if x.size and x.max() > np.iinfo(dtype).max:
        dtype = np.int64
    check(x.astype(dtype), elements)


@settings(max_examples=30, deadline=None)
@given(elements=st.lists(st.sampled_from([b"", b"a", b"b", b"a\0", b"\xff"])))
def test_distinct_strings(elements: list[bytes]) -> None:
    x = np.empty(len(elements), object)
    x[:] = elements
    check(x, elements)


def check(x: Any, elements: list[Any]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.as_dtype(x.dtype) if x.dtype != object else tf.string, [None])
        results = [tf.unique(fed, tf.int64), tf.unique_with_counts(fed)]
        by_place, with_counts = session.run(results, {fed: x})
    kept, places, counts = expected(elements)
    assert by_place.y.tolist() == with_counts.y.tolist() == kept
    assert by_place.idx.tolist() == with_counts.idx.tolist() == places
    assert with_counts.count.tolist() == counts
    assert (by_place.idx.dtype, with_counts.count.dtype) == (np.int64, np.int32)
