"""Variables start from a checkpoint with another vocabulary as in TensorFlow."""

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
    folder = tmp_path_factory.mktemp("warm")
    for name, words in {
        "old": "mercury venus mars moon",
        "new": "venus jupiter mercury pluto",
        "old_classes": "good better best",
        "new_classes": "good best fantastic",
        "twice": "mercury mercury",
    }.items():
        (folder / name).write_text("\n".join(words.split()) + "\n")
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("v", initializer=ROWS)
        tf.get_variable("v/Momentum", initializer=-ROWS, trainable=False)
        tf.get_variable("b", initializer=ROWS[0])
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(folder / "model"))
    return folder


def counted(v1: Any) -> Any:
    """Return an initializer of the numbers 100, 101 and so on."""

    def make(shape: Any) -> Any:
        count = v1.reduce_prod(shape)
        return v1.cast(v1.reshape(v1.range(100, 100 + count), shape), v1.float32)

    return make


def outcome(v1: Any, folder: pathlib.Path, case: dict[str, Any]) -> Any:
    """Return the values of the variables, or the name and the text of the error."""
    options = dict(case)
    sizes, parts = options.pop("shape", [4, 3]), options.pop("parts", 1)
    info = options.pop("info", None)
    if info is not None:
        info = {key: str(folder / x) if "vocab" in key and isinstance(x, str) else x
                for key, x in info.items()}  # fmt: skip
        if info.pop("counted", True):
            info["backup_initializer"] = counted(v1)
        options["var_name_to_vocab_info"] = {"v": v1.train.VocabInfo(**info)}
    with v1.Graph().as_default(), v1.Session() as session:
        cut = v1.fixed_size_partitioner(parts) if parts > 1 else None
        kinds = {"initializer": v1.zeros_initializer(), "use_resource": options.pop("res", False)}
        v = v1.get_variable("v", sizes, partitioner=cut, **kinds)
        slot = v1.get_variable("v/Momentum", [4, 3], trainable=False, **kinds)
        b = v1.get_variable("b", [3], **kinds)
        try:
            v1.train.warm_start(str(folder / "model"), **options)
            session.run(v1.global_variables_initializer())
        except (ValueError, v1.errors.OpError) as error:
            return type(error).__name__, getattr(error, "message", str(error))
        return [value.tolist() for value in session.run([v1.convert_to_tensor(v), slot, b])]


ROW = {"new_vocab": "new", "new_vocab_size": 4, "num_oov_buckets": 0, "old_vocab": "old"}
CLASSES = {
    "new_vocab": "new_classes",
    "new_vocab_size": 3,
    "num_oov_buckets": 0,
    "old_vocab": "old_classes",
    "axis": 1,
}
CASES: dict[str, dict[str, Any]] = {
    "all trainable variables": {},
    "a pattern": {"vars_to_warm_start": "b"},
    "patterns of global variables": {"vars_to_warm_start": ["v", "nothing"]},
    "parts": {"parts": 3},
    "another name": {"var_name_to_prev_var_name": {"v": "v/Momentum"}, "vars_to_warm_start": "v"},
    "an unused name": {"var_name_to_prev_var_name": {"w": "v"}},
    "rows": {"info": ROW},
    "rows of a resource variable": {"info": ROW, "res": True},
    "only vocabularies": {"info": ROW, "vars_to_warm_start": None},
    "zeros for new words": {"info": {**ROW, "counted": False}},
    "buckets": {"info": {**ROW, "num_oov_buckets": 2}, "shape": [6, 3]},
    "part of the old words": {"info": {**ROW, "old_vocab_size": 1}},
    "parts of rows and buckets": {
        "info": {**ROW, "num_oov_buckets": 3},
        "shape": [7, 3],
        "parts": 3,
    },
    "columns": {"info": CLASSES},
    "columns and buckets": {"info": {**CLASSES, "num_oov_buckets": 1}, "shape": [4, 4]},
    "columns of parts": {"info": CLASSES, "parts": 2},
    "too many old words": {"info": {**ROW, "old_vocab_size": 5}},
    "too many new words": {"info": {**ROW, "new_vocab_size": 5}, "shape": [5, 3]},
    "a word that occurs twice": {"info": {**ROW, "old_vocab": "twice"}},
    "no such file": {"info": {**ROW, "old_vocab": "nothing"}},
    "another number of columns": {"info": ROW, "shape": [4, 2]},
    "too many rows": {"info": ROW, "shape": [5, 3]},
    "too few classes": {"info": CLASSES, "shape": [4, 2]},
}


@pytest.mark.parametrize("case", CASES)
def test_variables_start_warm_as_in_tensorflow(v1: Any, folder: pathlib.Path, case: str) -> None:
    ours, theirs = (outcome(api, folder, CASES[case]) for api in (tf, v1))
    if isinstance(theirs, tuple):
        assert ours[0] == theirs[0]
        # Each library adds other words at the end.
        assert ours[1][:50] in theirs[1]
    else:
        assert ours == theirs


def test_wrong_arguments_are_refused(folder: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="supported values for the axis argument are 0 and 1"):
        tf.train.VocabInfo("new", 1, 0, "old", axis=2)
    with pytest.raises(ValueError, match="must be all `Variable` or all `str`"):
        tf.train.warm_start(str(folder / "model"), ["v", 3])
    with pytest.raises(ValueError, match="must be a `list` or `str`"):
        tf.train.warm_start(str(folder / "model"), 3)
