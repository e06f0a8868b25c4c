"""The datasets that TensorFlow's own client makes run on Capstan's tasks."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import genuine
import numpy as np
import pytest

pytestmark = genuine.MARKS

Program = Callable[[Any, Path], Any]
"""Takes TensorFlow and an empty folder, and returns a dataset."""

MOST = 30


def _numbers(tf: Any, count: int) -> Any:
    return tf.compat.v1.data.Dataset.range(count)


def _made(tf: Any, handle: Any, dtype: Any = None, shape: Any = ()) -> Any:
    """Return the dataset of an operation whose elements have one component."""
    spec = tf.TensorSpec(shape, dtype or tf.int64)
    return tf.data.experimental.from_variant(handle, spec)


def _single(tf: Any, op: str, source: Any, shape: Any = (), **inputs: Any) -> Any:
    """Return the dataset of an operation that reads a dataset of numbers."""
    make = getattr(tf.raw_ops, op)
    types = {"output_types": [tf.int64], "output_shapes": [tf.TensorShape(shape)]}
    return _made(tf, make(input_dataset=source._variant_tensor, **inputs, **types), None, shape)


def _seeds(tf: Any, _: Path) -> Any:
    """The functions of TensorFlow 2 make these operations."""
    source, dummy = _numbers(tf, 7), tf.raw_ops.DummySeedGenerator()
    shuffled = _single(
        tf, "ShuffleDatasetV3", source, buffer_size=3, seed=4, seed2=5, seed_generator=dummy,
        reshuffle_each_iteration=True,
    ).repeat(2)  # fmt: skip
    once = _single(
        tf, "ShuffleDatasetV3", source, buffer_size=3, seed=4, seed2=5, seed_generator=dummy,
        reshuffle_each_iteration=False,
    ).repeat(2)  # fmt: skip
    kept = _single(
        tf, "CacheDatasetV2", source, filename="", cache=tf.raw_ops.DummyMemoryCache()
    ).repeat(2)
    random = [
        tf.data.Dataset.random(seed=6, rerandomize_each_iteration=changes).take(3).repeat(5)
        for changes in (True, False)
    ]
    return tf.data.Dataset.zip((shuffled, once, kept, *random))


def _epochs(tf: Any, _: Path) -> Any:
    """TensorFlow 2 has another order in the later epochs than TensorFlow 1."""
    shuffled = _single(
        tf, "ShuffleAndRepeatDatasetV2", _numbers(tf, 5), buffer_size=3, seed=4, seed2=5, count=3,
        seed_generator=tf.raw_ops.DummySeedGenerator(), reshuffle_each_iteration=True,
    )  # fmt: skip
    return shuffled.batch(5).map(tf.sort)


def _generators(tf: Any, _: Path) -> Any:
    """The functions of TensorFlow 1 make these operations where its version 2 is switched on."""
    raw = tf.raw_ops
    random, _deleter = raw.AnonymousRandomSeedGenerator(seed=3, seed2=4)
    seeds, _deleter = raw.AnonymousSeedGenerator(seed=5, seed2=6, reshuffle=False)
    memory, _deleter = raw.AnonymousMemoryCache()
    found = []
    for op, inputs in (
        ("ShuffleDatasetV2", {"buffer_size": 3, "seed_generator": random}),
        ("ShuffleDatasetV3", {"buffer_size": 3, "seed": 0, "seed2": 0, "seed_generator": seeds}),
        ("CacheDatasetV2", {"filename": "", "cache": memory}),
    ):
        found.append(_single(tf, op, _numbers(tf, 5), **inputs))
    return tf.data.Dataset.zip(tuple(found))


def _slices(tf: Any, _: Path) -> Any:
    tensor = tf.SparseTensor([[0, 1], [0, 2], [2, 0]], [5.0, 6.0, 7.0], [4, 3])
    rows = tf.compat.v1.data.Dataset.from_sparse_tensor_slices(tensor)
    return rows.map(lambda indices, values, shape: (indices, values, shape))


def _files(tf: Any, folder: Path) -> Any:
    for name in "bca":
        (folder / f"{name}.txt").write_text(name)
    matching = tf.raw_ops.MatchingFilesDataset(patterns=[str(folder / "[ab].txt")])
    older = tf.raw_ops.ExperimentalMatchingFilesDataset(patterns=str(folder / "c.txt"))
    names = _made(tf, matching, tf.string).concatenate(_made(tf, older, tf.string))
    return names.map(lambda name: tf.strings.substr(name, -5, 5))


CSV = 'n,x,y\n"a,b",1,2.5\n"c\nd ""e""",3,NA\n,-7,1e3\n'


def _csv(tf: Any, folder: Path) -> Any:
    (folder / "a.csv").write_text(CSV)
    (folder / "b.csv").write_bytes(b"n,x,y\r\nz,4,5\r\n")
    v1 = tf.compat.v1
    names = [str(folder / "a.csv"), str(folder / "b.csv")]
    table = v1.data.experimental.CsvDataset(
        names, [["none"], tf.int32, [0.5]], header=True, na_value="NA"
    )
    some = v1.data.experimental.CsvDataset(
        names, [["none"], tf.float64], header=True, select_cols=[0, 1]
    )
    others = tf.data.experimental.CsvDataset(
        names, [["none"], tf.int64], header=True, exclude_cols=[2]
    )
    return v1.data.Dataset.zip((table, some, others))


def _old_csv(tf: Any, op: str, folder: Path) -> Any:
    (folder / "a.csv").write_text("n,x\na,1\nb,2\n")
    handle = getattr(tf.raw_ops, op)(
        filenames=str(folder / "a.csv"), compression_type="", buffer_size=0, header=True,
        field_delim=",",
        use_quote_delim=True, na_value="", select_cols=np.int64([1]), record_defaults=[[0]],
        output_shapes=[[]],
    )  # fmt: skip
    return _made(tf, handle, tf.int32)


def _table(tf: Any, folder: Path) -> Any:
    (folder / "a.csv").write_text('n,x\n"a\nb",1\nc,2\n')
    return tf.compat.v1.data.experimental.make_csv_dataset(
        str(folder / "a.csv"), 2, label_name="x", shuffle=False, num_epochs=2
    )


def _sql(tf: Any, folder: Path) -> Any:
    name = str(folder / "rows.sqlite")
    with sqlite3.connect(name) as connection:
        connection.execute("create table t (id integer, name text, x real, small integer)")
        connection.executemany(
            "insert into t values (?, ?, ?, ?)",
            [(1, "ä", 1.5, 300), (2, None, 2, 0), (None, "12", None, -1)],
        )
    connection.close()
    query = "select id, name, x, small, small, name from t order by id"
    types = (tf.int32, tf.string, tf.float64, tf.uint8, tf.bool, tf.int64)
    table = tf.compat.v1.data.experimental.SqlDataset("sqlite", name, query, types)
    older = tf.raw_ops.ExperimentalSqlDataset(
        driver_name="sqlite", data_source_name=name, query="select id from t order by id",
        output_types=[tf.int64], output_shapes=[[]],
    )  # fmt: skip
    return tf.data.Dataset.zip((table, _made(tf, older)))


def _tuned(tf: Any, _: Path) -> Any:
    options = tf.data.Options()
    options.threading.private_threadpool_size = 2
    options.threading.max_intra_op_parallelism = 1
    source = _numbers(tf, 3).with_options(options)
    for prefix in ("", "Experimental"):
        pool = getattr(tf.raw_ops, f"{prefix}ThreadPoolHandle")(num_threads=2, display_name="pool")
        for op, inputs in (
            ("MaxIntraOpParallelism", {"max_intra_op_parallelism": 1}),
            ("PrivateThreadPool", {"num_threads": 2}),
            ("ThreadPool", {"thread_pool": pool}),
            ("NonSerializable", {}),
            ("Sleep", {"sleep_microseconds": 1}),
            ("LatencyStats", {"tag": "a"}),
            ("BytesProducedStats", {"tag": "b"}),
        ):
            source = _single(tf, f"{prefix}{op}Dataset", source, **inputs)
        choose = getattr(tf.raw_ops, f"{prefix}ChooseFastestDataset")
        fastest = choose(
            input_datasets=[source._variant_tensor] * 2, num_experiments=1,
            output_types=[tf.int64], output_shapes=[[]],
        )  # fmt: skip
        source = _made(tf, fastest)
    empty = tf.constant([], tf.string)
    names = ("enabled", "disabled", "default")
    lists = {f"optimizations_{name}": empty for name in names}
    source = _single(tf, "OptimizeDatasetV2", source, **lists)
    wrapped = tf.raw_ops.WrapDatasetVariant(input_handle=source._variant_tensor)
    return _made(tf, tf.raw_ops.UnwrapDatasetVariant(input_handle=wrapped))


def _parallel(tf: Any, _: Path) -> Any:
    @tf.function
    def is_odd(x: Any) -> Any:
        return x % 2 > 0

    @tf.function
    def repeated(x: Any) -> Any:
        return _numbers(tf, 2).map(lambda y: x * 10 + y)._variant_tensor

    odd, several = (
        function.get_concrete_function(tf.TensorSpec([], tf.int64))
        for function in (is_odd, repeated)
    )
    source = _single(
        tf, "ParallelFilterDataset", _numbers(tf, 9), predicate=odd, other_arguments=[],
        num_parallel_calls=2, deterministic="true",
    )  # fmt: skip
    return _single(
        tf, "ParallelInterleaveDatasetV3", source, f=several, other_arguments=[], cycle_length=2,
        block_length=1, num_parallel_calls=2, deterministic="true",
    )  # fmt: skip


def _older(tf: Any, _: Path) -> Any:
    """The functions of TensorFlow 1.13 make these operations."""

    def function(body: Any, *types: Any) -> Any:
        specs = [
            each if isinstance(each, tf.TensorSpec) else tf.TensorSpec([], each) for each in types
        ]
        return tf.function(body).get_concrete_function(*specs)

    number = tf.int64
    double = function(lambda x: x * 2, number)
    add = function(lambda state, x: (state + x, state * 10 + x), number, number)
    small = function(lambda x: x < 9, number)
    key = function(lambda x: x % 2, number)
    size = function(lambda key: tf.constant(2, number), number)
    group = function(
        lambda key, window: tf.raw_ops.BatchDatasetV2(
            input_dataset=window, batch_size=2, drop_remainder=False,
            output_types=[number], output_shapes=[[None]],
        ),
        number, tf.variant,
    )  # fmt: skip
    nothing: dict[str, Any] = {"other_arguments": []}
    source = _single(tf, "ExperimentalMapDataset", _numbers(tf, 8), f=double, **nothing)
    source = _single(tf, "ExperimentalTakeWhileDataset", source, predicate=small, **nothing)
    source = _single(
        tf, "ExperimentalScanDataset", source, initial_state=[np.int64(0)], f=add, **nothing
    )
    return _single(
        tf, "ExperimentalGroupByWindowDataset", source, [None], key_func=key, reduce_func=group,
        window_size_func=size, key_func_other_arguments=[], reduce_func_other_arguments=[],
        window_size_func_other_arguments=[],
    )  # fmt: skip


def _sliding(tf: Any, _: Path) -> Any:
    windows = {"window_size": 3, "window_shift": 2, "window_stride": 2}
    every, full = (
        _single(tf, op, _numbers(tf, 9), [None], **windows, **options)
        for op, options in (
            ("SlidingWindowDataset", {"drop_remainder": False}),
            ("ExperimentalSlidingWindowDataset", {}),
        )
    )
    return every.concatenate(full)


def _stored(tf: Any, folder: Path) -> Any:
    snapshot = _numbers(tf, 4).snapshot(str(folder / "snapshot"))
    older = _single(tf, "SnapshotDataset", _numbers(tf, 4), path=str(folder / "older"))
    return tf.data.Dataset.zip((snapshot.map(lambda x: x + 1).repeat(2), older.concatenate(older)))


PROGRAMS: dict[str, Program] = {
    "seeds": _seeds,
    "epochs": _epochs,
    "other batches": lambda tf, _: _numbers(tf, 11).batch(4).rebatch([3, 1, 2]),
    "other full batches": lambda tf, _: (
        _numbers(tf, 11).batch(4).map(lambda x: (x, -x)).rebatch(3, drop_remainder=True)
    ),
    "parts of batches": lambda tf, _: tf.data.Dataset.zip(
        tuple(
            _single(tf, op, _numbers(tf, 6).batch(4), [None], num_replicas=3)
            for op in ("RebatchDataset", "ExperimentalRebatchDataset")
        )
    ),
    "sliding windows": _sliding,
    "rows of a sparse tensor": _slices,
    "lists": lambda tf, _: tf.data.experimental.from_list([(1, "a"), (2, "b")]).repeat(2),
    "counted": lambda tf, _: _numbers(tf, 3).apply(tf.data.experimental.assert_cardinality(3)),
    "files": _files,
    "tables": _csv,
    "batches of tables": _table,
    "rows of a query": _sql,
    "tuned": _tuned,
    "copied": lambda tf, _: (
        _numbers(tf, 4)
        .apply(tf.data.experimental.copy_to_device("/cpu:0"))
        .apply(tf.data.experimental.prefetch_to_device("/cpu:0"))
    ),
    "snapshots": _stored,
}  # fmt: skip


def elements(tf: Any, program: Program, folder: Path, target: str = "") -> list[Any]:
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


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_dataset_of_tensorflows_client_has_the_same_elements(
    tf: Any, tasks: genuine.Tasks, tmp_path: Path, name: str
) -> None:
    folders = [tmp_path / each for each in ("theirs", "ours")]
    for folder in folders:
        folder.mkdir()
    expected = elements(tf, PROGRAMS[name], folders[0])
    assert elements(tf, PROGRAMS[name], folders[1], tasks.target()) == expected
    assert expected[0] != "end"


WRONG: dict[str, tuple[Program, str]] = {
    "too many": (
        lambda tf, _: _numbers(tf, 5).apply(tf.data.experimental.assert_cardinality(3)),
        "was expected to contain 3 elements but contained at least 4 elements",
    ),
    "too few": (
        lambda tf, _: _numbers(tf, 1).apply(tf.data.experimental.assert_cardinality(3)),
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
        saved = _numbers(tf, 5).map(lambda x: (x, tf.as_string(x))).save(folder)
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
    return _made(tf, records, tf.string)


@pytest.mark.parametrize(
    "program, expected",
    [
        (_generators, [list("01234")] * 3),
        (_parallel, [["10", "30", "11", "31", "50", "70", "51", "71"]]),
        (lambda tf, folder: _old_csv(tf, "CSVDataset", folder), [["1", "2"]]),
        (lambda tf, folder: _old_csv(tf, "ExperimentalCSVDataset", folder), [["1", "2"]]),
        # numbers, doubled and below 9: 0 2 4 6 8; each after ten times the sum of those before it
        (_older, [["[0 2]", "[24 66]", "[128]"]]),
        (_places, [["b'second'", "b'first'", "b'second'"]]),
    ],
)
def test_a_dataset_runs_that_sessions_of_tensorflow_2_cannot_run(
    tf: Any, tasks: genuine.Tasks, tmp_path: Path, program: Program, expected: list[list[str]]
) -> None:
    found = elements(tf, program, tmp_path, tasks.target())
    passes = [found[: found.index("end")], found[found.index("end") + 1 : -1]]
    for rows in passes:
        columns = [[value for _, value in column] for column in zip(*rows, strict=True)]
        if program is _generators:
            columns = [sorted(column) for column in columns]
        assert columns == expected


def test_a_dataset_is_saved_as_it_is_read(
    tf: Any, v1: Any, tasks: genuine.Tasks, tmp_path: Path
) -> None:
    @tf.function
    def shard(x: Any) -> Any:
        return tf.constant(0, tf.int64)

    def build(tf: Any, folder: Path) -> Any:
        return _single(
            tf, "SaveDatasetV2", _numbers(tf, 3), path=str(folder), shard_func_other_args=[],
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
        source = _numbers(tf, 3)._variant_tensor
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
