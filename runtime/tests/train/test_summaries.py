"""`tf.summary.FileWriter` and the hooks write event files that `summary_iterator` reads."""

import pathlib
import subprocess
import sys
import textwrap
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import background
import pytest

import capstan as tf
from capstan.resources import event_file


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    tf.summary.FileWriterCache.clear()


def events_in(folder: pathlib.Path) -> list[Any]:
    """Return the events of all event files of a folder."""
    files = sorted(folder.glob("events.out.tfevents.*"))
    return [event for file in files for event in tf.train.summary_iterator(file)]


def kinds_in(folder: pathlib.Path) -> list[tuple[str, int]]:
    return [(event.WhichOneof("what"), event.step) for event in events_in(folder)]


def scalars_in(folder: pathlib.Path) -> list[tuple[str, float, int]]:
    return [
        (value.tag, value.simple_value, event.step)
        for event in events_in(folder)
        for value in event.summary.value
    ]


def scalar(value: float, tag: str = "a") -> Any:
    return tf.Summary(value=[tf.Summary.Value(tag=tag, simple_value=value)])


def test_a_writer_writes_each_kind_of_event(tmp_path: pathlib.Path) -> None:
    tf.constant(1, name="one")
    log = tf.summary.SessionLog(status=tf.SessionLog.START)
    with tf.summary.FileWriter(tmp_path / "new" / "folder") as writer:
        writer.add_graph(tf.get_default_graph(), 1)
        writer.add_meta_graph(tf.train.export_meta_graph(), 2)
        writer.add_summary(scalar(4.0), 3)
        writer.add_summary(scalar(5.0).SerializeToString(), 4)
        writer.add_session_log(log, 5)
        writer.add_run_metadata(tf.RunMetadata(), "traced", 6)
        writer.add_event(tf.Event(step=7, file_version="mine"))
        assert writer.get_logdir() == str(tmp_path / "new" / "folder")
    events = events_in(tmp_path / "new" / "folder")
    assert [(event.WhichOneof("what"), event.step) for event in events] == [
        *(("file_version", 0), ("graph_def", 1), ("meta_graph_def", 2), ("summary", 3)),
        *(("summary", 4), ("session_log", 5), ("tagged_run_metadata", 6), ("file_version", 7)),
    ]
    assert events[0].file_version == "brain.Event:2"
    assert all(event.wall_time > 0 for event in events[:-1])
    (node,) = tf.GraphDef.FromString(events[1].graph_def).node
    assert (node.name, len(node.attr["_output_shapes"].list.shape)) == ("one", 1)
    assert events[4].summary.value[0].simple_value == 5.0


def test_a_writer_begins_with_its_graph(tmp_path: pathlib.Path) -> None:
    tf.summary.scalar("a", 1.0)
    tf.summary.FileWriter(tmp_path, graph=tf.get_default_graph()).close()
    assert [kind for kind, _ in kinds_in(tmp_path)] == [
        "file_version",
        "graph_def",
        "meta_graph_def",
    ]
    from tensorboard.compat.proto import meta_graph_pb2

    meta = meta_graph_pb2.MetaGraphDef.FromString(events_in(tmp_path)[-1].meta_graph_def)
    assert list(meta.collection_def["summaries"].node_list.value) == ["a:0"]
    assert all("_output_shapes" in node.attr for node in meta.graph_def.node)


def test_what_was_flushed_is_in_the_file(tmp_path: pathlib.Path) -> None:
    with tf.summary.FileWriter(tmp_path, max_queue=1) as writer:
        for step in range(5):
            writer.add_summary(scalar(step), step)
        writer.flush()
        assert scalars_in(tmp_path) == [("a", float(step), step) for step in range(5)]


def test_events_reach_the_file_without_a_next_event(tmp_path: pathlib.Path) -> None:
    writer = event_file.EventFileWriter(tmp_path, flush_secs=0.2)
    for step in range(2):
        writer.add_event(tf.Event(step=step, summary=scalar(step)))
        background.until(lambda step=step: ("a", step, step) in scalars_in(tmp_path))
    writer.close()


def test_a_writer_without_a_clock_writes_its_events_when_it_is_closed(
    tmp_path: pathlib.Path,
) -> None:
    writer = event_file.EventFileWriter(tmp_path, flush_secs=float("inf"))
    writer.add_event(tf.Event(step=1, summary=scalar(1.0)))
    writer.close()
    assert scalars_in(tmp_path) == [("a", 1.0, 1)]


def test_a_closed_writer_warns_and_writes_nothing_until_it_is_reopened(
    tmp_path: pathlib.Path,
) -> None:
    writer = tf.summary.FileWriter(tmp_path, filename_suffix=".mine")
    writer.add_summary(scalar(1.0), 1)
    writer.close()
    writer.close()
    for call in (lambda: writer.add_summary(scalar(2.0), 2), writer.flush):
        with pytest.warns(UserWarning, match="Attempting to use a closed FileWriter"):
            call()
    assert scalars_in(tmp_path) == [("a", 1.0, 1)]
    writer.reopen()
    writer.add_summary(scalar(3.0), 3)
    writer.close()
    assert scalars_in(tmp_path) == [("a", 1.0, 1), ("a", 3.0, 3)]
    files = list(tmp_path.iterdir())
    assert len(files) == 2
    assert all(file.name.endswith(".mine") for file in files)


def test_the_metadata_of_a_tag_are_written_once(tmp_path: pathlib.Path) -> None:
    summary = tf.Summary.FromString(scalar(1.0).SerializeToString())
    summary.value[0].metadata.display_name = "A"
    with tf.summary.FileWriter(tmp_path) as writer:
        for step in range(2):
            writer.add_summary(summary.SerializeToString(), step)
    names = [event.summary.value[0].metadata.display_name for event in events_in(tmp_path)[1:]]
    assert names == ["A", ""]


def test_a_writer_refuses_values_of_other_types(tmp_path: pathlib.Path) -> None:
    graph = tf.get_default_graph()
    with tf.summary.FileWriter(tmp_path) as writer:
        with pytest.raises(TypeError, match="must be an instance of `Graph`"):
            writer.add_graph(3)
        with pytest.raises(ValueError, match="but not both"):
            writer.add_graph(graph, graph_def=graph.as_graph_def())
        with pytest.raises(TypeError, match="must be type MetaGraphDef, saw type: <class 'int'>"):
            writer.add_meta_graph(3)
        writer.add_run_metadata(tf.RunMetadata(), "same")
        with pytest.raises(ValueError, match="tag was already used for this event type"):
            writer.add_run_metadata(tf.RunMetadata(), "same")


def test_a_full_disk_is_an_error_that_names_the_file(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_file, "new_file", lambda *_: "/dev/full")
    before = threading.enumerate()
    with pytest.raises(tf.errors.ResourceExhaustedError, match=r"^/dev/full; No space left on"):
        event_file.EventFileWriter(tmp_path)
    assert threading.enumerate() == before


@pytest.mark.parametrize(
    "error",
    [OSError(28, "No space left"), tf.errors.UnavailableError(None, None, "No space left")],
)
def test_a_writer_raises_the_error_of_a_failed_write(error: Exception) -> None:
    class Full:
        closed = False

        def write(self, data: bytes) -> None:
            raise error

        def flush(self) -> None: ...

        def close(self) -> None:
            self.closed = True

    file: Any = Full()
    thread = event_file._Thread(file, 1, 120)
    thread.start()
    thread._jobs.put(b"lost")
    with pytest.raises(type(error), match="No space left"):
        thread.flush()
    with pytest.raises(type(error), match="No space left"):
        thread.put(b"lost too")
    with pytest.raises(type(error), match="No space left"):
        thread.finish()
    assert file.closed


def test_the_cache_has_one_writer_for_each_folder(tmp_path: pathlib.Path) -> None:
    get = tf.summary.FileWriterCache.get
    first = get(tmp_path / "a")
    assert get(str(tmp_path / "a")) is first
    assert get(tmp_path / "b") is not first
    tf.summary.FileWriterCache.clear()
    assert get(tmp_path / "a") is not first


PROGRAM = """
    import sys
    import capstan as tf

    writer = tf.summary.FileWriter(sys.argv[1])
    value = tf.Summary.Value(tag="last", simple_value=1.0)
    writer.add_summary(tf.Summary(value=[value]), 7)
"""


@pytest.mark.e2e
def test_a_program_that_does_not_close_its_writer_loses_nothing(tmp_path: pathlib.Path) -> None:
    program = textwrap.dedent(PROGRAM)
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)
    assert scalars_in(tmp_path) == [("last", 1.0, 7)]


def test_a_damaged_event_file_raises_data_loss(tmp_path: pathlib.Path) -> None:
    tf.summary.FileWriter(tmp_path).close()
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(tf.errors.DataLossError, match="truncated record at 0"):
        list(tf.train.summary_iterator(str(file)))
    with pytest.raises(tf.errors.NotFoundError, match="nowhere"):
        next(tf.train.summary_iterator("nowhere"))


# --- hooks


def train(runs: int, *hooks: tf.train.SessionRunHook) -> None:
    """Train for `runs` steps and close the writers. Each step adds one to the global step."""
    update = tf.assign_add(tf.train.get_or_create_global_step(), 1)
    with tf.train.MonitoredSession(hooks=hooks) as session:
        for _ in range(runs):
            session.run(update)
    tf.summary.FileWriterCache.clear()


@pytest.mark.e2e
def test_summaries_are_written_in_the_first_step_and_at_intervals(tmp_path: pathlib.Path) -> None:
    value = tf.summary.scalar("a", 2.0)
    train(7, tf.train.SummarySaverHook(3, output_dir=str(tmp_path), summary_op=value))
    assert scalars_in(tmp_path) == [("a", 2.0, step) for step in (1, 4, 7)]
    assert ("session_log", 1) in kinds_in(tmp_path)


@pytest.mark.e2e
def test_the_summaries_of_a_scaffold_and_of_a_list_are_written(tmp_path: pathlib.Path) -> None:
    tf.summary.scalar("a", 1.0)
    scaffold = tf.train.Scaffold(summary_op=tf.summary.merge_all())
    several = [tf.summary.scalar(tag, 2.0) for tag in ("b", "c")]
    writer = tf.summary.FileWriter(tmp_path)
    train(
        1,
        tf.train.SummarySaverHook(1, summary_writer=writer, scaffold=scaffold),
        tf.train.SummarySaverHook(1, summary_writer=writer, summary_op=several),
    )
    assert sorted(scalars_in(tmp_path)) == [("a", 1.0, 1), ("b", 2.0, 1), ("c", 2.0, 1)]


@pytest.mark.e2e
def test_a_summary_hook_without_summaries_or_writer_writes_nothing(tmp_path: pathlib.Path) -> None:
    train(
        2,
        tf.train.SummarySaverHook(1, output_dir=str(tmp_path), scaffold=tf.train.Scaffold()),
        tf.train.SummarySaverHook(1, summary_op=tf.summary.scalar("a", 1.0)),
    )
    assert scalars_in(tmp_path) == []


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"save_steps": 1}, "Exactly one of scaffold or summary_op must be provided."),
        ({"save_steps": 1, "scaffold": 1, "summary_op": 1}, "Exactly one of scaffold or summary"),
        ({"summary_op": 1}, "Either every_secs or every_steps should be provided."),
        ({"save_steps": 1, "save_secs": 1, "summary_op": 1}, "Can not provide both every_secs"),
    ],
)
def test_a_summary_hook_takes_one_source_and_one_interval(
    arguments: dict[str, int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        tf.train.SummarySaverHook(**arguments)


def test_a_summary_hook_needs_a_global_step() -> None:
    hook = tf.train.SummarySaverHook(1, summary_op=tf.summary.scalar("a", 1.0))
    with pytest.raises(RuntimeError, match="should be created to use SummarySaverHook"):
        tf.train.MonitoredSession(hooks=[hook])


@pytest.mark.e2e
def test_a_checkpoint_hook_writes_the_graph_and_notes_each_checkpoint(
    tmp_path: pathlib.Path,
) -> None:
    step = tf.train.get_or_create_global_step()
    hook = tf.train.CheckpointSaverHook(str(tmp_path), save_steps=2, saver=tf.train.Saver([step]))
    train(3, hook)
    logs = [event.session_log for event in events_in(tmp_path) if event.HasField("session_log")]
    assert {log.checkpoint_path for log in logs} == {str(tmp_path / "model.ckpt")}
    # The graph is written when the writer is opened, and again when it is final.
    assert kinds_in(tmp_path) == [
        *(("file_version", 0), ("graph_def", 0), ("meta_graph_def", 0)),
        *(("graph_def", 0), ("meta_graph_def", 0)),
        *(("session_log", step) for step in (0, 2, 3)),
    ]
    assert "AssignAdd" in (tmp_path / "graph.pbtxt").read_text()


@pytest.mark.e2e
def test_a_profiler_hook_writes_the_run_metadata_of_each_traced_step(
    tmp_path: pathlib.Path,
) -> None:
    train(3, tf.train.ProfilerHook(save_steps=1, output_dir=str(tmp_path)))
    tagged = [event.tagged_run_metadata for event in events_in(tmp_path)]
    traces = {each.tag: tf.RunMetadata.FromString(each.run_metadata) for each in tagged if each.tag}
    assert list(traces) == ["step_2", "step_3"]
    assert all(len(trace.step_stats.dev_stats) for trace in traces.values())


@pytest.mark.e2e
def test_a_step_counter_writes_the_rate_to_its_folder(tmp_path: pathlib.Path) -> None:
    train(5, tf.train.StepCounterHook(2, output_dir=str(tmp_path)))
    assert [(tag, step) for tag, _, step in scalars_in(tmp_path)] == [
        *(("global_step/sec", step) for step in (3, 5)),
    ]
    with pytest.raises(ValueError, match="exactly one of every_n_steps and every_n_secs"):
        tf.train.StepCounterHook(every_n_secs=1)


@pytest.mark.e2e
def test_a_closed_writer_of_the_cache_does_not_stop_training(tmp_path: pathlib.Path) -> None:
    value = tf.summary.scalar("a", 2.0)
    hook = tf.train.SummarySaverHook(1, output_dir=str(tmp_path), summary_op=value)
    update = tf.assign_add(tf.train.get_or_create_global_step(), 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with tf.train.MonitoredSession(hooks=[hook]) as session:
            session.run(update)
            tf.summary.FileWriterCache.clear()
            assert session.run(update) == 2
    assert scalars_in(tmp_path) == [("a", 2.0, 1)]


# --- sessions


@pytest.mark.e2e
def test_the_chief_of_a_monitored_training_session_writes_summaries(
    tmp_path: pathlib.Path,
) -> None:
    tf.summary.scalar("a", 2.0)
    update = tf.assign_add(tf.train.get_or_create_global_step(), 1)
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path / "model"),
        summary_dir=str(tmp_path / "logs"),
        save_summaries_steps=2,
        log_step_count_steps=2,
    ) as session:
        for _ in range(5):
            session.run(update)
    tf.summary.FileWriterCache.clear()
    assert [(tag, step) for tag, _, step in scalars_in(tmp_path / "logs")] == [
        *(("a", 1), ("global_step/sec", 3), ("a", 3), ("global_step/sec", 5), ("a", 5)),
    ]
    assert ("session_log", 5) in kinds_in(tmp_path / "model")


@pytest.mark.e2e
def test_a_monitored_training_session_without_an_interval_writes_no_summaries(
    tmp_path: pathlib.Path,
) -> None:
    tf.summary.scalar("a", 2.0)
    update = tf.assign_add(tf.train.get_or_create_global_step(), 1)
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path), save_summaries_steps=None, log_step_count_steps=None
    ) as session:
        session.run(update)
    tf.summary.FileWriterCache.clear()
    assert scalars_in(tmp_path) == []


@pytest.mark.e2e
def test_a_supervisor_writes_the_graph_and_the_summaries(tmp_path: pathlib.Path) -> None:
    tf.summary.scalar("a", 2.0)
    tf.train.get_or_create_global_step()
    supervisor = tf.train.Supervisor(logdir=str(tmp_path), save_summaries_secs=0)
    with supervisor.managed_session() as session:
        supervisor.summary_computed(session, session.run(supervisor.summary_op), 7)
    assert ("a", 2.0, 7) in scalars_in(tmp_path)
    assert ("graph_def", 0) in kinds_in(tmp_path)
