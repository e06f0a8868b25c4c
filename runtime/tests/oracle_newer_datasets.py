"""Datasets that TensorFlow's own client makes, for the tests that run them on Capstan's tasks."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Program = Callable[[Any, Path], Any]
"""Takes TensorFlow and an empty folder, and returns a dataset."""


def numbers(tf: Any, count: int) -> Any:
    return tf.compat.v1.data.Dataset.range(count)


def made(tf: Any, handle: Any, dtype: Any = None, shape: Any = ()) -> Any:
    """Return the dataset of an operation whose elements have one component."""
    spec = tf.TensorSpec(shape, dtype or tf.int64)
    return tf.data.experimental.from_variant(handle, spec)


def single(tf: Any, op: str, source: Any, shape: Any = (), **inputs: Any) -> Any:
    """Return the dataset of an operation that reads a dataset of numbers."""
    make = getattr(tf.raw_ops, op)
    types = {"output_types": [tf.int64], "output_shapes": [tf.TensorShape(shape)]}
    return made(tf, make(input_dataset=source._variant_tensor, **inputs, **types), None, shape)


def _seeds(tf: Any, _: Path) -> Any:
    """The functions of TensorFlow 2 make these operations."""
    source, dummy = numbers(tf, 7), tf.raw_ops.DummySeedGenerator()
    shuffled = single(
        tf, "ShuffleDatasetV3", source, buffer_size=3, seed=4, seed2=5, seed_generator=dummy,
        reshuffle_each_iteration=True,
    ).repeat(2)  # fmt: skip
    once = single(
        tf, "ShuffleDatasetV3", source, buffer_size=3, seed=4, seed2=5, seed_generator=dummy,
        reshuffle_each_iteration=False,
    ).repeat(2)  # fmt: skip
    kept = single(
        tf, "CacheDatasetV2", source, filename="", cache=tf.raw_ops.DummyMemoryCache()
    ).repeat(2)
    random = [
        tf.data.Dataset.random(seed=6, rerandomize_each_iteration=changes).take(3).repeat(5)
        for changes in (True, False)
    ]
    return tf.data.Dataset.zip((shuffled, once, kept, *random))


def _epochs(tf: Any, _: Path) -> Any:
    """TensorFlow 2 has another order in the later epochs than TensorFlow 1."""
    shuffled = single(
        tf, "ShuffleAndRepeatDatasetV2", numbers(tf, 5), buffer_size=3, seed=4, seed2=5, count=3,
        seed_generator=tf.raw_ops.DummySeedGenerator(), reshuffle_each_iteration=True,
    )  # fmt: skip
    return shuffled.batch(5).map(tf.sort)


def generators(tf: Any, _: Path) -> Any:
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
        found.append(single(tf, op, numbers(tf, 5), **inputs))
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
    names = made(tf, matching, tf.string).concatenate(made(tf, older, tf.string))
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


def old_csv(tf: Any, op: str, folder: Path) -> Any:
    (folder / "a.csv").write_text("n,x\na,1\nb,2\n")
    handle = getattr(tf.raw_ops, op)(
        filenames=str(folder / "a.csv"), compression_type="", buffer_size=0, header=True,
        field_delim=",",
        use_quote_delim=True, na_value="", select_cols=np.int64([1]), record_defaults=[[0]],
        output_shapes=[[]],
    )  # fmt: skip
    return made(tf, handle, tf.int32)


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
    return tf.data.Dataset.zip((table, made(tf, older)))


def _tuned(tf: Any, _: Path) -> Any:
    options = tf.data.Options()
    options.threading.private_threadpool_size = 2
    options.threading.max_intra_op_parallelism = 1
    source = numbers(tf, 3).with_options(options)
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
            source = single(tf, f"{prefix}{op}Dataset", source, **inputs)
        choose = getattr(tf.raw_ops, f"{prefix}ChooseFastestDataset")
        fastest = choose(
            input_datasets=[source._variant_tensor] * 2, num_experiments=1,
            output_types=[tf.int64], output_shapes=[[]],
        )  # fmt: skip
        source = made(tf, fastest)
    empty = tf.constant([], tf.string)
    names = ("enabled", "disabled", "default")
    lists = {f"optimizations_{name}": empty for name in names}
    source = single(tf, "OptimizeDatasetV2", source, **lists)
    wrapped = tf.raw_ops.WrapDatasetVariant(input_handle=source._variant_tensor)
    return made(tf, tf.raw_ops.UnwrapDatasetVariant(input_handle=wrapped))


def parallel(tf: Any, _: Path) -> Any:
    @tf.function
    def is_odd(x: Any) -> Any:
        return x % 2 > 0

    @tf.function
    def repeated(x: Any) -> Any:
        return numbers(tf, 2).map(lambda y: x * 10 + y)._variant_tensor

    odd, several = (
        function.get_concrete_function(tf.TensorSpec([], tf.int64))
        for function in (is_odd, repeated)
    )
    source = single(
        tf, "ParallelFilterDataset", numbers(tf, 9), predicate=odd, other_arguments=[],
        num_parallel_calls=2, deterministic="true",
    )  # fmt: skip
    return single(
        tf, "ParallelInterleaveDatasetV3", source, f=several, other_arguments=[], cycle_length=2,
        block_length=1, num_parallel_calls=2, deterministic="true",
    )  # fmt: skip


def older(tf: Any, _: Path) -> Any:
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
    source = single(tf, "ExperimentalMapDataset", numbers(tf, 8), f=double, **nothing)
    source = single(tf, "ExperimentalTakeWhileDataset", source, predicate=small, **nothing)
    source = single(
        tf, "ExperimentalScanDataset", source, initial_state=[np.int64(0)], f=add, **nothing
    )
    return single(
        tf, "ExperimentalGroupByWindowDataset", source, [None], key_func=key, reduce_func=group,
        window_size_func=size, key_func_other_arguments=[], reduce_func_other_arguments=[],
        window_size_func_other_arguments=[],
    )  # fmt: skip


def _sliding(tf: Any, _: Path) -> Any:
    windows = {"window_size": 3, "window_shift": 2, "window_stride": 2}
    every, full = (
        single(tf, op, numbers(tf, 9), [None], **windows, **options)
        for op, options in (
            ("SlidingWindowDataset", {"drop_remainder": False}),
            ("ExperimentalSlidingWindowDataset", {}),
        )
    )
    return every.concatenate(full)


def _stored(tf: Any, folder: Path) -> Any:
    snapshot = numbers(tf, 4).snapshot(str(folder / "snapshot"))
    older = single(tf, "SnapshotDataset", numbers(tf, 4), path=str(folder / "older"))
    return tf.data.Dataset.zip((snapshot.map(lambda x: x + 1).repeat(2), older.concatenate(older)))


def _shapes(tf: Any, batches: Any) -> Any:
    return batches.map(lambda *parts: tuple(map(tf.shape, parts)))


def _unshaped(tf: Any, count: int) -> Any:
    """Return batches of 2 whose shapes are known, partly known and unknown."""

    def spread(x: Any) -> Any:
        table = tf.tile(x[:, None], [1, 3])
        return tuple(
            tf.compat.v1.placeholder_with_default(table, shape)
            for shape in ([None, 3], [None, None], None)
        )

    return numbers(tf, count).batch(2).map(spread)


PROGRAMS: dict[str, Program] = {
    "seeds": _seeds,
    "epochs": _epochs,
    "other batches": lambda tf, _: numbers(tf, 11).batch(4).rebatch([3, 1, 2]),
    "other full batches": lambda tf, _: (
        numbers(tf, 11).batch(4).map(lambda x: (x, -x)).rebatch(3, drop_remainder=True)
    ),
    "empty batches before full ones": lambda tf, _: tf.data.Dataset.zip(
        (numbers(tf, 4).batch(2).rebatch([0, 2]), numbers(tf, 9).batch(2).rebatch([0, 2]))
    ),
    "empty batches after the last row": lambda tf, _: _shapes(
        tf, _unshaped(tf, 4).rebatch([4, 0, 0])
    ),
    "empty batches before a smaller one": lambda tf, _: _unshaped(tf, 3).rebatch([2, 0]),
    "only empty batches": lambda tf, _: numbers(tf, 4).batch(2).rebatch(0).take(3),
    "parts of batches": lambda tf, _: tf.data.Dataset.zip(
        tuple(
            single(tf, op, numbers(tf, 6).batch(4), [None], num_replicas=3)
            for op in ("RebatchDataset", "ExperimentalRebatchDataset")
        )
    ),
    "sliding windows": _sliding,
    "rows of a sparse tensor": _slices,
    "lists": lambda tf, _: tf.data.experimental.from_list([(1, "a"), (2, "b")]).repeat(2),
    "counted": lambda tf, _: numbers(tf, 3).apply(tf.data.experimental.assert_cardinality(3)),
    "files": _files,
    "tables": _csv,
    "batches of tables": _table,
    "rows of a query": _sql,
    "tuned": _tuned,
    "copied": lambda tf, _: (
        numbers(tf, 4)
        .apply(tf.data.experimental.copy_to_device("/cpu:0"))
        .apply(tf.data.experimental.prefetch_to_device("/cpu:0"))
    ),
    "snapshots": _stored,
}  # fmt: skip
