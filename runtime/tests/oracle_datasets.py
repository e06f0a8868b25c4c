"""Input pipelines for `tf.data` of TensorFlow and of Capstan: the oracle compares their elements.

Each program takes `tf` (version 1) and a folder, and returns a dataset.
"""

import gzip
import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Program = Callable[[Any, Path], Any]


def _numbers(tf: Any) -> Any:
    return tf.data.Dataset.from_tensor_slices(np.arange(10))


def _structures(tf: Any, _: Path) -> Any:
    values = {"a": np.arange(4.0), "b": (["x", "yy", "z", ""], [[1, 2], [3, 4], [5, 6], [7, 8]])}
    return tf.data.Dataset.from_tensor_slices(values).map(
        lambda e: {"sum": e["a"] * 2.0 + 1.0, "text": e["b"][0], "pair": (e["b"][1], e["a"])}
    )


def _computed(tf: Any, _: Path) -> Any:
    """Functions that a block of elements may be given to at once, and functions that need one."""
    values = (np.arange(10.0), np.arange(20).reshape(10, 2) - 9)

    def alike(x: Any, y: Any) -> Any:
        return tf.sqrt(x * 2.0) - 1.0, y % 3 + tf.constant([1, 2], tf.int64), y

    def mixed(x: Any, y: Any, z: Any) -> Any:
        return x, y + tf.cast(x, tf.int64), tf.reduce_sum(z), tf.shape(y)

    def of_two_ranks(x: Any, y: Any, z: Any) -> Any:
        return x + 1.0, y + tf.cast(x, tf.int64)

    plan = tf.data.Dataset.from_tensor_slices(values).map(alike).skip(1)
    others = [plan.map(function).batch(4) for function in (mixed, of_two_ranks)]
    return tf.data.Dataset.zip((plan.batch(4), *others))


def _generator(tf: Any, _: Path) -> Any:
    def numbers(count: Any) -> Any:
        for number in range(count):
            yield number, [number] * number

    return tf.data.Dataset.from_generator(numbers, (tf.int64, tf.int32), ([], [None]), args=[4])


def _captures(tf: Any, _: Path) -> Any:
    factor = tf.constant([2, 3], tf.int64) * 2
    return tf.data.Dataset.range(3).map(lambda x: x * factor).map(lambda x: (x, tf.reduce_sum(x)))


def _control_flow(tf: Any, _: Path) -> Any:
    def collatz(x: Any) -> Any:
        half = tf.cond(tf.equal(x % 2, 0), lambda: x // 2, lambda: 3 * x + 1)
        return half, tf.while_loop(lambda i: i < 100, lambda i: i * 2 + 1, [x])

    return tf.data.Dataset.range(5).map(collatz)


def _lines(tf: Any, folder: Path) -> Any:
    (folder / "a.csv").write_bytes(b"x,y\n1,2\r\n3,4")
    (folder / "b.csv").write_bytes(b"x,y\n5,6\n\n")
    names = [str(folder / name) for name in ("a.csv", "b.csv")]
    return tf.data.Dataset.from_tensor_slices(names).flat_map(
        lambda name: tf.data.TextLineDataset(name).skip(1)
    )


def _compressed(tf: Any, folder: Path) -> Any:
    (folder / "lines.gz").write_bytes(gzip.compress(b"one\ntwo\n"))
    (folder / "fixed.z").write_bytes(zlib.compress(b"HHabcdefF"))
    lines = tf.data.TextLineDataset(str(folder / "lines.gz"), "GZIP")
    fixed = tf.data.FixedLengthRecordDataset(
        str(folder / "fixed.z"), 3, 2, 1, compression_type="ZLIB"
    )
    return lines.concatenate(fixed)


def _records(tf: Any, folder: Path) -> Any:
    name = str(folder / "records")
    with tf.python_io.TFRecordWriter(name) as writer:
        for record in (b"first", b"", b"third"):
            writer.write(record)
    return tf.data.TFRecordDataset([name, name])


def _groups(tf: Any, _: Path) -> Any:
    return tf.data.Dataset.range(11).apply(
        tf.data.experimental.group_by_window(
            lambda x: x % 3, lambda key, window: window.batch(3), window_size=3
        )
    )


def _reductions(tf: Any, _: Path) -> Any:
    experimental = tf.data.experimental
    numbers = tf.data.Dataset.range(11)
    texts = tf.data.Dataset.from_tensor_slices(["a", "b"])
    counted = [
        numbers, numbers.batch(3), numbers.batch(3, drop_remainder=True),
        numbers.skip(2).shard(4, 1), numbers.take(20), numbers.repeat(), numbers.repeat(2),
        numbers.filter(lambda x: x > 1), tf.data.Dataset.zip((numbers, texts.repeat())),
        texts.concatenate(texts), texts.repeat(0), numbers.window(3, 2, 2, drop_remainder=True),
        numbers.window(3, 2), texts.shuffle(2).prefetch(1), numbers.repeat().take(5),
        texts.skip(-1),
    ]  # fmt: skip
    counts = tf.stack([experimental.cardinality(dataset) for dataset in counted])
    reducer = experimental.Reducer(
        lambda key: (key, np.int64(0)),
        lambda state, x: (state[0], state[1] + x),
        lambda key, total: {"key": key, "total": total, "counts": counts},
    )
    return numbers.apply(experimental.group_by_reducer(lambda x: -(x % 3), reducer))


def _sparse_batches(tf: Any, _: Path) -> Any:
    rows = tf.data.Dataset.range(4).map(lambda x: tf.fill([2, tf.cast(x, tf.int32)], x))
    batches = [
        rows.apply(tf.data.experimental.dense_to_sparse_batch(3, shape)).map(
            lambda batch: (batch.indices, batch.values, batch.dense_shape)
        )
        for shape in ([3, 4], [2, None])
    ]
    return tf.data.Dataset.zip(tuple(batches))


def _choices(tf: Any, _: Path) -> Any:
    choice = tf.data.Dataset.from_tensor_slices(np.array([0, 1, 1, 0, 0, 0, 1, 0]))
    datasets = [tf.data.Dataset.range(3), tf.data.Dataset.range(10, 14)]
    return tf.data.experimental.choose_from_datasets(datasets, choice)


def _buckets(tf: Any, _: Path) -> Any:
    sequences = tf.data.Dataset.from_tensor_slices(np.array([1, 2, 3, 1, 4, 1, 2])).map(
        lambda x: (tf.fill([tf.cast(x, tf.int32)], x), x)
    )
    bucketed = [
        sequences.apply(
            tf.data.experimental.bucket_by_sequence_length(
                lambda x, _: tf.size(x), [3, 5], [2, 2, 1], **options
            )
        )
        for options in ({"padding_values": (np.int64(-1), np.int64(0))}, {"drop_remainder": True})
    ]
    return bucketed[0].concatenate(bucketed[1])


def _sparse(tf: Any, _: Path) -> Any:
    sparse = tf.SparseTensor([[0, 1], [1, 0], [2, 2], [3, 0]], [1, 2, 3, 4], [4, 4])
    plan = tf.data.Dataset.from_tensor_slices((sparse, {"a": np.arange(4)})).batch(3)

    rows = plan.apply(tf.data.experimental.unbatch())
    places = plan.map(lambda x, y: (x.indices, x.values * 10, x.dense_shape, y["a"]))
    return tf.data.Dataset.zip((plan.repeat(2), places.repeat(2), rows.concatenate(rows.take(1))))


def _csv(tf: Any, folder: Path) -> Any:
    (folder / "a.csv").write_text('name,x,y,z\nab,1,2.5,\n"c,\nd",3,4,70000000000\n')
    (folder / "b.csv").write_text("name,x,y,z\n,5,nan,7\n")
    table = tf.data.experimental.make_csv_dataset(
        str(folder / "*.csv"), 2, label_name="x", select_columns=["x", "z", "name"],
        num_epochs=2, shuffle=False,
    )  # fmt: skip
    records = tf.data.experimental.CsvDataset(
        [str(folder / "b.csv")], ["none", tf.int32, [0.5], tf.int64], header=True
    )
    return tf.data.Dataset.zip((table, records.repeat()))


def _rows(tf: Any, folder: Path) -> Any:
    name = str(folder / "rows.sqlite")
    if not (folder / "rows.sqlite").exists():
        with sqlite3.connect(name) as connection:
            connection.execute("create table t (id integer, name text, x real)")
            connection.executemany("insert into t values (?, ?, ?)", [(1, "a", 1.5), (2, "b", 3)])
        connection.close()
    types = (tf.string, tf.int32, tf.float64, tf.bool)
    query = "select name, id, x, id - 1 from t order by id desc"
    return tf.data.experimental.SqlDataset("sqlite", name, query, types).repeat(2)


def _features(tf: Any, folder: Path) -> Any:
    name = str(folder / "examples")
    with tf.python_io.TFRecordWriter(name) as writer:
        for number in range(5):
            feature = {
                "x": tf.train.Feature(float_list=tf.train.FloatList(value=[number])),
                "y": tf.train.Feature(int64_list=tf.train.Int64List(value=range(number))),
            }
            example = tf.train.Example(features=tf.train.Features(feature=feature))
            writer.write(example.SerializeToString())
    features = {"x": tf.FixedLenFeature([], tf.float32), "y": tf.VarLenFeature(tf.int64)}
    return tf.data.experimental.make_batched_features_dataset(
        name,
        2,
        features,
        reader=tf.data.TFRecordDataset,
        label_key="x",
        num_epochs=2,
        shuffle=False,
    ).map(lambda x, y: (x["y"].values, y))


PROGRAMS: dict[str, Program] = {
    "the batches of the book": lambda tf, _: _numbers(tf).repeat(3).batch(7),
    "the interleaving of the book": lambda tf, _: (
        _numbers(tf)
        .repeat(3)
        .batch(7)
        .interleave(tf.data.Dataset.from_tensor_slices, cycle_length=3, block_length=2)
    ),
    "structures": _structures,
    "one element": lambda tf, _: tf.data.Dataset.from_tensors(([1, 2], "text")).repeat(2),
    "ranges": lambda tf, _: tf.data.Dataset.range(10, 0, -3).concatenate(
        tf.data.Dataset.range(3, 5)
    ),
    "take, skip and shard": lambda tf, _: _numbers(tf).skip(1).take(8).shard(3, 1),
    "take and skip of everything": lambda tf, _: (
        _numbers(tf).take(-1).concatenate(_numbers(tf).skip(-1)).skip(8)
    ),
    "blocks that end inside a batch": lambda tf, _: (
        tf.data.Dataset.range(7).skip(2).repeat(4).take(17).batch(4, drop_remainder=True)
    ),
    "an endless repetition of nothing": lambda tf, _: tf.data.Dataset.range(0).repeat(),
    "shuffle": lambda tf, _: tf.data.Dataset.range(20).shuffle(7, seed=3).repeat(2),
    "shuffle once": lambda tf, _: (
        tf.data.Dataset.range(9).shuffle(20, seed=3, reshuffle_each_iteration=False).repeat(2)
    ),
    # TensorFlow 2 has another order in the later epochs than TensorFlow 1.
    "shuffle and repeat": lambda tf, _: (
        tf.data.Dataset.range(9)
        .apply(tf.data.experimental.shuffle_and_repeat(5, 3, seed=2))
        .batch(9)
        .map(tf.sort)
    ),
    "zip": lambda tf, _: tf.data.Dataset.zip((_numbers(tf), {"b": _numbers(tf).skip(7)})),
    "filter": lambda tf, _: _numbers(tf).filter(lambda x: tf.equal(x % 3, 0)).prefetch(2).batch(3),
    "flat_map": lambda tf, _: tf.data.Dataset.range(5).flat_map(
        lambda x: tf.data.Dataset.range(x).map(lambda y: x * 10 + y)
    ),
    "interleave in parallel": lambda tf, _: tf.data.Dataset.range(1, 6).interleave(
        lambda x: tf.data.Dataset.from_tensors(x).repeat(x),
        cycle_length=2,
        block_length=3,
        num_parallel_calls=2,
    ),
    "map in parallel": lambda tf, _: (
        _numbers(tf).map(lambda x: (x, x * x), num_parallel_calls=3).prefetch(1)
    ),
    "map and batch": lambda tf, _: _numbers(tf).apply(
        tf.data.experimental.map_and_batch(lambda x: x + 1, 4)
    ),
    "computations of batches": _computed,
    "captured tensors": _captures,
    "conditions and loops": _control_flow,
    "generator": _generator,
    "padded batches": lambda tf, _: (
        tf.data.Dataset.range(5)
        .map(lambda x: (tf.fill([tf.cast(x, tf.int32)], x), tf.fill([x % 3], "p")))
        .padded_batch(2, ([None], [4]), (np.int64(-1), "pad"))
    ),
    "cache": lambda tf, _: tf.data.Dataset.range(4).cache().repeat(2),
    "windows": lambda tf, _: (
        tf.data.Dataset.range(9).window(3, 2, 2).flat_map(lambda w: w.batch(3))
    ),
    "unbatch": lambda tf, _: _numbers(tf).batch(4).map(lambda x: (x, -x)).unbatch(),
    "enumerate": lambda tf, _: tf.data.Dataset.from_tensor_slices(["a", "b"]).enumerate(5),
    "groups": _groups,
    "reductions": _reductions,
    "sparse batches": _sparse_batches,
    "scan": lambda tf, _: tf.data.Dataset.range(5).apply(
        tf.data.experimental.scan(np.int64(1), lambda state, x: (state + x, (state, x)))
    ),
    "the end that a function raises": lambda tf, _: tf.data.Dataset.range(9).apply(
        tf.data.experimental.take_while(lambda x: x < 4)
    ),
    "choices": _choices,
    "buckets": _buckets,
    "distinct elements and random numbers": lambda tf, _: tf.data.Dataset.zip(
        (
            tf.data.experimental.RandomDataset(seed=4),
            tf.data.experimental.Counter(5, -2),
            tf.data.Dataset.from_tensor_slices(["a", "b", "a", "c"]).apply(
                tf.data.experimental.unique()
            ),
        )
    ),
    "sparse tensors": _sparse,
    "tables of CSV": _csv,
    "rows of a query": _rows,
    "files of features": _features,
    "lines": _lines,
    "compressed files": _compressed,
    "records": _records,
}
"""The programs by name."""
