"""Initializers load matrices for new vocabularies of rows and columns as in TensorFlow."""

import importlib
import pathlib
from typing import Any

import genuine
import numpy as np
import pytest

import capstan as tf

pytestmark = genuine.MARKS

ROWS = np.arange(12, dtype=np.float32).reshape(4, 3) + 0.5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder of vocabularies with a checkpoint."""
    folder = tmp_path_factory.mktemp("remapped")
    for name, words in {
        "old": "mercury venus mars moon",
        "new": "venus jupiter mercury",
        "old_classes": "good better best",
        "new_classes": "good best fantastic",
    }.items():
        (folder / name).write_text("\n".join(words.split()) + "\n")
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("v", initializer=ROWS)
        tf.get_variable("b", initializer=ROWS[:, :1])
        tf.get_variable("whole", initializer=np.ones([4, 3], np.int32))
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(folder / "model"))
    return folder


BOTH = {
    "new_row_vocab_size": 3,
    "new_col_vocab_size": 3,
    "old_row_vocab_file": "old",
    "new_row_vocab_file": "new",
    "old_col_vocab_file": "old_classes",
    "new_col_vocab_file": "new_classes",
}
BUCKETS = {**BOTH, "num_row_oov_buckets": 2, "num_col_oov_buckets": 1}
COLUMNS = {
    "new_row_vocab_size": 2,
    "new_col_vocab_size": 3,
    "old_col_vocab_file": "old_classes",
    "new_col_vocab_file": "new_classes",
}
CASES: dict[str, dict[str, Any]] = {
    "rows and columns": {"given": BOTH, "shape": [3, 3]},
    "buckets": {"given": BUCKETS, "shape": [5, 4]},
    "parts": {"given": BUCKETS, "shape": [5, 4], "parts": 3},
    "a part of buckets only": {
        "given": {**BUCKETS, "num_row_oov_buckets": 4}, "shape": [7, 4], "parts": 3
    },
    "the first rows": {"given": COLUMNS, "shape": [2, 3]},
    "few rows at once": {"given": {**BOTH, "max_rows_in_memory": 1}, "shape": [3, 3]},
    "the first old words": {"given": {**BOTH, "old_row_vocab_size": 1}, "shape": [3, 3]},
    "no initializer": {"given": {**BOTH, "initializer": None}, "shape": [3, 3]},
    "another tensor": {"given": {**BOTH, "old_tensor_name": "w"}, "shape": [3, 3]},
    "integers": {"given": {**BOTH, "old_tensor_name": "whole"}, "shape": [3, 3]},
    "a vector": {"given": BOTH, "shape": [3]},
    "too many rows": {"given": BOTH, "shape": [4, 3]},
    "too many columns": {"given": BOTH, "shape": [3, 4]},
    "no vocabularies": {
        "given": {"new_row_vocab_size": 4, "new_col_vocab_size": 3}, "shape": [4, 3]
    },
    "half a vocabulary": {"given": {**BOTH, "old_row_vocab_file": ""}, "shape": [3, 3]},
    "a negative number of buckets": {
        "given": {**BOTH, "num_col_oov_buckets": -1}, "shape": [3, 2]
    },
    "no function": {"given": {**BOTH, "initializer": 3}, "shape": [3, 3]},
    "another dtype": {"given": BOTH, "shape": [3, 3], "dtype": "float64"},
}  # fmt: skip


def counted(v1: Any) -> Any:
    """Return an initializer of the numbers 100, 101 and so on."""

    def make(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        count = v1.reduce_prod(shape)
        return v1.cast(v1.reshape(v1.range(100, 100 + count), shape), v1.float32)

    return make


def outcome(v1: Any, module: Any, folder: pathlib.Path, case: dict[str, Any]) -> Any:
    """Return the value of the variable, or the name and the text of the error."""
    given = {
        key: str(folder / value) if key.endswith("_file") and value else value
        for key, value in case["given"].items()
    }
    given = {"old_tensor_name": "v", "initializer": counted(v1), **given}
    cut = v1.fixed_size_partitioner(case["parts"]) if "parts" in case else None
    kind = case.get("dtype", "float32")
    with v1.Graph().as_default(), v1.Session() as session:
        try:
            load = module._load_and_remap_matrix_initializer(
                ckpt_path=str(folder / "model"), **given
            )
            v = v1.get_variable("v", case["shape"], kind, load, partitioner=cut)
            session.run(v1.global_variables_initializer())
        except (ValueError, TypeError, v1.errors.OpError) as error:
            return type(error).__name__, getattr(error, "message", str(error))
        return session.run(v1.convert_to_tensor(v)).tolist()


@pytest.mark.parametrize("case", CASES)
def test_matrices_are_loaded_as_in_tensorflow(v1: Any, folder: pathlib.Path, case: str) -> None:
    name = "python.training.checkpoint_ops"
    ours, theirs = (
        outcome(api, importlib.import_module(f"{package}.{name}"), folder, CASES[case])
        for api, package in ((tf, "capstan"), (v1, "tensorflow"))
    )
    if isinstance(theirs, tuple):
        assert ours[0] == theirs[0]
        assert ours[1][:29] in theirs[1]
    else:
        assert ours == theirs


def run(initial: Any, shape: list[int], parts: int = 1) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        cut = tf.fixed_size_partitioner(parts) if parts > 1 else None
        v = tf.get_variable("v", shape, initializer=initial, partitioner=cut)
        session.run(tf.global_variables_initializer())
        return session.run(tf.convert_to_tensor(v))


def test_embeddings_of_new_words_are_drawn(folder: pathlib.Path) -> None:
    load = tf.contrib.framework.load_embedding_initializer(
        str(folder / "model"), "v", 3, 3, str(folder / "old"), str(folder / "new"), -1, 1
    )
    found = run(load, [4, 3])
    np.testing.assert_array_equal(found[[0, 2]], ROWS[[1, 0]])
    assert np.all(found[[1, 3]])
    assert np.all(np.abs(found[[1, 3]]) < 2 / np.sqrt(3))


def test_biases_and_slots_of_classes_are_loaded(folder: pathlib.Path) -> None:
    framework = tf.contrib.framework
    names = {"ckpt_path": [str(folder / "model")], "initializer": counted(tf)}
    load = framework.load_linear_multiclass_bias_initializer(
        bias_tensor_name="b",
        new_class_vocab_size=3,
        old_class_vocab_file=str(folder / "old"),
        new_class_vocab_file=str(folder / "new"),
        num_class_oov_buckets=1,
        **names,
    )
    wanted = [[3.5], [100], [0.5], [100]]
    np.testing.assert_array_equal(run(load, [4, 1]), wanted)
    np.testing.assert_array_equal(run(load, [4, 1], 2), wanted)
    for offset in (0, 2):
        place = tf.python.ops.variable_scope._PartitionInfo([4, 1], [offset, 0])
        load = framework.load_variable_slot_initializer(
            old_tensor_name="b",
            primary_partition_info=place,
            new_row_vocab_size=3,
            new_col_vocab_size=1,
            old_row_vocab_file=str(folder / "old"),
            new_row_vocab_file=str(folder / "new"),
            num_row_oov_buckets=1,
            **names,
        )
        np.testing.assert_array_equal(run(load, [2, 1]), wanted[offset : offset + 2])
