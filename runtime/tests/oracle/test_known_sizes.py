"""A shape that is known in part gives the static shapes that TensorFlow gives."""

from typing import Any

import genuine
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import capstan
from capstan.framework import known_sizes

pytestmark = genuine.MARKS

PROGRAMS = {
    "reshape": lambda tf, x, n: tf.reshape(x, [n, 35]),
    "reshape by the shape of another": lambda tf, x, n: tf.reshape(x, [tf.shape(x)[0], 35]),
    "reshape with -1": lambda tf, x, n: tf.reshape(x, [tf.shape(x)[0], -1]),
    "reshape of known size": lambda tf, x, n: tf.reshape(tf.zeros([6, 4]), [n, 4]),
    "reshape of no elements": lambda tf, x, n: tf.reshape(tf.zeros([0, 4]), [n, 0]),
    "slice of a shape": lambda tf, x, n: tf.ones(tf.shape(x)[1:]),
    "last of a shape": lambda tf, x, n: tf.ones([n, tf.shape(x)[-1]]),
    "joined": lambda tf, x, n: tf.zeros(tf.concat([tf.shape(x)[:2], [8, n]], 0)),
    "joined with an unknown vector": lambda tf, x, n: tf.zeros(
        tf.concat([tf.placeholder(tf.int32, [2]), [8]], 0)
    ),
    "unstacked": lambda tf, x, n: tf.zeros(tf.unstack(tf.shape(x))),
    "cast": lambda tf, x, n: tf.fill(tf.cast(tf.stack([n, 3]), tf.int64), 1.0),
    "scalar of unknown rank": lambda tf, x, n: tf.zeros([tf.placeholder(tf.int32), 37]),
    "sparse transpose": lambda tf, x, n: tf.sparse_transpose(
        tf.SparseTensor([[0, 0]], [1.0], [3, 4])
    ),
    "sparse transpose by an order": lambda tf, x, n: tf.sparse_transpose(
        tf.SparseTensor([[0, 0, 0]], [1.0], [3, 4, 5]), [1, 2, 0]
    ),
    "sparse reshape": lambda tf, x, n: tf.sparse_reshape(
        tf.SparseTensor([[0, 0]], [1.0], [3, 4]), [2, -1]
    ),
    "eye of numbers of unknown rank": lambda tf, x, n: tf.eye(
        tf.placeholder(tf.int32), tf.placeholder(tf.int32), [4, 2]
    ),
    "convolution of unknown images": lambda tf, x, n: tf.nn.convolution(
        tf.placeholder(tf.float32), tf.zeros([3, 3, 3, 2]), "SAME"
    ),
    "random": lambda tf, x, n: tf.random_uniform([n, 3]),
    "broadcast": lambda tf, x, n: tf.broadcast_to(tf.zeros([3]), [n, 3]),
    "tiled": lambda tf, x, n: tf.tile(x, [1, tf.shape(x)[1], n]),
    "sliced": lambda tf, x, n: tf.slice(x, [0, 1, 0], [tf.shape(x)[0], 2, 7]),
    "sliced without a rank": lambda tf, x, n: tf.slice(
        tf.placeholder(tf.float32), [4, 5], tf.placeholder(tf.int32)
    ),
    "sliced without any rank": lambda tf, x, n: tf.slice(
        tf.placeholder(tf.float32), tf.placeholder(tf.int32), tf.placeholder(tf.int32)
    ),
    "padded": lambda tf, x, n: tf.pad(x, [[0, 0], [0, n], [1, 2]]),
    "padded in part": lambda tf, x, n: tf.pad(
        x, [[0, 0], tf.placeholder(tf.int32, [None]), [1, 2]]
    ),
    "segments": lambda tf, x, n: tf.sparse_segment_sum(x[0], [0], [0], num_segments=4),
    "range": lambda tf, x, n: tf.range(tf.shape(x)[1]),
    "one hot": lambda tf, x, n: tf.one_hot(tf.placeholder(tf.int64, [None]), tf.shape(x)[1]),
    "mask": lambda tf, x, n: tf.sequence_mask(tf.placeholder(tf.int32, [None]), tf.shape(x)[2]),
    "mask of known lengths": lambda tf, x, n: tf.sequence_mask([1, 3]),
    "sliced at an unknown index": lambda tf, x, n: x[n, ::-2],
    "identity matrices": lambda tf, x, n: tf.eye(2, batch_shape=(2, 3)),
    "quotients": lambda tf, x, n: tf.zeros([tf.constant(7) // 2, tf.constant(7) % 4]),
    "a large size": lambda tf, x, n: tf.random_normal(tf.TensorShape([2**33, 1])),
    "a large size in a list": lambda tf, x, n: tf.random_normal([2**33, 1]),
    "many zeros": lambda tf, x, n: tf.zeros([2**33, 1]),
    "sizes counted": lambda tf, x, n: tf.zeros(
        [tf.reduce_sum([1, 2]), tf.reduce_prod([2, 4]), tf.reduce_max([1, 3]), tf.reduce_min([5])]
    ),
    "sparse joined": lambda tf, x, n: tf.sparse_concat(
        -1, [tf.SparseTensor([[0, 0]], [1], [2, size]) for size in (2, 3)]
    ),
    "squares of unknown images": lambda tf, x, n: tf.batch_to_space(
        tf.placeholder(tf.float32), tf.placeholder(tf.int32), 4
    ),
    "cropped": lambda tf, x, n: tf.image.resize_image_with_crop_or_pad(
        tf.placeholder(tf.float32, [30, 20, 3]), 24, 24
    ),
    "several shapes": lambda tf, x, n: tf.zeros(tf.shape_n([x, tf.zeros([2])])[0]),
}


def static_shape(module: Any, program: Any) -> Any:
    with module.Graph().as_default():
        x = module.placeholder(module.float32, [None, 5, 7])
        shape = program(module, x, module.placeholder(module.int32, [])).shape
        return None if shape.ndims is None else shape.as_list()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_shape_known_in_part_gives_the_static_shape_of_tensorflow(v1: Any, name: str) -> None:
    expected = static_shape(v1, PROGRAMS[name])
    assert static_shape(capstan, PROGRAMS[name]) == expected


bounds = st.none() | st.integers(-4, 4)
vectors = st.recursive(
    st.sampled_from(["shape", "constant", "packed"]),
    lambda inner: st.one_of(
        st.tuples(st.just("joined"), inner, inner),
        st.tuples(st.just("sliced"), inner, bounds, bounds, st.sampled_from([1, 2, -1, -2])),
        st.tuples(st.sampled_from(["int64", "uint8", "int8", "identity", "unstacked"]), inner),
    ),
    max_leaves=4,
)


def built(module: Any, made: Any, x: Any, n: Any) -> Any:
    """Return the vector that a drawn description tells."""
    if made == "shape":
        return module.shape(x)
    if made == "constant":
        return module.constant([3, 258])
    if made == "packed":
        return module.stack([n, 2])
    kind, *parts = made
    inner = built(module, parts[0], x, n)
    if kind == "joined":
        return module.concat([inner, built(module, parts[1], x, n)], 0)
    if kind == "sliced":
        return inner[slice(*parts[1:])]
    if kind == "identity":
        return module.identity(inner)
    if kind == "unstacked":
        return module.stack(module.unstack(inner) or [1])
    return module.cast(module.cast(inner, getattr(module, kind)), module.int32)


@given(vectors)
def test_the_known_sizes_of_a_shape_are_those_of_the_step(made: Any) -> None:
    """TensorFlow knows wrong sizes of a shape that is sliced backwards."""
    with capstan.Graph().as_default(), capstan.Session() as session:
        x = capstan.placeholder(capstan.float32, [None, 2, 3])
        n = capstan.placeholder(capstan.int32, [])
        vector = built(capstan, made, x, n)
        values, shape = session.run(
            [vector, capstan.shape(capstan.fill(vector[:2], 1.0))],
            {x: np.zeros((1, 2, 3)), n: 2},
        )
        known = capstan.fill(vector, 1.0).shape.as_list()
    assert len(known) == len(values)
    assert all(one in (None, two) for one, two in zip(known, values, strict=True))
    assert list(shape) == list(values[:2])


@pytest.mark.parametrize(
    "made",
    [
        "shape",
        ("sliced", "shape", 1, None, 1),
        ("sliced", ("joined", "packed", "shape"), 1, 4, 2),
        ("joined", ("int64", "packed"), ("sliced", "shape", None, -1, 1)),
    ],
)
def test_a_shape_is_known_as_far_as_in_tensorflow(v1: Any, made: Any) -> None:
    def program(module: Any, x: Any, n: Any) -> Any:
        return module.zeros(built(module, made, x, n))

    assert static_shape(capstan, program) == static_shape(v1, program)


@pytest.mark.parametrize("kind, size", [("uint8", 44), ("int8", 44), ("int16", 300)])
def test_a_size_that_is_cast_to_fewer_bits_is_that_of_the_step(kind: str, size: int) -> None:
    with capstan.Graph().as_default():
        x = capstan.placeholder(capstan.float32, [300, None])
        narrow = capstan.cast(capstan.shape(x)[0], getattr(capstan, kind))
        filled = capstan.fill([capstan.cast(narrow, capstan.int32), 2], 0.0)
        assert filled.shape.as_list() == [size, 2]


@pytest.mark.parametrize(
    "join", [lambda v: capstan.concat([v, v], 0), lambda v: capstan.stack([v, v])]
)
def test_the_elements_of_many_joined_vectors_are_not_followed(
    join: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with capstan.Graph().as_default():
        vector = capstan.shape(capstan.placeholder(capstan.float32, [None, 5]))
        for _ in range(9):
            vector = join(vector)
        calls: list[Any] = []
        of = known_sizes.of

        def counted(tensor: Any, *depth: int) -> Any:
            calls.append(tensor)
            return of(tensor, *depth)

        monkeypatch.setattr(known_sizes, "of", counted)
        assert capstan.fill(capstan.reshape(vector, [-1])[:2], 0.0).shape.as_list() == [None, None]
    assert len(calls) < 100


def test_gathered_sizes_are_known_although_tensorflow_does_not_know_them(v1: Any) -> None:
    def program(tf: Any, x: Any, _: Any) -> Any:
        return tf.zeros(tf.gather(tf.shape(x), [2, 1]))

    assert static_shape(v1, program) == [None, None]
    assert static_shape(capstan, program) == [7, 5]
