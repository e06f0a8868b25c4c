"""TensorFlow's own functions parse Examples into ragged, sparse and dense tensors on a task."""

from pathlib import Path
from typing import Any

import genuine
import numpy as np
import pytest

pytestmark = genuine.MARKS


def parts_of(tensors: list[Any]) -> list[Any]:
    """Return the dense tensors of which sparse and ragged tensors consist."""
    parts = []
    for tensor in tensors:
        if hasattr(tensor, "dense_shape"):
            parts += [tensor.indices, tensor.values, tensor.dense_shape]
        elif hasattr(tensor, "nested_row_splits"):
            parts += [*tensor.nested_row_splits, tensor.flat_values]
        else:
            parts.append(tensor)
    return parts


def values_of(v1: Any, target: str, build: Any) -> Any:
    """Return the value of each tensor that `build` makes, or the error."""
    with v1.Graph().as_default(), v1.Session(target) as session:
        parts = parts_of(build())
        try:
            found = [np.asarray(value) for value in session.run(parts)]
        except v1.errors.OpError as error:
            return type(error).__name__, error.message
        return [(value.dtype.name, value.shape, value.tolist()) for value in found]


def in_order(features: Any) -> list[Any]:
    """Return the tensors of dicts by their names."""
    return [tensors[key] for tensors in features for key in sorted(tensors)]


def feature(v1: Any, *values: Any) -> Any:
    train = v1.train
    if not values:
        return train.Feature()
    if isinstance(values[0], bytes):
        return train.Feature(bytes_list=train.BytesList(value=values))
    if isinstance(values[0], float):
        return train.Feature(float_list=train.FloatList(value=values))
    return train.Feature(int64_list=train.Int64List(value=values))


def examples(v1: Any) -> list[bytes]:
    """Return three Examples, of which the last is empty."""
    train = v1.train
    given: list[dict[str, tuple[Any, ...]]] = [
        {"a": (1, 2, 3), "b": (b"x",), "f": (0.5, 1.5), "rows": (2, 1), "place": (3, 1)},
        {"a": (4,), "b": (), "f": (2.5, 3.5), "rows": (1,), "place": (1,)},
        {},
    ]
    return [
        train.Example(
            features=train.Features(
                feature={key: feature(v1, *values) for key, values in each.items()}
            )
        ).SerializeToString()
        for each in given
    ]


def specs(v1: Any) -> dict[str, Any]:
    io = v1.io
    return {
        "a": io.RaggedFeature(v1.int64),
        "b": io.RaggedFeature(v1.string, row_splits_dtype=v1.int64),
        "c": io.VarLenFeature(v1.float32),
        "f": io.FixedLenFeature([2], v1.float32, [7.0, 8.0]),
        "g": io.FixedLenSequenceFeature([], v1.int64, allow_missing=True, default_value=9),
    }


def compare(v1: Any, tasks: genuine.Tasks, *builds: Any) -> list[Any]:
    found = []
    for number, build in enumerate(builds):
        expected, given = (values_of(v1, target, build) for target in ("", tasks.target()))
        assert given == expected, f"case {number}"
        found.append(given)
    return found


def test_examples_are_parsed_into_ragged_tensors(v1: Any, tasks: genuine.Tasks) -> None:
    given = examples(v1)
    ragged = v1.io.RaggedFeature
    deep = {"d": ragged(v1.int64, "a", [ragged.RowLengths("rows")])}

    compare(
        v1,
        tasks,
        lambda: in_order([v1.io.parse_example(given, specs(v1))]),
        lambda: in_order([v1.io.parse_example(given * 4, specs(v1))]),
        lambda: in_order([v1.io.parse_example(given, deep)]),
        lambda: in_order([v1.io.parse_single_example(given[0], specs(v1))]),
        lambda: in_order([v1.io.parse_single_example(given[2], specs(v1))]),
        lambda: in_order([v1.io.parse_single_example(given[0], deep)]),
        lambda: in_order(
            [v1.io.parse_example(v1.placeholder_with_default(given, [None]), specs(v1))]
        ),
        lambda: in_order([v1.io.parse_example(v1.constant([], v1.string), specs(v1))]),
    )


@pytest.mark.parametrize(
    "arguments, message",
    [
        (lambda v1: ([b"aa"], specs(v1)), "Could not parse example input"),
        (lambda v1: (examples(v1), {"a": v1.io.RaggedFeature(v1.string)}), "Name: <unknown>, Key"),
        (
            lambda v1: (
                examples(v1), {"f": v1.io.FixedLenFeature([2], v1.float32)}, None, ["x", "y", "z"]
            ),
            "Name: z, Feature: f (data type: float) is required but could not be found.",
        ),
    ],
)  # fmt: skip
def test_wrong_examples_are_refused(
    v1: Any, tasks: genuine.Tasks, arguments: Any, message: str
) -> None:
    for target in ("", tasks.target()):
        found = values_of(v1, target, lambda: in_order([v1.io.parse_example(*arguments(v1))]))
        assert found[0] == "InvalidArgumentError"
        assert message in found[1]


def sequences(v1: Any) -> list[bytes]:
    train = v1.train

    def made(context: dict[str, Any], lists: dict[str, Any]) -> bytes:
        serialized: bytes = train.SequenceExample(
            context=train.Features(feature=context),
            feature_lists=train.FeatureLists(
                feature_list={key: train.FeatureList(feature=each) for key, each in lists.items()}
            ),
        ).SerializeToString()
        return serialized

    return [
        made(
            {"n": feature(v1, 3), "t": feature(v1, b"p", b"q")},
            {
                "a": [feature(v1, 1, 2), feature(v1, 3, 4)],
                "b": [feature(v1), feature(v1, 5), feature(v1, 6, 7)],
            },
        ),
        made({"n": feature(v1, 4)}, {"a": [feature(v1, 8, 9)], "b": [feature(v1, 1)]}),
        made({}, {}),
    ]


def test_sequences_are_parsed_into_ragged_tensors(v1: Any, tasks: genuine.Tasks) -> None:
    given, io = sequences(v1), v1.io

    def parsed(parse: Any, serialized: Any) -> list[Any]:
        context = {
            "n": io.FixedLenFeature([1], v1.int64, [-1]),
            "m": io.RaggedFeature(v1.int64),
            "t": io.RaggedFeature(v1.string, row_splits_dtype=v1.int64),
            "s": io.VarLenFeature(v1.string),
        }
        lists = {
            "a": io.FixedLenSequenceFeature([2], v1.int64, allow_missing=True),
            "b": io.RaggedFeature(v1.int64),
            "c": io.VarLenFeature(v1.float32),
            "d": io.RaggedFeature(v1.float32, row_splits_dtype=v1.int64),
        }
        return in_order(parse(serialized, context, lists))

    compare(
        v1,
        tasks,
        lambda: parsed(io.parse_sequence_example, given),
        lambda: parsed(io.parse_sequence_example, given[2:]),
        lambda: parsed(io.parse_single_sequence_example, given[0]),
        lambda: parsed(io.parse_single_sequence_example, given[2]),
    )


def elements(v1: Any, target: str, build: Any) -> list[Any]:
    """Return the tensors of the first three elements of a dataset."""
    with v1.Graph().as_default(), v1.device("/job:worker/task:0" if target else ""):
        parts = parts_of(in_order([v1.data.make_one_shot_iterator(build()).get_next()]))
        with v1.Session(target) as session:
            found = [[np.asarray(value) for value in session.run(parts)] for _ in range(3)]
    return [[(value.dtype.name, value.tolist()) for value in values] for values in found]


@pytest.mark.parametrize("calls", [1, 3])
def test_datasets_of_examples_are_parsed(
    tf: Any, v1: Any, tasks: genuine.Tasks, tmp_path: Path, calls: int
) -> None:
    given = examples(v1)[:2]
    name = str(tmp_path / "examples")
    with v1.python_io.TFRecordWriter(name) as writer:
        for text in given * 3:
            writer.write(text)

    def parsed() -> Any:
        wanted = {**specs(v1), "places": v1.io.SparseFeature("place", "rows", v1.int64, 5)}
        parse = v1.data.experimental.parse_example_dataset(wanted, calls)
        return v1.data.Dataset.from_tensor_slices(given * 3).batch(2).apply(parse)

    def read() -> Any:
        wanted = {"a": v1.io.VarLenFeature(v1.int64), "f": v1.io.FixedLenFeature([2], v1.float32)}
        return v1.data.experimental.make_batched_features_dataset(
            name, 2, wanted, reader=v1.data.TFRecordDataset, shuffle=False, parser_num_threads=calls
        )

    for build in (parsed, read):
        assert elements(v1, tasks.target(), build) == elements(v1, "", build)


@pytest.mark.parametrize("op", ["ExperimentalParseExampleDataset", "ParseExampleDataset"])
def test_the_old_dataset_of_examples_is_parsed(
    tf: Any, v1: Any, tasks: genuine.Tasks, op: str
) -> None:
    def build() -> Any:
        source = v1.data.Dataset.from_tensor_slices(examples(v1)).batch(2)
        handle = getattr(tf.raw_ops, op)(
            input_dataset=source._variant_tensor,
            num_parallel_calls=1,
            dense_defaults=[v1.constant([5.0, 6.0])],
            sparse_keys=[],
            dense_keys=["f"],
            sparse_types=[],
            dense_shapes=[[2]],
            output_types=[v1.float32],
            output_shapes=[[None, 2]],
        )
        spec = {"f": tf.TensorSpec([None, 2], v1.float32)}
        return tf.data.experimental.from_variant(handle, spec).repeat()

    assert elements(v1, tasks.target(), build) == elements(v1, "", build)
