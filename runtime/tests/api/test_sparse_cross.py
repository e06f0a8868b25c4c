"""The arguments of `tf.sparse.cross` and `tf.sparse.cross_hashed` are checked."""

import pytest

import capstan as tf


@pytest.mark.parametrize("cross", [tf.sparse.cross, tf.sparse.cross_hashed])
def test_the_inputs_of_a_cross_are_a_list_of_tensors(cross: object) -> None:
    with tf.Graph().as_default():
        words = tf.constant([["a"]])
        with pytest.raises(TypeError, match="must be a list"):
            cross((words, words))
        with pytest.raises(TypeError, match="All inputs must be SparseTensors"):
            cross([words, [["b"]]])
