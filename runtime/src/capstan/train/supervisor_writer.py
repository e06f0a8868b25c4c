"""The events that a supervisor gives to its summary writer."""

from typing import Any

from capstan.api import summary_ops
from capstan.train import summary_writer


def merged_summaries() -> Any:
    """Return an op that merges all summaries of the default graph, or None if it has none."""
    return summary_ops.merge_all()


def file_writer(logdir: str) -> Any:
    """Return a writer of event files in the folder `logdir`."""
    return summary_writer.FileWriter(logdir)


def add_start(writer: Any, step: int) -> None:
    """Write that training starts at a global step."""
    from tensorboard.compat.proto import event_pb2

    writer.add_session_log(event_pb2.SessionLog(status=event_pb2.SessionLog.START), step)


def add_stop(writer: Any) -> None:
    """Write that training has stopped, unless the writer is closed already.

    Programs call `stop` after a `managed_session`, which has stopped the supervisor itself.
    """
    if isinstance(writer, summary_writer.FileWriter) and writer.is_closed:
        return
    from tensorboard.compat.proto import event_pb2

    writer.add_session_log(event_pb2.SessionLog(status=event_pb2.SessionLog.STOP))


def add_checkpoint(writer: Any, path: str, step: int) -> None:
    """Write that a checkpoint was saved."""
    from tensorboard.compat.proto import event_pb2

    log = event_pb2.SessionLog(status=event_pb2.SessionLog.CHECKPOINT, checkpoint_path=path)
    writer.add_session_log(log, step)


def add_value(writer: Any, tag: str, value: float, step: int) -> None:
    """Write one number."""
    from tensorboard.compat.proto import summary_pb2

    entry = summary_pb2.Summary.Value(tag=tag, simple_value=value)
    writer.add_summary(summary_pb2.Summary(value=[entry]), step)
