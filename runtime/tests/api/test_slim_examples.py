"""The decoder of slim makes items of the features of Examples."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

slim = tf.contrib.slim
decoder = slim.tfexample_decoder


def example(**features: Any) -> bytes:
    """Return an Example. Texts are bytes, and lists of floats or integers are numbers."""

    def feature(value: Any) -> Any:
        values = value if isinstance(value, list) else [value]
        if isinstance(values[0], bytes):
            return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
        if isinstance(values[0], float):
            return tf.train.Feature(float_list=tf.train.FloatList(value=values))
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))

    named = {name.replace("__", "/"): feature(value) for name, value in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=named)).SerializeToString()


def decoded(serialized: bytes, features: Any, handler: Any) -> Any:
    """Return the value of the item of one handler."""
    (item,) = decoder.TFExampleDecoder(features, {"item": handler}).decode(tf.constant(serialized))
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        return session.run(item)


FLOATS, INTS = tf.VarLenFeature(tf.float32), tf.VarLenFeature(tf.int64)
NUMBERS = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


@pytest.mark.parametrize(
    ("features", "options", "expected"),
    [
        ({"x": FLOATS}, {}, NUMBERS),
        ({"x": tf.FixedLenFeature([2, 3], tf.float32)}, {}, [NUMBERS[:3], NUMBERS[3:]]),
        ({"x": FLOATS}, {"shape": [3, 2]}, [NUMBERS[:2], NUMBERS[2:4], NUMBERS[4:]]),
        ({"x": tf.FixedLenFeature([6], tf.float32)}, {"shape": (1, 6)}, [NUMBERS]),
        ({"x": FLOATS, "size": INTS}, {"shape_keys": "size"}, [NUMBERS[:3], NUMBERS[3:]]),
        (
            {"x": FLOATS, "h": tf.FixedLenFeature([1], tf.int64), "w": INTS},
            {"shape_keys": ["h", "w"]},
            [NUMBERS],
        ),
        ({"missing": FLOATS}, {"tensor_key": "missing"}, []),
    ],
)
def test_a_tensor_has_its_own_shape_or_a_given_one(
    features: Any, options: Any, expected: Any
) -> None:
    handler = decoder.Tensor(**{"tensor_key": "x", **options})
    found = decoded(example(x=NUMBERS, size=[2, 3], h=1, w=[6]), features, handler)
    np.testing.assert_array_equal(found, np.array(expected, np.float32), strict=True)


def test_a_tensor_has_one_shape() -> None:
    with pytest.raises(ValueError, match="Cannot specify both shape_keys and shape"):
        decoder.Tensor("x", shape_keys="size", shape=[1])


def test_boxes_are_rows_of_four_sides() -> None:
    serialized = example(
        box__ymin=[0.1, 0.2], box__xmin=[0.3, 0.4], box__ymax=[0.5, 0.6], box__xmax=[0.7, 0.8]
    )
    features = {f"box/{side}": FLOATS for side in ("ymin", "xmin", "ymax")}
    features["box/xmax"] = tf.FixedLenFeature([2], tf.float32)
    found = decoded(serialized, features, decoder.BoundingBox(prefix="box/"))
    expected = np.array([[0.1, 0.3, 0.5, 0.7], [0.2, 0.4, 0.6, 0.8]], np.float32)
    np.testing.assert_array_equal(found, expected, strict=True)
    with pytest.raises(ValueError, match="BoundingBox expects 4 keys but got 2"):
        decoder.BoundingBox(["a", "b"])


def test_a_sparse_tensor_has_the_given_places() -> None:
    serialized = example(indices=[1, 4], values=[7.0, 8.0], shape=[6])
    features = {"indices": INTS, "values": FLOATS, "shape": INTS}
    found = decoded(serialized, features, decoder.SparseTensor(shape=[5]))
    np.testing.assert_array_equal(found.indices, [[1], [4]])
    np.testing.assert_array_equal(found.values, np.array([7, 8], np.float32), strict=True)
    np.testing.assert_array_equal(found.dense_shape, [5])
    dense = decoder.SparseTensor(shape_key="shape", densify=True, default_value=-1)
    np.testing.assert_array_equal(decoded(serialized, features, dense), [-1, 7, -1, -1, 8, -1])
    assert decoder.SparseTensor("i", "v", "s").keys == ["i", "v", "s"]


def test_labels_are_looked_up_in_a_table() -> None:
    keys, numbers = tf.constant(["cat", "dog"]), tf.constant([3, 5], tf.int64)
    table = tf.contrib.lookup.HashTable(
        tf.contrib.lookup.KeyValueTensorInitializer(keys, numbers), -1
    )
    features = {"label": tf.VarLenFeature(tf.string)}
    handler = decoder.LookupTensor("label", table)
    found = decoded(example(label=[b"dog", b"cow", b"cat"]), features, handler)
    np.testing.assert_array_equal(found, np.array([5, -1, 3]), strict=True)


@pytest.mark.parametrize(("stored", "expected"), [([1], [1]), (None, [9, 8])])
def test_a_backup_stands_in_for_an_item_without_elements(stored: Any, expected: Any) -> None:
    serialized = example(other=[9, 8], **({"first": stored} if stored else {}))
    handler = decoder.BackupHandler(decoder.Tensor("first"), decoder.Tensor("other"))
    assert handler.keys == ["first", "other"]
    found = decoded(serialized, {"first": INTS, "other": INTS}, handler)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("handlers", [("x", decoder.Tensor("x")), (decoder.Tensor("x"), 3)])
def test_a_backup_needs_two_handlers(handlers: Any) -> None:
    with pytest.raises(ValueError, match="instead of ItemHandler"):
        decoder.BackupHandler(*handlers)


def test_a_function_makes_an_item() -> None:
    handler = decoder.ItemHandlerCallback(["a", "b"], lambda found: found["a"] * 10 + found["b"])
    number = tf.FixedLenFeature([], tf.int64)
    assert decoded(example(a=4, b=2), {"a": number, "b": number}, handler) == 42


TEXT = tf.FixedLenFeature([], tf.string)
PIXELS = np.random.RandomState(2).randint(0, 256, (3, 4, 3)).astype(np.uint8)


def encoded(kind: str, pixels: Any = PIXELS) -> bytes:
    encode = tf.image.encode_jpeg if kind == "jpeg" else tf.image.encode_png
    with tf.Session() as session:
        return bytes(session.run(encode(pixels)))


@pytest.mark.parametrize("options", [{}, {"shape": [3, 4, 3]}, {"dtype": tf.float32}], ids=str)
def test_an_image_is_decoded_by_its_content(options: Any) -> None:
    features = {"image/encoded": TEXT, "image/format": TEXT}
    serialized = example(image__encoded=encoded("png"), image__format=b"png")
    found = decoded(serialized, features, decoder.Image(**options))
    dtype = options.get("dtype", tf.uint8).as_numpy_dtype
    np.testing.assert_array_equal(found, PIXELS.astype(dtype), strict=True)


def test_a_jpeg_image_has_the_channels_that_are_asked_for() -> None:
    content = encoded("jpeg")
    features = {"data": TEXT, "kind": TEXT}
    handler = decoder.Image("data", "kind", channels=1, dct_method="INTEGER_ACCURATE")
    found = decoded(example(data=content, kind=b"jpeg"), features, handler)
    with tf.Session() as session:
        expected = session.run(tf.image.decode_jpeg(content, channels=1))
    np.testing.assert_array_equal(found, expected, strict=True)


def test_a_raw_image_holds_its_elements() -> None:
    features = {"image/encoded": TEXT, "image/format": TEXT}
    serialized = example(image__encoded=PIXELS.tobytes(), image__format=b"RAW")
    found = decoded(serialized, features, decoder.Image(shape=PIXELS.shape))
    np.testing.assert_array_equal(found, PIXELS, strict=True)


def test_a_feature_may_hold_several_images() -> None:
    contents = [encoded("png"), encoded("png", PIXELS[::-1])]
    features = {"image/encoded": tf.FixedLenFeature([2], tf.string), "image/format": TEXT}
    serialized = example(image__encoded=contents, image__format=b"png")
    found = decoded(serialized, features, decoder.Image(repeated=True))
    np.testing.assert_array_equal(found, [PIXELS, PIXELS[::-1]], strict=True)


def test_the_static_shape_of_an_image_is_known_but_for_its_size() -> None:
    features = {"image/encoded": TEXT, "image/format": TEXT}
    reader = decoder.TFExampleDecoder(
        features, {"image": decoder.Image(), "fixed": decoder.Image(shape=[3, 4, 3])}
    )
    assert reader.list_items() == ["image", "fixed"]
    fixed, image = reader.decode(tf.placeholder(tf.string, []), ["fixed", "image"])
    assert image.shape.as_list() == [None, None, 3]
    assert fixed.shape.as_list() == [3, 4, 3]
