"""`tf.TensorShape` and `tf.Dimension`: the methods that programs of TensorFlow 1 call."""

import operator
import pickle
from typing import Any

import numpy as np
import pytest

from capstan.core.tensor_shape import Dimension, TensorShape
from capstan.python.framework import tensor_shape


def test_shapes_are_made_added_and_compared_by_tensorflows_names() -> None:
    assert tensor_shape.scalar().as_list() == []
    assert tensor_shape.vector(None).as_list() == [None]
    assert tensor_shape.matrix(2, 3).rank == 2
    assert operator.add([1], tensor_shape.vector(2)).as_list() == [1, 2]
    assert operator.add(tensor_shape.vector(2), [None]).as_list() == [2, None]
    one, two = TensorShape([2, 3, None]), TensorShape([2, 4, None])
    assert one.most_specific_compatible_shape(two).as_list() == [2, None, None]
    for other in (None, [2, 3]):
        assert one.most_specific_compatible_shape(other).rank is None


def test_dimensions_divide_numbers_and_are_pickled() -> None:
    four = Dimension(4)
    assert (9 // four, 9 % four) == (Dimension(2), Dimension(1))
    assert (9 // Dimension(None)).value is None
    assert [pickle.loads(pickle.dumps(each)).value for each in (four, Dimension(None))] == [4, None]


def test_what_is_no_size_computes_with_a_dimension_by_its_own_rules() -> None:
    four = Dimension(4)
    assert [7] * four == four * [7] == [7, 7, 7, 7]
    assert list(four * np.array([1, 2])) == [4, 8]
    for value in ("x", 1.5):
        with pytest.raises(TypeError, match="unsupported operand"):
            four + value


@pytest.mark.parametrize("pair", [(Dimension(4), 2), (2, Dimension(4))])
def test_dimensions_are_divided_without_a_remainder_only(pair: tuple[Any, Any]) -> None:
    with pytest.raises(TypeError, match="please use // instead"):
        operator.truediv(*pair)
