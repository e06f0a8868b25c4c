"""Examples are written and parsed as in TensorFlow."""

from typing import Any

import genuine
import numpy as np
import pytest
from oracle_tables import compare, outcome

import capstan

pytestmark = genuine.MARKS


def example(v1: Any, **features: list[Any]) -> Any:
    """Return an Example. The type of the first value decides the kind of a feature."""
    train, kinds = v1.train, {}
    for name, values in features.items():
        kind = type(values[0]) if values else None
        if kind is float:
            kinds[name] = train.Feature(float_list=train.FloatList(value=values))
        elif kind is int:
            kinds[name] = train.Feature(int64_list=train.Int64List(value=values))
        elif kind is bytes:
            kinds[name] = train.Feature(bytes_list=train.BytesList(value=values))
        else:
            kinds[name] = train.Feature()
    return train.Example(features=train.Features(feature=kinds))


FIRST = example(capstan, f=[1.0, 2.0], i=[3], b=[b"x"], v=[1, 2, 3])
SECOND = example(capstan, f=[3.0, 4.0], i=[5], v=[])
SERIALIZED = [each.SerializeToString(deterministic=True) for each in (FIRST, SECOND)]


def test_messages_have_the_same_encoding(v1: Any) -> None:
    theirs = example(v1, f=[1.0, 2.0], i=[3], b=[b"x"], v=[1, 2, 3])
    assert theirs.SerializeToString(deterministic=True) == SERIALIZED[0]
    parsed = capstan.train.Example.FromString(theirs.SerializeToString())
    assert parsed == FIRST
    assert parsed.features.feature["i"].WhichOneof("kind") == "int64_list"
    lists = []
    for train in (v1.train, capstan.train):
        features = train.FeatureList(feature=[train.Feature(int64_list=train.Int64List(value=[7]))])
        lists.append(
            train.SequenceExample(
                context=train.Features(feature={}),
                feature_lists=train.FeatureLists(feature_list={"a": features}),
            ).SerializeToString(deterministic=True)
        )
    assert lists[0] == lists[1]


def features(v1: Any) -> list[dict[str, Any]]:
    fixed, sequence = v1.FixedLenFeature, v1.FixedLenSequenceFeature
    number, text = v1.int64, v1.string
    return [
        {
            "f": fixed([2], v1.float32),
            "i": fixed([], number),
            "b": fixed([], text, default_value="none"),
        },
        {"v": sequence([], number, allow_missing=True)},
        {"v": sequence([], number, allow_missing=True, default_value=7)},
        {"f": sequence([2, 1], v1.float32, allow_missing=True)},
        {"e": fixed([2], v1.float32, default_value=[1, 2])},
        {"i": fixed([], v1.float32)},
        {"e": fixed([], v1.float32)},
    ]


def test_features_are_the_same(v1: Any) -> None:
    def values(tensors: dict[str, Any]) -> list[Any]:
        return [tensors[key] for key in sorted(tensors)]

    count = len(features(v1))
    compare(
        v1,
        [
            *(
                lambda v1, at=at: values(v1.parse_example(SERIALIZED, features(v1)[at]))
                for at in range(count)
            ),
            *(
                lambda v1, at=at: values(v1.parse_single_example(SERIALIZED[0], features(v1)[at]))
                for at in range(count)
            ),
            lambda v1: values(
                v1.parse_example(SERIALIZED[:1], {"f": v1.FixedLenFeature([1], v1.float32)})
            ),
            lambda v1: values(
                v1.parse_single_example(SERIALIZED[0], features(v1)[0], example_names="name")
            ),
        ],
    )


# TensorFlow 2 has other words for these errors.
@pytest.mark.parametrize(
    "parse, message",
    [
        (lambda tf: tf.parse_example([b"\xff"], features(tf)[0]), "Could not parse example input"),
        (lambda tf: tf.parse_example(["x"], {}), "Missing: features was {}."),
        (lambda tf: tf.parse_single_example("x", {}), "Missing features."),
        (lambda tf: tf.parse_example(["x"], [features(tf)[0]]), "Features must be a dict from"),
        (lambda tf: tf.parse_example(["x"], {"a": 3}), "Invalid feature a:3."),
        (
            lambda tf: tf.parse_example(["x"], {"a": tf.FixedLenFeature([None], tf.int64)}),
            "First dimension of shape for feature a unknown.",
        ),
        (
            lambda tf: tf.parse_example(["x"], {"a": tf.FixedLenSequenceFeature([], tf.int64)}),
            "Unsupported: FixedLenSequenceFeature requires allow_missing to be True.",
        ),
        (
            lambda tf: tf.parse_single_example(
                SERIALIZED[0], {"f": tf.FixedLenFeature([1], tf.float32)}
            ),
            "Key: f.  Can't parse serialized Example.",
        ),
    ],
)
def test_wrong_features_are_refused(parse: Any, message: str) -> None:
    def values(tf: Any) -> list[Any]:
        return list(parse(tf).values())

    assert outcome(capstan, values)[1].startswith(message)


def test_features_of_any_length_are_sparse_tensors(v1: Any) -> None:
    def parts(v1: Any, parse: str, *arguments: Any) -> Any:
        spec = {"v": v1.VarLenFeature(v1.int64), "b": v1.VarLenFeature(v1.string)}
        spec["i"] = v1.FixedLenFeature([], v1.int64)
        found = getattr(v1, parse)(*arguments, spec)
        sparse = [found["v"], found["b"]]
        return [
            found["i"],
            *(each for t in sparse for each in (t.indices, t.values, t.dense_shape)),
        ]

    given = [SERIALIZED[0], example(capstan, i=[7], v=[4], b=[]).SerializeToString()]
    compare(
        v1,
        [
            lambda v1: parts(v1, "parse_example", given),
            lambda v1: parts(v1, "parse_example", given[1:]),
            lambda v1: parts(v1, "parse_single_example", given[0]),
            lambda v1: parts(v1, "parse_single_example", given[1]),
        ],
    )


def test_sparse_features_are_parsed_for_tensorflows_clients(tf: Any, tasks: Any) -> None:
    """TensorFlow's client sends the ops of a VarLenFeature to a task of Capstan."""
    v1 = tf.compat.v1
    given = [SERIALIZED[0], example(capstan, v=[4]).SerializeToString()]
    keys, types = ["v", "b"], [v1.int64, v1.string]
    found = []
    for target in ("", tasks.target()):
        with v1.Graph().as_default(), v1.Session(target) as session:
            batch = tf.raw_ops.ParseExample(
                serialized=given,
                names=v1.constant([], v1.string),
                sparse_keys=keys,
                dense_keys=[],
                dense_defaults=[],
                sparse_types=types,
                dense_shapes=[],
            )
            single = tf.raw_ops.ParseSingleExample(
                serialized=given[0],
                dense_defaults=[],
                num_sparse=2,
                sparse_keys=keys,
                dense_keys=[],
                sparse_types=types,
                dense_shapes=[],
            )
            found.append(session.run([*batch[:3], *single[:3]]))
    for theirs, ours in zip(*(tf.nest.flatten(each) for each in found), strict=True):
        np.testing.assert_array_equal(theirs, ours)


def sequence(v1: Any) -> bytes:
    """Return a SequenceExample with a context and two lists of features."""
    train = v1.train

    def number(*values: int) -> Any:
        return train.Feature(int64_list=train.Int64List(value=values))

    text = train.Feature(bytes_list=train.BytesList(value=[b"x", b"y"]))
    lists = {
        "a": [number(1, 2), number(3, 4)],
        "b": [number(), number(5), number(6, 7), train.Feature()],
    }
    made = train.SequenceExample(
        context=train.Features(feature={"length": number(3), "text": text}),
        feature_lists=train.FeatureLists(
            feature_list={
                key: train.FeatureList(feature=features) for key, features in lists.items()
            }
        ),
    )
    serialized: bytes = made.SerializeToString()
    return serialized


def parsed_sequence(v1: Any, context: Any, lists: Any) -> list[Any]:
    found = v1.io.parse_single_sequence_example(sequence(capstan), context, lists, "name")
    values = [tensors[key] for tensors in found for key in sorted(tensors)]
    return [
        part
        for value in values
        for part in (
            (value.indices, value.values, value.dense_shape)
            if hasattr(value, "dense_shape")
            else (value,)
        )
    ]


def rows(v1: Any, shape: list[int], *, allow_missing: bool = False) -> Any:
    return v1.FixedLenSequenceFeature(shape, v1.int64, allow_missing=allow_missing)


def test_sequences_are_parsed_in_the_same_way(v1: Any) -> None:
    def parsed(v1: Any) -> list[Any]:
        context = {
            "length": v1.FixedLenFeature([], v1.int64),
            "size": v1.FixedLenFeature([2], v1.float32, default_value=[1, 2]),
            "text": v1.VarLenFeature(v1.string),
            "none": v1.VarLenFeature(v1.int64),
        }
        lists = {
            "a": rows(v1, [2]),
            "b": v1.VarLenFeature(v1.int64),
            "c": rows(v1, [3], allow_missing=True),
            "d": v1.VarLenFeature(v1.string),
        }
        return parsed_sequence(v1, context, lists)

    compare(v1, [parsed])


@pytest.mark.parametrize(
    "context, lists, message",
    [
        ({"size": capstan.FixedLenFeature([], capstan.int64)}, None, "Name: name, Context feature"),
        ({"length": capstan.VarLenFeature(capstan.string)}, None, "Name: name, Context feature: l"),
        (None, {"c": rows(capstan, [])}, "Name: name, Feature list 'c' is required but could not"),
        (None, {"b": rows(capstan, [2])}, "Name: name, Key: b, Index: 0.  Number of int64 values"),
        (None, None, "Missing features."),
        ({"a": 3}, None, "Invalid feature a:3."),
        ([3], None, "Features must be a dict from names to features, not [3]."),
    ],
)
def test_wrong_features_of_sequences_are_refused(context: Any, lists: Any, message: str) -> None:
    # TensorFlow 2 has other words for these errors.
    found = outcome(capstan, lambda tf: parsed_sequence(tf, context, lists))
    assert found[1].startswith(message)


def sequences(v1: Any) -> list[bytes]:
    """Return three SequenceExamples, of which the last is empty."""
    train = v1.train
    number = train.Feature(int64_list=train.Int64List(value=[9, 8]))
    text = train.Feature(bytes_list=train.BytesList(value=[b"z"]))
    other = train.SequenceExample(
        context=train.Features(
            feature={"text": text, "length": train.Feature(int64_list=train.Int64List(value=[1]))}
        ),
        feature_lists=train.FeatureLists(
            feature_list={
                "a": train.FeatureList(feature=[number]),
                "b": train.FeatureList(feature=[number]),
            }
        ),
    )
    empty = train.SequenceExample()
    return [sequence(v1), other.SerializeToString(), empty.SerializeToString()]


def flat(found: Any) -> list[Any]:
    """Return the tensors of dicts, in order, with the parts of sparse ones."""
    return [
        part
        for tensors in found
        for key in sorted(tensors)
        for part in (
            [getattr(tensors[key], name) for name in ("indices", "values", "dense_shape")]
            if hasattr(tensors[key], "dense_shape")
            else [tensors[key]]
        )
    ]


def test_batches_of_sequences_are_parsed_in_the_same_way(v1: Any) -> None:
    def parsed(v1: Any, given: list[bytes]) -> list[Any]:
        context = {
            "length": v1.FixedLenFeature([], v1.int64, default_value=-1),
            "text": v1.VarLenFeature(v1.string),
        }
        lists = {
            "a": rows(v1, [2], allow_missing=True),
            "b": v1.VarLenFeature(v1.int64),
            "d": v1.VarLenFeature(v1.string),
        }
        return flat(v1.io.parse_sequence_example(given, context, lists))

    def only(v1: Any, *features: Any) -> list[Any]:
        return flat(v1.io.parse_sequence_example(sequences(capstan)[:2], *features))

    compare(
        v1,
        [
            lambda v1: parsed(v1, sequences(capstan)),
            lambda v1: parsed(v1, sequences(capstan)[:1]),
            lambda v1: only(v1, {"length": v1.FixedLenFeature([1], v1.int64)}),
            lambda v1: only(v1, None, {"a": rows(v1, [2])}),
        ],
    )


def test_batches_of_sequences_are_parsed_for_tensorflows_clients(tf: Any, tasks: Any) -> None:
    v1 = tf.compat.v1
    found = []
    for target in ("", tasks.target()):
        with v1.Graph().as_default(), v1.Session(target) as session:
            parsed = tf.raw_ops.ParseSequenceExample(
                serialized=sequences(capstan),
                debug_name=v1.constant([], v1.string),
                context_dense_defaults=[],
                feature_list_dense_missing_assumed_empty=["a"],
                context_sparse_keys=["text"],
                context_dense_keys=[],
                feature_list_sparse_keys=["b"],
                feature_list_dense_keys=["a"],
                Ncontext_sparse=1,
                Nfeature_list_sparse=1,
                Nfeature_list_dense=1,
                context_sparse_types=[v1.string],
                feature_list_dense_types=[v1.int64],
                feature_list_sparse_types=[v1.int64],
                feature_list_dense_shapes=[[2]],
            )
            found.append(session.run(tf.nest.flatten(list(parsed))))
    for theirs, ours in zip(*found, strict=True):
        np.testing.assert_array_equal(theirs, ours)


def test_places_and_values_make_sparse_tensors(v1: Any) -> None:
    given = [
        example(capstan, x=[1, 0], y=[3, 1], v=[0.5, 0.25]).SerializeToString(),
        example(capstan, x=[2], y=[0], v=[7.0]).SerializeToString(),
    ]

    def specs(v1: Any) -> list[Any]:
        flat, one = v1.SparseFeature("x", "v", v1.float32, 3), v1.VarLenFeature(v1.int64)
        box = v1.SparseFeature(["x", "y"], "v", v1.float32, [3, 4], already_sorted=True)
        return [{"s": flat}, {"s": flat, "x": one}, {"s": box, "t": flat}]

    def merged(v1: Any) -> Any:
        indices, shape = [[0, 0], [0, 1], [2, 0]], [3, 2]
        ids = v1.SparseTensor(indices, v1.constant([4, 1, 3]), shape)
        values = v1.SparseTensor(indices, [0.5, 1.5, 2.5], shape)
        return flat([{"merged": v1.sparse_merge(ids, values, 5)}])

    compare(
        v1,
        [
            *(lambda v1, at=at: flat([v1.parse_example(given, specs(v1)[at])]) for at in range(3)),
            *(
                lambda v1, at=at: flat([v1.parse_single_example(given[0], specs(v1)[at])])
                for at in range(3)
            ),
            merged,
        ],
    )


def test_types_that_no_feature_has_are_refused_when_the_graph_is_built(v1: Any) -> None:
    compare(
        v1,
        [
            lambda v1: v1.parse_single_example("", {"a": v1.FixedLenFeature([], v1.int32)}),
            lambda v1: v1.parse_single_example("", {"a": v1.FixedLenFeature([], v1.int32, 0)}),
            lambda v1: v1.parse_single_example("", {"a": v1.VarLenFeature(v1.bool)}),
            lambda v1: v1.parse_example([""], {"a": v1.FixedLenFeature([], v1.bool)}),
            lambda v1: v1.parse_example([""], {"a": v1.VarLenFeature(v1.int32)}),
            lambda v1: v1.parse_single_sequence_example("", {"a": v1.VarLenFeature(v1.int32)}),
            lambda v1: v1.parse_single_sequence_example(
                "", None, {"a": v1.FixedLenSequenceFeature([], v1.int32)}
            ),
            lambda v1: v1.decode_csv("1", [v1.constant([1], v1.int8)]),
        ],
    )
