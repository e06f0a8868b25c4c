"""The dumps of a run describe the run and its graphs, and find paths through the graphs."""

import pathlib
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

import capstan as tf
from capstan.python import debug as tf_debug


@pytest.fixture
def on_a_cpu() -> Iterator[None]:
    # References in the memory of a GPU are not dumped.
    with tf.device("/device:CPU:0"):
        yield


def watched(folder: Any, **options: Any) -> Any:
    made = tf.RunOptions()
    tf_debug.watch_graph(made, tf.get_default_graph(), debug_urls=f"file://{folder}", **options)
    return made


def test_a_dump_keeps_its_description_when_its_folder_is_written_again(
    tmp_path: pathlib.Path,
) -> None:
    x = tf.placeholder_with_default(1.0, [], name="x")
    dumps = []
    with tf.Session() as session:
        for step in range(2):
            session.run(x, options=watched(tmp_path / "dump", global_step=step))
            dumps.append(tf_debug.DebugDumpDir(str(tmp_path / "dump")))
            shutil.rmtree(tmp_path / "dump")
    assert [dump.core_metadata.global_step for dump in dumps] == [0, 1]


def dump_of(fetch: Any, folder: pathlib.Path) -> tf_debug.DebugDumpDir:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(fetch, options=watched(folder))
    return tf_debug.DebugDumpDir(str(folder))


@pytest.mark.usefixtures("on_a_cpu")
def test_a_path_leads_through_the_inputs_of_a_run(tmp_path: pathlib.Path) -> None:
    first, second, third = (tf.Variable(1.0, name=f"v{number}") for number in range(3))
    total = tf.add(first, second, name="total")
    with tf.control_dependencies([total]):
        end = tf.subtract(third, third, name="end")
    dump = dump_of(end, tmp_path)
    assert dump.find_some_path("v0", "end") == ["v0", "v0/read", "total", "end"]
    assert dump.find_some_path("v0:0", "end:0") == ["v0", "v0/read", "total", "end"]
    assert dump.find_some_path("v0", "end", include_control=False) is None
    assert dump.find_some_path("end", "v0") is None
    assert set(dump.transitive_inputs("total")) == {"v0", "v0/read", "v1", "v1/read"}
    assert dump.transitive_inputs("end", include_control=False) == ["v2/read", "v2"]
    with pytest.raises(ValueError, match="does not exist"):
        dump.find_some_path("v0", "missing")


@pytest.mark.usefixtures("on_a_cpu")
def test_a_path_may_lead_from_a_variable_to_what_changes_it(tmp_path: pathlib.Path) -> None:
    count, change = tf.Variable(10.0, name="count"), tf.Variable(1.0, name="change")
    dump = dump_of(tf.assign_add(count, change, name="added"), tmp_path)
    path = dump.find_some_path("change", "count", include_reversed_ref=True)
    assert path == ["change", "change/read", "added", "count"]
    assert dump.find_some_path("change", "count") is None


def test_the_inputs_of_a_merge_are_not_followed(tmp_path: pathlib.Path) -> None:
    wants = tf.placeholder_with_default(True, [], name="wants")
    x = tf.placeholder_with_default(1.0, [], name="x")
    dump = dump_of(tf.cond(wants, lambda: x + 1, lambda: x - 1, name="choice"), tmp_path)
    (merge,) = (name for name in dump.nodes() if dump.node_op_type(name) == "Merge")
    assert dump.transitive_inputs(merge) == []
    assert "x" in dump.transitive_inputs(dump.node_inputs(merge)[0].partition(":")[0])


def test_a_dump_has_the_graphs_of_its_devices(tmp_path: pathlib.Path) -> None:
    dump = dump_of(tf.negative(tf.placeholder_with_default(1.0, [], name="x"), name="y"), tmp_path)
    assert dump.loaded_partition_graphs()
    assert {node.name for graph in dump.partition_graphs() for node in graph.node} >= {"x", "y"}
    for path in tmp_path.rglob("_tfdbg_graph_*"):
        path.unlink()
    bare = tf_debug.DebugDumpDir(str(tmp_path))
    assert not bare.loaded_partition_graphs()
    with pytest.raises(LookupError, match="No partition graphs have been loaded"):
        bare.partition_graphs()
    with pytest.raises(LookupError, match="not loaded"):
        bare.transitive_inputs("y")
