"""Partitioned variables have TensorFlow's graph and errors, and their checkpoints are exchanged."""

import pathlib
from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan as tf

pytestmark = genuine.MARKS

ROWS = np.arange(14, dtype=np.float32).reshape(7, 2)


def cut(v1: Any, count: int, **options: Any) -> Any:
    return v1.get_variable("v", partitioner=v1.fixed_size_partitioner(count), **options)


def placed(v1: Any) -> None:
    setter = v1.train.replica_device_setter(ps_tasks=2, worker_device="/job:worker/task:1")
    with v1.device(setter), v1.variable_scope("s", partitioner=v1.fixed_size_partitioner(3)):
        kinds = {"dtype": v1.float32, "initializer": v1.ones_initializer()}
        v1.matmul(v1.get_variable("v", [7, 2], **kinds), v1.constant([[1.0], [2.0]]))
        v1.get_variable("r", [4], use_resource=True, **kinds)
        v1.get_variable("scalar", [], **kinds)


def from_a_value(v1: Any) -> None:
    with v1.name_scope("outer"):
        cut(v1, 2, initializer=v1.constant(ROWS))
        v1.create_partitioned_variables([4, 3], [1, 2], v1.zeros_initializer(), name="made")


def changed(v1: Any) -> None:
    v = cut(v1, 3, shape=[7, 2], initializer=v1.ones_initializer())
    v.assign_add([v1.ones(size) for size in ([3, 2], [2, 2], [2, 2])])
    v.assign_sub(v)


def nodes_of(v1: Any, program: Callable[[Any], None]) -> dict[str, Any]:
    with v1.Graph().as_default() as graph:
        program(v1)
        return {
            # TensorFlow also colocates a reference variable with itself.
            node.name: (
                node.op,
                list(node.input),
                node.device,
                {*node.attr["_class"].list.s} - {f"loc:@{node.name}".encode()},
            )
            for node in graph.as_graph_def().node
        }


@pytest.mark.parametrize("program", [placed, from_a_value, changed])
def test_the_graph_of_partitioned_variables_is_tensorflows(v1: Any, program: Any) -> None:
    assert nodes_of(tf, program) == nodes_of(v1, program)


def used(v1: Any) -> list[Any]:
    """Return the values of assignments, lookups and their gradients."""
    with v1.Graph().as_default(), v1.Session() as session:
        v = cut(v1, 3, shape=[7, 2], initializer=v1.ones_initializer())
        session.run(v1.global_variables_initializer())
        values = [session.run(v.assign(ROWS))]
        values.append(session.run(v.assign_add(v1.constant(ROWS))))
        values.append(session.run(v.assign_sub([part * 0.5 for part in v])))
        for strategy in ("mod", "div"):
            rows = v1.nn.embedding_lookup(v, [[0, 6], [4, 4]], partition_strategy=strategy)
            pushed = [v1.convert_to_tensor(slope) for slope in v1.gradients(rows, list(v))]
            values.append(session.run([rows, pushed]))
        values.append(session.run(v.as_tensor()))
        return values


def test_assignments_and_lookups_have_tensorflows_values(v1: Any) -> None:
    assert repr(used(tf)) == repr(used(v1))


def shapes_of(v1: Any, partitioner: str, *arguments: Any, dtype: str) -> Any:
    function = getattr(v1, partitioner)(*arguments)
    return list(function(shape=v1.TensorShape([1000, 3]), dtype=getattr(v1, dtype)))


@pytest.mark.parametrize(
    ("partitioner", "arguments"),
    [
        ("fixed_size_partitioner", (7,)),
        ("fixed_size_partitioner", (7, 1)),
        ("variable_axis_size_partitioner", (100,)),
        ("variable_axis_size_partitioner", (1, 1)),
        ("variable_axis_size_partitioner", (100, 0, 50, 9)),
        ("min_max_variable_partitioner", (50, 0, 1000)),
        ("min_max_variable_partitioner", (3, 0, 100)),
        ("min_max_variable_partitioner", ()),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "string", "int64"])
def test_partitioners_choose_tensorflows_numbers_of_parts(
    v1: Any, partitioner: str, arguments: tuple[int, ...], dtype: str
) -> None:
    found = shapes_of(tf, partitioner, *arguments, dtype=dtype)
    assert found == shapes_of(v1, partitioner, *arguments, dtype=dtype)


def made_twice(v1: Any) -> None:
    for _ in range(2):
        cut(v1, 2, shape=[7, 2])


def other(v1: Any, count: int | None = 2, **options: Any) -> None:
    """Make a variable in two parts, and ask for it again with another property."""
    cut(v1, 2, shape=[7, 2])
    if count is not None:
        options["partitioner"] = v1.fixed_size_partitioner(count)
    with v1.variable_scope("", reuse=v1.AUTO_REUSE):
        v1.get_variable("v", **options)


def plain_before(v1: Any) -> None:
    v1.get_variable("v", [7, 2])
    cut(v1, 2, shape=[7, 2])


def missing(v1: Any) -> None:
    with v1.variable_scope("", reuse=True):
        cut(v1, 2, shape=[7, 2])


def chosen(v1: Any, partitions: Any, shape: Any = (7, 2)) -> None:
    v1.get_variable("v", shape, partitioner=lambda **_: partitions)


WRONG: dict[str, Callable[[Any], Any]] = {
    "made twice": made_twice,
    "other shape": lambda v1: other(v1, shape=[7, 3]),
    "other dtype": lambda v1: other(v1, shape=[7, 2], dtype=v1.int32),
    "other parts": lambda v1: other(v1, 3, shape=[7, 2]),
    "no partitioner": lambda v1: other(v1, None, shape=[7, 2]),
    "plain before": plain_before,
    "missing": missing,
    "no shape": lambda v1: cut(v1, 2),
    "no callable": lambda v1: v1.get_variable("v", [7], partitioner=3),
    "no list": lambda v1: chosen(v1, 3),
    "wrong rank": lambda v1: chosen(v1, [3]),
    "zero": lambda v1: chosen(v1, [0, 1]),
    "two axes": lambda v1: chosen(v1, [2, 2]),
    "lengths": lambda v1: v1.create_partitioned_variables([4], [1, 2], v1.zeros_initializer()),
    "no axis": lambda v1: v1.create_partitioned_variables([], [], v1.zeros_initializer()),
}


def error_of(v1: Any, program: Callable[[Any], Any]) -> tuple[str, str]:
    with v1.Graph().as_default(), pytest.raises((ValueError, TypeError)) as raised:
        program(v1)
    return type(raised.value).__name__, str(raised.value).partition("Originally")[0]


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_request_has_tensorflows_error(v1: Any, case: str) -> None:
    assert error_of(tf, WRONG[case]) == error_of(v1, WRONG[case])


def model(v1: Any, count: int) -> tuple[list[Any], Any]:
    """Return a variable in `count` parts on two CPUs with its slots, and an op that trains it."""
    devices = iter(["/cpu:0", "/cpu:1", "/cpu:0", "/cpu:1"])

    def device(op: Any) -> str:
        return next(devices) if op.type == "VariableV2" else ""

    with v1.device(device):
        v = cut(v1, count, initializer=v1.constant(ROWS), use_resource=False)
    optimizer = v1.train.MomentumOptimizer(0.5, 0.9)
    train = optimizer.minimize(v1.reduce_sum(v1.convert_to_tensor(v) ** 2.0))
    return [v, v1.concat([optimizer.get_slot(part, "momentum") for part in v], 0)], train


def session_of(v1: Any) -> Any:
    return v1.Session(config=v1.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True))


def saved(v1: Any, path: str, *, is_sharded: bool, version: int = 2) -> tuple[str, list[Any]]:
    """Save a trained model of three parts. Return the path of the checkpoint and the values."""
    with v1.Graph().as_default(), session_of(v1) as session:
        state, train = model(v1, 3)
        tensors = [v1.convert_to_tensor(value) for value in state]
        session.run(v1.global_variables_initializer())
        session.run(train)
        saver = v1.train.Saver(sharded=is_sharded, write_version=version)
        written = saver.save(session, path, write_meta_graph=False)
        return written, [value.tolist() for value in session.run(tensors)]


def restored(v1: Any, path: str) -> list[Any]:
    """Return the values of a model of two parts after it was restored."""
    with v1.Graph().as_default(), session_of(v1) as session:
        tensors = [v1.convert_to_tensor(value) for value in model(v1, 2)[0]]
        v1.train.Saver().restore(session, path)
        return [value.tolist() for value in session.run(tensors)]


@pytest.mark.parametrize("version", [2, 1])
@pytest.mark.parametrize("is_sharded", [False, True])
def test_the_slices_of_a_checkpoint_are_read_in_other_slices_by_tensorflow_and_capstan(
    v1: Any, tmp_path: pathlib.Path, is_sharded: bool, version: int
) -> None:
    listed = []
    for number, (writer, reader) in enumerate([(tf, v1), (v1, tf), (tf, tf)]):
        path, state = saved(
            writer, str(tmp_path / f"model-{number}"), is_sharded=is_sharded, version=version
        )
        assert restored(reader, path) == state
        listed.append(tf.train.list_variables(path))
        if version == 1 and reader is v1:
            continue  # TensorFlow's reader without a graph reads no slices of this format.
        found = reader.train.load_checkpoint(path)
        assert [found.get_tensor("v").tolist(), found.get_tensor("v/Momentum").tolist()] == state
    assert listed[0] == listed[1] == listed[2]


def started_from(v1: Any, path: str, target: str) -> list[Any]:
    """Return the values of variables whose initializers read a checkpoint."""
    with v1.Graph().as_default(), v1.Session() as session:
        with v1.variable_scope("new"):
            v = cut(v1, 4, shape=[7, 2])
        targets = {"list": list(v), "variable": v, "name": "new/v", "scope": "new/"}
        tensor = "/" if target == "scope" else "v"
        v1.train.init_from_checkpoint(path, {tensor: targets[target]})
        session.run(v1.global_variables_initializer())
        values: list[Any] = [value.tolist() for value in session.run(list(v))]
        return values


@pytest.mark.parametrize("target", ["list", "variable", "name", "scope"])
def test_partitioned_variables_start_from_a_checkpoint_as_in_tensorflow(
    v1: Any, tmp_path: pathlib.Path, target: str
) -> None:
    path, _ = saved(v1, str(tmp_path / "model"), is_sharded=False)
    values = started_from(tf, path, target)
    assert [len(rows) for rows in values] == [2, 2, 2, 1]
    # TensorFlow takes no PartitionedVariable, but a list of its parts.
    assert values == started_from(v1, path, "list" if target == "variable" else target)


def looked_up(v1: Any, combiner: str | None, *, is_weighted: bool, strategy: str) -> list[Any]:
    """Return the rows for five rows of ids, of which one in the middle and the last are empty."""
    with v1.Graph().as_default(), v1.Session() as session:
        v = cut(v1, 3, initializer=v1.constant(ROWS + 1.0))
        places = [[0, 0], [0, 1], [1, 0], [3, 0], [3, 2]]
        ids = v1.SparseTensor(places, np.array([1, 6, 6, 0, 0]), [5, 3])
        weights = v1.SparseTensor(places, np.float32([1, 2, 0.5, 3, 4]), [5, 3])
        rows = v1.nn.embedding_lookup_sparse(
            v, ids, weights if is_weighted else None, strategy, combiner=combiner, max_norm=9.0
        )
        slopes = [v1.convert_to_tensor(slope) for slope in v1.gradients(rows, list(v))]
        session.run(v1.global_variables_initializer())
        values: list[Any] = session.run([rows, *slopes])
        return values


@pytest.mark.parametrize(
    ("combiner", "is_weighted", "strategy"),
    [("sum", True, "mod"), ("mean", True, "div"), ("sqrtn", True, "mod"), (None, False, "div")],
)
def test_sparse_lookups_have_tensorflows_values(
    v1: Any, combiner: str | None, is_weighted: bool, strategy: str
) -> None:
    options: dict[str, Any] = {"is_weighted": is_weighted, "strategy": strategy}
    for found, expected in zip(
        looked_up(tf, combiner, **options), looked_up(v1, combiner, **options), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def values_of_slices(tf: Any, target: str, folder: pathlib.Path) -> list[Any]:
    """Write checkpoints of format V1 with their operations, and read them again."""
    v1, raw = tf.compat.v1, tf.raw_ops
    path = str(folder / "model")
    with v1.Graph().as_default(), v1.Session(target) as session:
        shards = raw.ShardedFilespec(basename=path, num_shards=2)
        written = [
            raw.SaveSlices(
                filename=f"{path}-00000-of-00002",
                tensor_names=["v", "v"],
                shapes_and_slices=["7 2 0,3:-", "7 2 3,4:-"],
                data=[ROWS[:3], ROWS[3:]],
            ),
            raw.Save(filename=f"{path}-00001-of-00002", tensor_names=["x"], data=[np.arange(3)]),
        ]
        read = [
            raw.Restore(file_pattern=shards, tensor_name="v", dt=tf.float32),
            raw.RestoreSlice(
                file_pattern=shards, tensor_name="v", shape_and_slice="7 2 2,3:1,1", dt=tf.float32
            ),
            raw.Restore(file_pattern=shards, tensor_name="x", dt=tf.int64),
        ]
        session.run(written)
        return [value.tolist() for value in session.run(read)]


def test_the_operations_of_format_v1_have_tensorflows_values(
    tf: Any, tasks: genuine.Tasks, tmp_path: pathlib.Path
) -> None:
    expected = values_of_slices(tf, "", tmp_path)
    assert expected[0] == ROWS.tolist()
    assert values_of_slices(tf, tasks.target(), tmp_path) == expected
