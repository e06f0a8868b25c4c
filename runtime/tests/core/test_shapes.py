"""Static shapes: they match the shapes that tensors have in a step."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capstan.core import dimension, shapes, tensor_shape

sizes = st.integers(0, 4)
full_shapes = st.lists(sizes, max_size=4).map(tuple)
known_shapes = st.lists(st.none() | sizes, max_size=4).map(tuple)
any_shapes: st.SearchStrategy[shapes.Shape] = st.none() | known_shapes


def _full(shape: shapes.Shape, draw: Any) -> tuple[int, ...]:
    """Draw a full shape that matches `shape`."""
    if shape is None:
        return draw(full_shapes)
    return tuple(draw(sizes) if size is None else size for size in shape)


@pytest.mark.e2e
@given(full_shapes, full_shapes)
def test_full_shapes_broadcast_as_in_numpy(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    try:
        expected = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(ValueError, match=r"Dimensions must be equal, but are \d and \d"):
            shapes.broadcast(a, b)
    else:
        assert shapes.broadcast(a, b) == expected


@pytest.mark.e2e
@given(any_shapes, any_shapes, st.data())
def test_a_broadcast_shape_matches_every_shape_that_a_step_can_have(
    a: shapes.Shape, b: shapes.Shape, data: Any
) -> None:
    x, y = _full(a, data.draw), _full(b, data.draw)
    try:
        real = np.broadcast_shapes(x, y)
    except ValueError:
        return
    assert shapes.is_compatible(shapes.broadcast(a, b), real)


@pytest.mark.e2e
@given(any_shapes, any_shapes)
def test_broadcast_and_merge_are_commutative(a: shapes.Shape, b: shapes.Shape) -> None:
    for rule in (shapes.broadcast, shapes.merge, shapes.most_general):
        assert _result(rule, a, b) == _result(rule, b, a)


def _result(rule: Any, *arguments: Any) -> Any:
    try:
        return rule(*arguments)
    except ValueError:
        return "refused"


@pytest.mark.e2e
@given(any_shapes, any_shapes, st.data())
def test_a_merged_shape_matches_exactly_the_shapes_that_match_both(
    a: shapes.Shape, b: shapes.Shape, data: Any
) -> None:
    real = _full(data.draw(st.sampled_from([a, b])), data.draw)
    fits_both = shapes.is_compatible(a, real) and shapes.is_compatible(b, real)
    if not shapes.is_compatible(a, b):
        with pytest.raises(ValueError, match=r"must be equal"):
            shapes.merge(a, b)
        assert not fits_both
    else:
        assert shapes.is_compatible(shapes.merge(a, b), real) == fits_both


@pytest.mark.e2e
@given(any_shapes, any_shapes, st.data())
def test_the_most_general_shape_matches_the_shapes_that_match_either(
    a: shapes.Shape, b: shapes.Shape, data: Any
) -> None:
    real = _full(data.draw(st.sampled_from([a, b])), data.draw)
    assert shapes.is_compatible(shapes.most_general(a, b), real)
    assert shapes.join([a, b]) == shapes.most_general(a, b)


@pytest.mark.e2e
@given(any_shapes)
def test_merging_a_shape_with_itself_or_with_none_returns_the_shape(a: shapes.Shape) -> None:
    assert shapes.merge(a, a) == shapes.merge(a, None) == shapes.most_general(a, a) == a


@given(full_shapes)
def test_elements_are_counted_as_in_numpy(shape: tuple[int, ...]) -> None:
    assert shapes.num_elements(shape) == np.zeros(shape).size
    assert shapes.is_fully_defined(shape)


@pytest.mark.e2e
@given(any_shapes)
def test_a_tensor_shape_survives_conversions(shape: shapes.Shape) -> None:
    outer = tensor_shape.TensorShape(shape)
    assert outer.internal == shape
    assert tensor_shape.TensorShape(outer.as_proto()).internal == shape
    assert pickle.loads(pickle.dumps(outer)) == outer
    assert outer == shape
    assert hash(outer) == hash(tensor_shape.TensorShape(outer))
    assert outer.ndims == shapes.rank(shape)
    assert outer.num_elements() == shapes.num_elements(shape)
    assert bool(outer) == (shape is not None)
    if shape is not None:
        assert outer.as_list() == list(shape)
        assert [dimension.value for dimension in outer] == list(shape)
        assert len(outer) == len(shape)


@pytest.mark.e2e
@given(any_shapes, any_shapes)
def test_tensor_shapes_concatenate(a: shapes.Shape, b: shapes.Shape) -> None:
    both = tensor_shape.TensorShape(a).concatenate(b)
    assert both.internal == (None if a is None or b is None else a + b)


@pytest.mark.parametrize(
    "a, b, message",
    [
        (
            (2,),
            (3,),
            "Dimension 0 in both shapes must be equal, but are 2 and 3. Shapes are [2] and [3].",
        ),
        ((2, 3), (2,), "Shapes must be equal rank, but are 2 and 1"),
    ],
)
def test_the_error_for_incompatible_shapes_names_both(a: Any, b: Any, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        shapes.merge(a, b)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "rule, shape, count, message",
    [
        (shapes.with_rank, (1, 2), 1, "Shape must be rank 1 but is rank 2"),
        (shapes.with_rank_at_least, (1,), 2, "Shape must be at least rank 2 but is rank 1"),
        (shapes.with_rank_at_most, (1, 2), 1, "Shape must be at most rank 1 but is rank 2"),
    ],
)
def test_a_wrong_rank_raises_tensorflows_message(
    rule: Any, shape: Any, count: int, message: str
) -> None:
    with pytest.raises(ValueError) as caught:
        rule(shape, count)
    assert str(caught.value) == message
    assert shapes.is_compatible(rule(None, 3), (1, 2, 3))


def test_with_rank_gives_an_unknown_shape_a_rank() -> None:
    assert shapes.with_rank(None, 2) == (None, None)
    assert shapes.with_rank_at_least(None, 2) is None


@pytest.mark.parametrize("axis, count, index", [(0, 1, 0), (-1, 3, 2), (-3, 3, 0), (2, 3, 2)])
def test_axes_are_counted_from_both_ends(axis: int, count: int, index: int) -> None:
    assert shapes.axis_index(axis, count) == index


@pytest.mark.parametrize("axis, count", [(1, 1), (-2, 1), (0, 0), (-1, 0)])
def test_an_axis_out_of_range_is_an_error(axis: int, count: int) -> None:
    with pytest.raises(ValueError, match=rf"Dimension {axis} must be in the range \[-?{count}, "):
        shapes.axis_index(axis, count)


@pytest.mark.parametrize(
    "dims, text, long",
    [
        (None, "<unknown>", "TensorShape(None)"),
        ([], "()", "TensorShape([])"),
        ([None], "(?,)", "TensorShape([Dimension(None)])"),
        ([None, 2], "(?, 2)", "TensorShape([Dimension(None), Dimension(2)])"),
        (3, "(3,)", "TensorShape([Dimension(3)])"),
    ],
)
def test_a_tensor_shape_prints_as_in_tensorflow_1(dims: Any, text: str, long: str) -> None:
    assert (str(tensor_shape.TensorShape(dims)), repr(tensor_shape.TensorShape(dims))) == (
        text,
        long,
    )


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: tensor_shape.TensorShape([2]).merge_with([3]),
            "Shapes (2,) and (3,) are not compatible",
        ),
        (
            lambda: tensor_shape.TensorShape([2]).assert_is_compatible_with([3]),
            "Shapes (2,) and (3,) are incompatible",
        ),
        (lambda: tensor_shape.TensorShape([2]).with_rank(2), "Shape (2,) must have rank 2"),
        (
            lambda: tensor_shape.TensorShape([2]).with_rank_at_least(2),
            "Shape (2,) must have rank at least 2",
        ),
        (
            lambda: tensor_shape.TensorShape([2]).with_rank_at_most(0),
            "Shape (2,) must have rank at most 0",
        ),
        (
            lambda: tensor_shape.TensorShape([2]).assert_same_rank([2, 3]),
            "Shapes (2,) and (2, 3) must have the same rank",
        ),
        (
            lambda: tensor_shape.TensorShape([None]).assert_is_fully_defined(),
            "Shape (?,) is not fully defined",
        ),
        (
            lambda: tensor_shape.TensorShape(None).as_list(),
            "as_list() is not defined on an unknown TensorShape.",
        ),
        (
            lambda: len(tensor_shape.TensorShape(None)),
            "Cannot take the length of Shape with unknown rank.",
        ),
        (
            lambda: list(tensor_shape.TensorShape(None)),
            "Cannot iterate over a shape with unknown rank.",
        ),
        (lambda: tensor_shape.TensorShape([-1]), "Dimension -1 must be >= 0"),
        (lambda: dimension.Dimension(2).merge_with(3), "Dimensions 2 and 3 are not compatible"),
        (lambda: dimension.Dimension(2.5), "Ambiguous dimension: 2.5"),
    ],
)
def test_tensor_shapes_raise_tensorflows_messages(call: Any, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        call()
    assert str(caught.value) == message


@pytest.mark.parametrize("given_", ["ab", b"2", [[2]], ["2x"], object()])
def test_a_value_that_is_not_a_shape_is_refused(given_: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        tensor_shape.TensorShape(given_)


def test_an_index_returns_a_dimension_and_a_slice_a_shape() -> None:
    shape = tensor_shape.TensorShape([2, None, 4])
    assert shape[0].value == 2
    assert shape[1].value is None
    assert shape[1:] == [None, 4]
    assert shape[-1] == 4
    unknown = tensor_shape.TensorShape(None)
    assert unknown[3].value is None
    assert unknown[1:].internal is None
    assert unknown[1:3].internal == (None, None)
    with pytest.raises(IndexError):
        shape[3]


dimensions = st.none() | sizes


@given(dimensions, dimensions)
def test_arithmetic_with_an_unknown_dimension_returns_an_unknown_dimension(
    a: int | None, b: int | None
) -> None:
    x, y = dimension.Dimension(a), dimension.Dimension(b)
    known = a is not None and b is not None
    assert (x + y).value == (a + b if known else None)  # type: ignore[operator]
    assert (x * b).value == (a * b if known else None)  # type: ignore[operator]
    assert (a + y).value == (a + b if known else None)  # type: ignore[operator]
    assert (x == y) is ((a == b) if known else None)
    assert (x != b) is ((a != b) if known else None)
    assert (x < y) is ((a < b) if known else None)  # type: ignore[operator]
    assert x.is_compatible_with(y) == (not known or a == b)


def test_a_known_dimension_behaves_as_an_integer() -> None:
    two = dimension.Dimension(2)
    assert int(two) == 2
    assert list(range(5))[two] == 2
    assert (5 - two, 5 * two, two // 2, two % 2) == (3, 10, 1, 0)
    assert str(two) == "2"
    assert str(dimension.Dimension(None)) == "?"
    assert hash(two) == hash(dimension.Dimension(two))
    assert two != "two"
    with pytest.raises(TypeError):
        int(dimension.Dimension(None))
