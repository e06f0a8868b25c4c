"""The datasets that TensorFlow's own client makes run on Capstan's tasks."""

import sqlite3
from pathlib import Path
from typing import Any

import genuine
import numpy as np
import oracle_newer_datasets as programs
import pytest

import capstan

pytestmark = genuine.MARKS

MOST = 30


def elements(tf: Any, program: programs.Program, folder: Path, target: str = "") -> list[Any]:
    """Return the elements of two passes over a dataset, and the errors at their ends."""
    v1, found = tf.compat.v1, []
    with v1.Graph().as_default(), v1.device("/job:worker/task:0" if target else ""):
        iterator = v1.data.make_initializable_iterator(program(tf, folder))
        element = iterator.get_next()
        with v1.Session(target) as session:
            for _ in range(2):
                try:
                    session.run(iterator.initializer)
                    for _ in range(MOST):
                        parts = tf.nest.flatten(session.run(element))
                        found.append([(np.asarray(each).dtype.kind, str(each)) for each in parts])
                except v1.errors.OutOfRangeError:
                    found.append("end")
                except v1.errors.OpError as error:
                    found.append((type(error).__name__, error.message))
    return found


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_a_dataset_of_tensorflows_client_has_the_same_elements(
    tf: Any, tasks: genuine.Tasks, tmp_path: Path, name: str
) -> None:
    folders = [tmp_path / each for each in ("theirs", "ours")]
    for folder in folders:
        folder.mkdir()
    expected = elements(tf, programs.PROGRAMS[name], folders[0])
    assert elements(tf, programs.PROGRAMS[name], folders[1], tasks.target()) == expected
    assert expected[0] != "end"


WRONG: dict[str, tuple[programs.Program, str]] = {
    "too many": (
        lambda tf, _: programs.numbers(tf, 5).apply(tf.data.experimental.assert_cardinality(3)),
        "was expected to contain 3 elements but contained at least 4 elements",
    ),
    "too few": (
        lambda tf, _: programs.numbers(tf, 1).apply(tf.data.experimental.assert_cardinality(3)),
        "was expected to contain 3 elements but contained only 1 element",
    ),
    "fields": (
        lambda tf, folder: tf.compat.v1.data.experimental.CsvDataset(
            [_written(folder, "a,b\n")], [tf.string]
        ),
        "Expect 1 fields but have",
    ),
    "a number": (
        lambda tf, folder: tf.compat.v1.data.experimental.CsvDataset(
            [_written(folder, "a\n")], [tf.int32]
        ),
        "Field 0 in record is not a valid int32: a",
    ),
    "no value": (
        lambda tf, folder: tf.compat.v1.data.experimental.CsvDataset(
            [_written(folder, ",1\n")], [tf.string, tf.int32]
        ),
        "Field 0 is required but missing in record!",
    ),
    "no table": (
        lambda tf, folder: tf.compat.v1.data.experimental.SqlDataset(
            "sqlite", _written(folder, ""), "select * from absent", (tf.int32,)
        ),
        "no such table: absent",
    ),
    "another database": (
        lambda tf, _: tf.compat.v1.data.experimental.SqlDataset("sqlit", "", "", (tf.int32,)),
        "The database type, sqlit, is not supported",
    ),
}


def _written(folder: Path, content: str) -> str:
    (folder / "file").write_text(content)
    return str(folder / "file")


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_dataset_is_refused(
    tf: Any, tasks: genuine.Tasks, tmp_path: Path, name: str
) -> None:
    program, message = WRONG[name]
    found = []
    for target in ("", tasks.target()):
        error = elements(tf, program, tmp_path, target)[-1]
        found.append(error[0])
        assert message in error[1]
    assert found[0] == found[1]


def test_a_saved_dataset_is_loaded(tf: Any, v1: Any, tasks: genuine.Tasks, tmp_path: Path) -> None:
    folder = str(tmp_path / "saved")
    with v1.Graph().as_default(), v1.device("/job:worker/task:0"):
        saved = programs.numbers(tf, 5).map(lambda x: (x, tf.as_string(x))).save(folder)
        spec = (tf.TensorSpec([], tf.int64), tf.TensorSpec([], tf.string))
        iterator = v1.data.make_initializable_iterator(v1.data.Dataset.load(folder, spec))
        element = iterator.get_next()
        with v1.Session(tasks.target()) as session:
            with pytest.raises(v1.errors.NotFoundError, match="holds no dataset"):
                session.run(iterator.initializer)
            session.run(saved)
            session.run(iterator.initializer)
            assert [session.run(element) for _ in range(5)] == [
                (number, str(number).encode()) for number in range(5)
            ]


def test_a_table_gets_the_elements_of_a_dataset(tf: Any, v1: Any, tasks: genuine.Tasks) -> None:
    with v1.Graph().as_default(), v1.device("/job:worker/task:0"):
        pairs = v1.data.Dataset.from_tensor_slices((["a", "b"], np.int64([5, 6])))
        table = tf.data.experimental.table_from_dataset(pairs, default_value=np.int64(-1))
        found = table.lookup(v1.constant(["b", "c", "a"]))
        with v1.Session(tasks.target()) as session:
            session.run(v1.tables_initializer())
            assert session.run(found).tolist() == [6, -1, 5]


def _places(tf: Any, folder: Path) -> Any:
    name = str(folder / "records")
    with tf.compat.v1.python_io.TFRecordWriter(name) as writer:
        writer.write(b"first")
        writer.write(b"second")
    records = tf.raw_ops.TFRecordDatasetV2(
        filenames=[name, name], compression_type="", buffer_size=0, byte_offsets=[21, 0]
    )
    return programs.made(tf, records, tf.string)


@pytest.mark.parametrize(
    "program, expected",
    [
        (programs.generators, [list("01234")] * 3),
        (programs.parallel, [["10", "30", "11", "31", "50", "70", "51", "71"]]),
        (lambda tf, folder: programs.old_csv(tf, "CSVDataset", folder), [["1", "2"]]),
        (lambda tf, folder: programs.old_csv(tf, "ExperimentalCSVDataset", folder), [["1", "2"]]),
        # numbers, doubled and below 9: 0 2 4 6 8; each after ten times the sum of those before it
        (programs.older, [["[0 2]", "[24 66]", "[128]"]]),
        (_places, [["b'second'", "b'first'", "b'second'"]]),
    ],
)
def test_a_dataset_runs_that_sessions_of_tensorflow_2_cannot_run(
    tf: Any,
    tasks: genuine.Tasks,
    tmp_path: Path,
    program: programs.Program,
    expected: list[list[str]],
) -> None:
    found = elements(tf, program, tmp_path, tasks.target())
    passes = [found[: found.index("end")], found[found.index("end") + 1 : -1]]
    for rows in passes:
        columns = [[value for _, value in column] for column in zip(*rows, strict=True)]
        if program is programs.generators:
            columns = [sorted(column) for column in columns]
        assert columns == expected


def test_a_dataset_is_saved_as_it_is_read(
    tf: Any, v1: Any, tasks: genuine.Tasks, tmp_path: Path
) -> None:
    @tf.function
    def shard(x: Any) -> Any:
        return tf.constant(0, tf.int64)

    def build(tf: Any, folder: Path) -> Any:
        return programs.single(
            tf, "SaveDatasetV2", programs.numbers(tf, 3), path=str(folder),
            shard_func_other_args=[],
            shard_func=shard.get_concrete_function(tf.TensorSpec([], tf.int64)),
        )  # fmt: skip

    assert len(elements(tf, build, tmp_path / "saved", tasks.target())) == 8
    loaded = elements(
        tf,
        lambda tf, folder: v1.data.Dataset.load(str(folder), tf.TensorSpec([], tf.int64)),
        tmp_path / "saved",
        tasks.target(),
    )
    assert [each[0][1] for each in loaded[:3]] == ["0", "1", "2"]


@pytest.mark.parametrize("version", ["", "V2", "V3"])
def test_an_iterator_without_a_name_begins_in_each_step(
    tf: Any, v1: Any, tasks: genuine.Tasks, version: str
) -> None:
    """A function of TensorFlow 2 makes such an iterator, and deletes it."""
    raw, types = tf.raw_ops, {"output_types": [tf.int64], "output_shapes": [[]]}
    with v1.Graph().as_default(), v1.device("/job:worker/task:0"):
        made = getattr(raw, f"AnonymousIterator{version}")(**types)
        handle = made[0] if version == "V2" else made
        source = programs.numbers(tf, 3)._variant_tensor
        values: list[Any] = []
        for _ in range(2):
            after = values or [raw.MakeIterator(dataset=source, iterator=handle)]
            with v1.control_dependencies(after):
                values.append(raw.IteratorGetNext(iterator=handle, **types)[0])
        fetches = list(values)
        if version == "V2":
            with v1.control_dependencies(values):
                ends = raw.DeleteIterator(handle=handle, deleter=made[1])
            with v1.control_dependencies([ends]):
                fetches = [v1.identity(value) for value in values]
        with v1.Session(tasks.target()) as session:
            assert [session.run(fetches) for _ in range(2)] == [[0, 1]] * 2


def test_a_query_may_not_write(tmp_path: Path) -> None:
    """Statements such as ATTACH write other files even if the database is only read."""
    name, copy = str(tmp_path / "rows"), tmp_path / "copy"
    with sqlite3.connect(name) as connection:
        connection.execute("create table t (x text)")
        connection.executemany("insert into t values (?)", [("12abc",), ("1_0",), ("inf",)])
    for query in (f"vacuum into '{copy}'", f"attach database '{copy}' as other"):
        rows = capstan.data.experimental.SqlDataset("sqlite", name, query, (capstan.int64,))
        with capstan.Session() as session, pytest.raises(capstan.errors.UnknownError):
            session.run(rows.make_one_shot_iterator().get_next())
    assert not copy.exists()
    types = (capstan.int64, capstan.float64, capstan.bool)
    rows = capstan.data.experimental.SqlDataset("sqlite", name, "select x, x, x from t", types)
    element = rows.make_one_shot_iterator().get_next()
    with capstan.Session() as session:
        found = [session.run(element) for _ in range(3)]
    assert found == [(12, 12.0, True), (1, 1.0, True), (0, 0.0, False)]
