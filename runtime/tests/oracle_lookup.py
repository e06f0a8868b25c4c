"""Small programs with lookup tables, for TensorFlow and Capstan, as in `oracle_data_flow`."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

import capstan

FILES = {
    "words": "a\nb\nc\n",
    "no end": "a\nb",
    "returns": "a\r\nb\r\n",
    "columns": "a\t1\nb\t2\n",
    "commas": "a,1\nb,2\n",
    "numbers": "10\n20\n",
    "blank": "a\n\nb\n",
    "twice": "a\na\n",
    "short line": "a\t1\nb\n",
    "no number": "a\t1\nb\tx\n",
    "empty": "",
}


def _module(v1: Any) -> Any:
    """Return the functions that only `tf.contrib.lookup` of TensorFlow 1 has."""
    if v1 is capstan:
        return capstan.contrib.lookup
    from tensorflow.python.ops import lookup_ops

    return lookup_ops


def static(v1: Any, folder: str) -> Sequence[Any]:
    lookup = v1.lookup
    t = lookup.StaticHashTable(
        lookup.KeyValueTensorInitializer(["a", "b"], [1, 2], value_dtype=v1.int64), -1, name="t"
    )
    numbers = lookup.StaticHashTable(lookup.KeyValueTensorInitializer([5, 7], [0.5, 0.75]), 9.0)
    texts = lookup.StaticHashTable(
        lookup.KeyValueTensorInitializer(v1.constant([5, 7], v1.int64), ["x", "y"]), "none"
    )
    flags = lookup.StaticHashTable(lookup.KeyValueTensorInitializer(["on"], [True]), False)
    keys = v1.placeholder(v1.string)
    sparse = t.lookup(v1.SparseTensor([[0, 1], [2, 0]], ["b", "z"], [3, 2]))
    pairs = [v1.sort(part) for part in texts.export()[:1]]
    return [
        t.size(),
        (t.lookup(keys), {keys: ["a"]}),
        texts.export()[0],
        v1.tables_initializer(),
        [t.size(), numbers.size(), texts.size(), flags.size()],
        (t.lookup(keys), {keys: [["a", "z"], ["b", "b"]]}),
        (t.lookup(keys), {keys: "b"}),
        (t[keys], {keys: []}),
        [numbers.lookup(v1.constant([7, 6])), texts.lookup(v1.constant([[7], [6]], v1.int64))],
        flags.lookup(v1.constant(["on", "off"])),
        [sparse.indices, sparse.values, sparse.dense_shape],
        pairs,
        t.initializer,
        t.default_value,
    ]


def clashing(v1: Any, folder: str) -> Sequence[Any]:
    lookup = v1.lookup

    def table(keys: Any, values: Any) -> Any:
        return lookup.StaticHashTable(lookup.KeyValueTensorInitializer(keys, values), -1)

    return [
        table(["a", "a"], [1, 2]).initializer,
        table(["a", "a"], [1, 1]).initializer,
        table([1, 1], [7, 8]).initializer,
    ]


def from_files(v1: Any, folder: str) -> Sequence[Any]:
    lookup = v1.lookup
    steps: list[Any] = []
    words = ("words", v1.string, -2, v1.int64, -1)
    for (file, *columns), more in (
        (words, {}),
        (words, {"vocab_size": 2}),
        (words, {"vocab_size": 4}),
        (words, {"value_index_offset": 5}),
        (("no end", *words[1:]), {}),
        (("returns", *words[1:]), {}),
        (("columns", v1.string, 0, v1.int64, 1), {}),
        (("columns", v1.string, 0, v1.float32, 1), {}),
        (("commas", v1.string, 0, v1.int32, 1), {"delimiter": ","}),
        (("columns", v1.string, 0, v1.string, -2), {}),
        (("numbers", v1.int64, -2, v1.int64, -1), {}),
        (("numbers", v1.int64, -1, v1.string, -2), {}),
        (("numbers", v1.int32, -2, v1.string, 0), {}),
        (("blank", *words[1:]), {}),
        (("twice", *words[1:]), {}),
        (("short line", v1.string, 0, v1.int64, 1), {}),
        (("no number", v1.string, 0, v1.int64, 1), {}),
        (("no number", v1.string, 0, v1.float32, 1), {}),
        (("words", v1.string, -2, v1.bool, 0), {}),
        (("words", v1.string, -2, v1.int64, -1), {"delimiter": ",,"}),
        (("empty", *words[1:]), {}),
        (("none", *words[1:]), {}),
    ):
        contents = lookup.TextFileInitializer(f"{folder}/{file}", *columns, **more)
        default = "?" if columns[2] == v1.string else False if columns[2] == v1.bool else -1
        table = lookup.StaticHashTable(contents, default)
        keys = v1.constant(["a", "b", "d"] if columns[0] == v1.string else [0, 10, 20], columns[0])
        steps += [table.initializer, [table.size(), table.lookup(keys)]]
    return steps


def vocabularies(v1: Any, folder: str) -> Sequence[Any]:
    m, lookup = _module(v1), v1.lookup
    file = f"{folder}/words"
    words, numbers = v1.constant([["a", "z"], ["c", "yy"]]), v1.constant([10, 30, 20])
    indices = v1.constant([1, 5], v1.int64)
    strong = m.StrongHashSpec([7, 9])
    made = [
        (m.index_table_from_file(file), words),
        (m.index_table_from_file(file, 3), words),
        (m.index_table_from_file(file, 3, hasher_spec=strong), words),
        (m.index_table_from_file(file, vocab_size=2, default_value=9), words),
        (m.index_table_from_file(f"{folder}/numbers", 2, key_dtype=v1.int32), numbers),
        (m.index_table_from_tensor(["a", "yy"]), words),
        (m.index_table_from_tensor(v1.constant(["a", "yy"]), 4), words),
        (m.index_table_from_tensor([20, 10], 4, dtype=v1.int32), numbers),
        (m.index_to_string_table_from_file(file), indices),
        (m.index_to_string_table_from_tensor(["x", "y"], "none"), indices),
        (m.IdTableWithHashBuckets(None, 5), words),
        (m.IdTableWithHashBuckets(None, 5, m.HasherSpec("legacy", None)), words),
        (
            lookup.StaticVocabularyTable(
                lookup.KeyValueTensorInitializer(["a"], v1.constant([0], v1.int64)), 3
            ),
            words,
        ),
        (lookup.StaticVocabularyTable(None, 3), words),
    ]
    sparse = made[1][0].lookup(v1.SparseTensor([[0, 1]], ["zz"], [3, 2]))
    return [
        v1.tables_initializer(),
        *([table.size(), table.lookup(keys)] for table, keys in made),
        [sparse.indices, sparse.values, sparse.dense_shape],
    ]


def mutable(v1: Any, folder: str) -> Sequence[Any]:
    kind = _module(v1).MutableHashTable
    t = kind(v1.string, v1.int64, -1, name="t")
    rows = kind(v1.int64, v1.float32, [0.0, 1.0], name="rows")
    texts = kind(v1.int64, v1.string, ["x", "y"], name="texts")
    keys, values = v1.placeholder(v1.string), v1.placeholder(v1.int64)
    one = v1.constant([1], v1.int64)
    return [
        t.size(),
        list(t.export()),
        t.insert(v1.constant(["a", "b"]), v1.constant([1, 2], v1.int64)),
        (t.insert(keys, values), {keys: [["c", "d"]], values: [[3, 4]]}),
        (t.insert(keys, values), {keys: "e", values: 5}),
        (t.insert(keys, values), {keys: ["a"], values: [1, 2]}),
        (t.insert(keys, values), {keys: ["a"], values: [[1]]}),
        (t.lookup(keys), {keys: ["a", "z", "e"]}),
        [v1.sort(t.export()[1]), t.size()],
        t.remove(v1.constant(["a", "z"])),
        (t.lookup(keys), {keys: [["a", "b"]]}),
        rows.insert(one, [[2.0, 3.0]]),
        rows.lookup(v1.constant([[1, 2]], v1.int64)),
        list(rows.export()),
        rows.insert(one, [[2.0, 3.0, 4.0]]),
        texts.insert(one, [["p", "q"]]),
        texts.lookup(v1.constant([2, 1], v1.int64)),
    ]


def dense(v1: Any, folder: str) -> Sequence[Any]:
    kind = v1.lookup.experimental.DenseHashTable
    longs = {"empty_key": -1, "deleted_key": -2, "initial_num_buckets": 4}
    t = kind(v1.int64, v1.int64, 100, **longs, name="t")
    rows = kind(v1.string, v1.float32, [0.0, 1.0], "", "gone", name="rows")
    keys, values = v1.placeholder(v1.int64), v1.placeholder(v1.int64)
    return [
        t.size(),
        (t.insert(keys, values), {keys: [1, 2, 3, 4, 5], values: [11, 12, 13, 14, 15]}),
        (t.insert(keys, values), {keys: [1], values: [21]}),
        (t.lookup(keys), {keys: [1, 9, 5, 2]}),
        (t.remove(keys), {keys: [2, 7]}),
        (t.lookup(keys), {keys: [2, 3]}),
        t.size(),
        (t.insert(keys, values), {keys: [6], values: [1, 2]}),
        *((t.lookup(keys), {keys: [each]}) for each in (-1, -2)),
        *((t.insert(keys, values), {keys: [each], values: [1]}) for each in (-1, -2)),
        *((t.remove(keys), {keys: [each]}) for each in (-1, -2)),
        (t.lookup(keys), {keys: [[1, 3], [4, 5]]}),
        (t.lookup(keys), {keys: [[1], [4]]}),
        (t.lookup(keys), {keys: 3}),
        rows.insert(v1.constant(["a", "b"]), [[2.0, 3.0], [4.0, 5.0]]),
        rows.lookup(v1.constant(["b", "z"])),
        rows.insert(v1.constant(["a"]), [[2.0, 3.0, 4.0]]),
        rows.remove(v1.constant(["a"])),
        rows.size(),
        kind(v1.int64, v1.int64, 0, 5, 5).size(),
        kind(v1.int64, v1.int64, 0, 5, 6, initial_num_buckets=3).size(),
    ]


def dense_vectors(v1: Any, folder: str) -> Sequence[Any]:
    """Use vectors as keys of dense tables."""
    kind = v1.lookup.experimental.DenseHashTable
    longs = {"empty_key": v1.constant([0, 0], v1.int64), "deleted_key": [-1, -1]}
    t = kind(v1.int64, v1.int64, 100, **longs, initial_num_buckets=4, name="t")
    rows = kind(v1.string, v1.float32, [0.0, 1.0], ["", ""], ["gone", ""], name="rows")
    keys, values = v1.placeholder(v1.int64), v1.placeholder(v1.int64)
    pairs = v1.constant([[1, 2], [2, 1], [7, 7]], v1.int64)
    words = v1.constant([["a", "b"], ["b", ""]])
    many = functools.partial(v1.placeholder_with_default, shape=None)
    exported = t.export()
    found = v1.ensure_shape(v1.reduce_all(v1.equal(exported[0], [[1, 3]]), 1), [None])
    return [
        t.size(),
        (t.insert(keys, values), {keys: [[1, 2], [1, 3], [2, 1]], values: [11, 12, 13]}),
        (t.insert(keys, values), {keys: [[1, 2]], values: [21]}),
        t.lookup(pairs),
        v1.constant(t.lookup(pairs).shape.as_list()),
        t.size(),
        (t.lookup(keys), {keys: [1, 3]}),
        (t.lookup(keys), {keys: [1, 3, 5]}),
        (t.lookup(keys), {keys: [[1, 3, 5]]}),
        (t.lookup(keys), {keys: [[[1, 2], [1, 3]], [[2, 1], [4, 4]]]}),
        (t.lookup(keys), {keys: 1}),
        (t.insert(keys, values), {keys: [[1, 2, 3]], values: [21]}),
        (t.insert(keys, values), {keys: [[1, 2]], values: [[21]]}),
        (t.remove(keys), {keys: [[1, 2], [5, 5]]}),
        (t.remove(keys), {keys: [1, 2, 5]}),
        t.size(),
        *((t.lookup(keys), {keys: [each]}) for each in ([0, 0], [-1, -1], [0, -1])),
        (t.insert(keys, values), {keys: [[0, 0]], values: [1]}),
        (t.remove(keys), {keys: [[-1, -1]]}),
        v1.boolean_mask(v1.reshape(exported[1], [-1]), found),
        rows.insert(words, [[2.0, 3.0], [4.0, 5.0]]),
        rows.lookup(v1.constant([["b", ""], ["b", "a"], ["a", "b"]])),
        rows.insert(words, [[2.0, 3.0, 4.0]]),
        rows.size(),
        kind(v1.int64, v1.int64, 0, [5, 6], [5, 6], name="same").size(),
        kind(v1.int64, v1.int64, 0, many(v1.constant([5, 6], v1.int64)), 5, name="mixed").size(),
        kind(
            v1.int64, v1.int64, 0, many(v1.constant([[5, 6]], v1.int64)), [[5, 7]], name="matrices"
        ).size(),
    ]


PROGRAMS = {
    program.__name__: program
    for program in (static, clashing, from_files, vocabularies, mutable, dense, dense_vectors)
}


def of_raw_ops(ops: Any, v1: Any, version: str, folder: str) -> Sequence[Any]:
    """Use each op, with inputs that the functions of `tf.lookup` refuse, too."""

    def op(name: str, *inputs: Any, **attrs: Any) -> Any:
        return getattr(ops, name + version)(*inputs, **attrs)

    def table(kind: str, key: Any = v1.string, value: Any = v1.int64, **attrs: Any) -> Any:
        return op(kind, key_dtype=key, value_dtype=value, **attrs)

    def many(value: Any) -> Any:
        return v1.placeholder_with_default(v1.constant(value), None)

    def longs(value: Any) -> Any:
        return v1.placeholder_with_default(v1.constant(value, v1.int64), None)

    def file(name: str, key: int, value: int, **attrs: Any) -> Any:
        return op(
            "initialize_table_from_text_file",
            table("hash_table"),
            many(f"{folder}/{name}") if name else many([f"{folder}/words"]),
            key_index=key,
            value_index=value,
            **attrs,
        )

    h = table("hash_table", shared_name="h")
    m, rows = (
        table("mutable_hash_table", container="c"),
        table("mutable_hash_table_of_tensors", value_shape=[2]),
    )
    types = {"Tkeys": v1.string, "Tvalues": v1.int64}
    steps = [
        op("lookup_table_find", h, many(["a"]), longs(-1)),
        op("initialize_table", h, many([["a"]]), longs([[1]])),
        op("initialize_table", h, many(["a"]), longs([1, 2])),
        op("initialize_table", h, many(np.array([], object)), longs([])),
        op("initialize_table", h, longs([1]), longs([1])),
        op("initialize_table", h, many(["a", "b"]), longs([1, 2])),
        op("initialize_table", h, many(["a", "b"]), longs([1, 3])),
        op("initialize_table", h, many(["a"]), longs([1])),
        op("lookup_table_find", h, many(["a", "z"]), longs(-1)),
        op("lookup_table_find", h, many(["a", "z"]), longs([8, 9])),
        op("lookup_table_find", h, many(["a"]), many("x")),
        op("lookup_table_find", h, longs([1]), longs(-1)),
        op("lookup_table_insert", h, many(["a"]), longs([1])),
        op("lookup_table_size", h),
        op("lookup_table_size", table("hash_table", value=v1.float32, shared_name="h")),
        op("lookup_table_size", table("mutable_hash_table", shared_name="h")),
        op("lookup_table_insert", m, many(["a", "b"]), longs([1, 2])),
        op("lookup_table_find", m, many(["b", "z"]), longs([7, 8])),
        op("lookup_table_find", m, many(["b", "z"]), longs([7, 8, 9])),
        op("lookup_table_insert", m, many(["a"]), many([1.5])),
        op("lookup_table_insert", m, longs([1]), longs([1])),
        op("lookup_table_import", m, many(["q"]), longs([5])),
        list(op("lookup_table_export", m, **types)),
        op("initialize_table", m, many(["a"]), longs([1])),
        op("lookup_table_insert", rows, many(["a", "b"]), longs([[1, 2], [3, 4]])),
        op("lookup_table_find", rows, many(["b", "z"]), longs([7, 8])),
        op("lookup_table_find", rows, many([["b", "z"]]), longs([[[5, 6], [7, 8]]])),
        op("lookup_table_find", rows, many(["b"]), longs(-1)),
        op("lookup_table_insert", rows, many(["a"]), longs([[1, 2, 3]])),
        op("lookup_table_size", table("mutable_hash_table_of_tensors", value_shape=[2, 2])),
        file("words", -2, -1),
        file("", -2, -1),
        file("words", -1, -2),
        file("words", -2, -1, vocab_size=0),
    ]
    if version:
        steps += [
            op("lookup_table_remove", m, many(["q", "zz"])),
            op("lookup_table_remove", m, longs([1])),
            op("lookup_table_remove", h, many(["a"])),
            op("lookup_table_size", m),
        ]
    return steps
