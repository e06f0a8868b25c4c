"""The operations that write event files write what TensorFlow writes, and its reader reads it."""

import gc
import pathlib
from typing import Any

import background
import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

IMAGES = np.linspace(0, 255, 2 * 3 * 4 * 3).reshape(2, 3, 4, 3).astype(np.uint8)
SOUNDS = np.sin(np.linspace(0, 9, 40)).reshape(2, 20).astype(np.float32)
VALUES = np.linspace(-3, 5, 20).astype(np.float32)


def events(v1: Any, folder: pathlib.Path) -> list[Any]:
    """Return the events of the only file of a folder, without the times and encoded pictures."""
    (path,) = folder.iterdir()
    found = list(v1.train.summary_iterator(str(path)))
    for event in found:
        assert event.wall_time > 0 or event.step == 77
        event.ClearField("wall_time")
        event.ClearField("source_metadata")
        for value in event.summary.value:
            if value.HasField("image"):
                # The compression of two encoders differs.
                value.image.encoded_image_string = b""
    return found


def written(tf: Any, v1: Any, handle: Any) -> list[Any]:
    """Return one operation for each kind of event."""
    ops, at = tf.raw_ops, np.int64(7)
    summary = v1.Summary(value=[v1.Summary.Value(tag="own", simple_value=2.5)])
    event = v1.Event(step=77, wall_time=3, summary=summary)
    graph = v1.GraphDef()
    graph.node.add(name="a", op="NoOp")
    metadata = v1.SummaryMetadata(display_name="shown").SerializeToString()
    return [
        ops.WriteScalarSummary(writer=handle, step=at, tag="loss", value=np.int32(4)),
        ops.WriteHistogramSummary(writer=handle, step=at, tag="all", values=VALUES),
        ops.WriteHistogramSummary(writer=handle, step=at, tag="truth", values=VALUES > 0),
        ops.WriteImageSummary(
            writer=handle, step=at, tag="view", tensor=IMAGES, bad_color=np.uint8([255, 0, 0])
        ),
        ops.WriteAudioSummary(
            writer=handle, step=at, tag="sound", tensor=SOUNDS, sample_rate=100.0, max_outputs=1
        ),
        ops.WriteSummary(
            writer=handle, step=at, tensor=VALUES, tag="whole", summary_metadata=metadata
        ),
        ops.WriteRawProtoSummary(writer=handle, step=at, tensor=[summary.SerializeToString()] * 2),
        ops.WriteGraphSummary(writer=handle, step=at, tensor=graph.SerializeToString()),
        ops.ImportEvent(writer=handle, event=event.SerializeToString()),
    ]


def test_each_operation_writes_the_event_of_tensorflow(
    tf: Any, tasks: genuine.Tasks, tmp_path: pathlib.Path
) -> None:
    v1, found = tf.compat.v1, []
    runs = ((tf, v1, ""), (tf, v1, tasks.target()), (capstan, capstan, ""))
    for number, (library, namespace, target) in enumerate(runs):
        folder = tmp_path / str(number)
        with namespace.Graph().as_default(), namespace.Session(target) as session:
            handle = library.raw_ops.SummaryWriter(shared_name=f"own {number}")
            make = library.raw_ops.CreateSummaryFileWriter(
                writer=handle, logdir=str(folder), max_queue=10, flush_millis=1000,
                filename_suffix=".end",
            )  # fmt: skip
            session.run(make)
            for operation in written(library, v1, handle):
                session.run(operation)
            session.run(library.raw_ops.FlushSummaryWriter(writer=handle))
            found.append(events(v1, folder))
            session.run(library.raw_ops.CloseSummaryWriter(writer=handle))
            with pytest.raises(namespace.errors.NotFoundError, match="does not exist"):
                session.run(library.raw_ops.FlushSummaryWriter(writer=handle))
        (path,) = folder.iterdir()
        assert path.name.endswith(".end")
    assert len(found[0]) == 10
    for event, *others in zip(*found, strict=True):
        assert all(str(other) == str(event) for other in others)


def test_the_writers_of_tensorflow_2_work_on_a_task(
    tf: Any, tasks: genuine.Tasks, tmp_path: pathlib.Path
) -> None:
    v1, found = tf.compat.v1, []
    for number, target in enumerate(("", tasks.target())):
        folder = tmp_path / str(number)
        with v1.Graph().as_default(), v1.Session(target) as session:
            step = v1.placeholder(tf.int64, [])
            writer = tf.summary.create_file_writer(str(folder))
            with writer.as_default(), tf.summary.record_if(tf.equal(step % 2, 0)):
                tf.summary.scalar("loss", 3.5, step=step)
                tf.summary.histogram("all", VALUES, step=step)
            session.run(writer.init())
            for at in range(3):
                session.run(v1.summary.all_v2_summary_ops(), {step: at})
            session.run(writer.close())
        # The operations of a step run in any order.
        key = lambda event: (event.step, [value.tag for value in event.summary.value])  # noqa: E731
        found.append(sorted(events(v1, folder), key=key))
    for event, other in zip(*found, strict=True):
        value = other.summary.value[0] if other.summary.value else None
        assert (event.step, [each.tag for each in event.summary.value]) == (
            other.step, [each.tag for each in other.summary.value]
        )  # fmt: skip
        if value is not None:
            np.testing.assert_allclose(
                tf.make_ndarray(value.tensor), tf.make_ndarray(event.summary.value[0].tensor)
            )


def test_the_functions_of_contrib_write_under_their_conditions(
    v1: Any, tmp_path: pathlib.Path
) -> None:
    contrib = capstan.contrib.summary
    with capstan.Graph().as_default() as graph, capstan.Session() as session:
        step = capstan.train.create_global_step()
        advance = capstan.assign_add(step, 1)
        assert contrib.scalar("nowhere", 1.0).type == "NoOp"
        with contrib.create_file_writer(tmp_path, flush_millis=10_000).as_default():
            with contrib.record_summaries_every_n_global_steps(2):
                with capstan.name_scope("outer"):
                    contrib.scalar("loss", capstan.cast(step, capstan.float32) / 2)
                contrib.histogram("all", VALUES, family="many")
            with contrib.always_record_summaries():
                contrib.generic("whole", VALUES[:2], step=5)
            contrib.image("view", IMAGES)
            with contrib.never_record_summaries():
                contrib.audio("sound", SOUNDS, 100.0, 1)
            session.run(capstan.global_variables_initializer())
            contrib.initialize(graph=graph, session=session)
            for _ in range(3):
                session.run(contrib.all_summary_ops())
                session.run(advance)
            session.run(contrib.flush())
    first, graph_event, *rest = events(v1, tmp_path)
    assert first.file_version == "brain.Event:2"
    assert v1.GraphDef.FromString(graph_event.graph_def).node
    tags = {(event.step, event.summary.value[0].tag) for event in rest}
    assert tags == {
        (5, "whole"), (0, "outer/loss"), (0, "many/many/all"), (2, "outer/loss"),
        (2, "many/many/all"),
    }  # fmt: skip
    losses = [e.summary.value[0].simple_value for e in rest if "loss" in e.summary.value[0].tag]
    assert losses == [0, 1]


def test_a_writer_without_a_file_and_bad_messages_are_refused(tmp_path: pathlib.Path) -> None:
    with capstan.Graph().as_default(), capstan.Session() as session:
        writer = capstan.contrib.summary.create_file_writer(tmp_path)
        with pytest.raises(RuntimeError, match="No default"):
            capstan.contrib.summary.initialize(session=session)
        handle = writer._resource
        early = capstan.raw_ops.WriteScalarSummary(writer=handle, step=1, tag="a", value=1.0)
        with pytest.raises(capstan.errors.NotFoundError, match="Run the initializer"):
            session.run(early)
        session.run(writer.init())
        session.run(early)
        for operation, message in (
            (capstan.raw_ops.ImportEvent(writer=handle, event=b"\xff"), "tf.Event"),
            (
                capstan.raw_ops.WriteGraphSummary(writer=handle, step=1, tensor=b"\xff"),
                "tf.GraphDef",
            ),
        ):
            with pytest.raises(capstan.errors.DataLossError, match=f"Bad {message} binary proto"):
                session.run(operation)
        session.run(writer.close())


def test_other_forms_of_writers_have_the_steps_and_tags_that_are_set(
    v1: Any, tmp_path: pathlib.Path
) -> None:
    ops = capstan.python.ops.summary_ops_v2
    with capstan.Graph().as_default(), capstan.Session() as session:
        assert ops.create_file_writer(None).init() is None
        with ops.create_file_writer_v2(tmp_path).as_default():
            with pytest.raises(ValueError, match="No step set"):
                ops.write("early", 1.0)
            ops.set_step(12)
            try:
                with capstan.name_scope("a"), ops.summary_scope("b c") as (tag, scope):
                    assert (tag, scope) == ("a/b c", "a/bc/")
                    ops.write(tag, 1.5)
                summary = v1.Summary(value=[v1.Summary.Value(tag="own", simple_value=2.5)])
                ops.write_raw_pb(summary.SerializeToString())
            finally:
                ops.set_step(None)
            session.run(ops.summary_writer_initializer_op())
            session.run(ops.all_v2_summary_ops())
            session.run(ops.flush())
    _, *found = events(v1, tmp_path)
    assert {(event.step, event.summary.value[0].tag) for event in found} == {
        (12, "a/b c"), (12, "own"),
    }  # fmt: skip


def test_the_writer_of_a_session_ends_with_the_session(tmp_path: pathlib.Path) -> None:
    with capstan.Graph().as_default():
        writer = capstan.raw_ops.SummaryWriter(shared_name="ends")
        make = capstan.raw_ops.CreateSummaryFileWriter(
            writer=writer, logdir=str(tmp_path), max_queue=10, flush_millis=100_000,
            filename_suffix="",
        )  # fmt: skip
        write = capstan.raw_ops.WriteScalarSummary(
            writer=writer, step=capstan.constant(3, capstan.int64), tag="loss", value=2.5
        )
        with capstan.Session() as session:
            session.run(make)
            session.run(write)
        del session

    def count() -> int:
        gc.collect()
        (path,) = tmp_path.iterdir()
        return len(list(capstan.train.summary_iterator(str(path))))

    background.until(lambda: count() == 2)


def taken(v1: Any, folder: pathlib.Path) -> list[Any]:
    """Return the kinds and steps of the events in the only file of a folder, and remove it.

    TensorFlow would write another file of the same second over it.
    """
    (path,) = folder.iterdir()
    kinds = [
        (event.WhichOneof("what"), event.step) for event in v1.train.summary_iterator(str(path))
    ]
    path.unlink()
    return kinds


def test_a_file_writer_of_a_session_writes_by_its_steps(v1: Any, tmp_path: pathlib.Path) -> None:
    found = {}
    for tf in (capstan, v1):
        folder = tmp_path / tf.__name__
        with tf.Graph().as_default() as graph, tf.Session() as session:
            tf.constant(1.0, name="one")
            before = graph.as_graph_def()
            writer = tf.summary.FileWriter(str(folder), graph_def=before, session=session)
            summary = tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=2.5)])
            writer.add_summary(summary, 3)
            writer.close()
            with pytest.warns(UserWarning, match="closed FileWriter"):
                writer.add_summary(summary, 4)
            first = taken(v1, folder)
            writer.reopen()
            writer.add_summary(summary, 5)
            writer.flush()
            assert writer.get_logdir() == str(folder)
            found[tf] = first, taken(v1, folder)
            writer.close()
    assert ("summary", 3) in found[capstan][0]
    assert ("summary", 5) in found[capstan][1]
    assert found[capstan] == found[v1]


def test_a_file_writer_refuses_a_session_whose_graph_is_finalized(tmp_path: pathlib.Path) -> None:
    with capstan.Graph().as_default() as graph, capstan.Session() as session:
        graph.finalize()
        with pytest.raises(RuntimeError, match="finalized"):
            capstan.summary.FileWriter(str(tmp_path), session=session)
