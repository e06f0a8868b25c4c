"""The state of a reader as a ReaderBaseState (core/framework/reader_base.proto)."""

from dataclasses import dataclass

from capstan import errors


@dataclass(frozen=True, slots=True)
class ReaderState:
    """The numbers of work units begun and completed and of records, and the last work unit."""

    started: int
    finished: int
    produced: int
    work: bytes

    def serialized(self) -> bytes:
        """Return the state as a ReaderBaseState."""
        from capstan.core import reader_messages

        message = reader_messages.ReaderBaseState(
            work_started=self.started,
            work_finished=self.finished,
            num_records_produced=self.produced,
            current_work=self.work,
        )
        return bytes(message.SerializeToString())


def parse(text: bytes, label: str) -> ReaderState:
    """Return the state in a ReaderBaseState. `label` names the reader in errors.

    Raises:
        InvalidArgumentError: `text` is not a state of a reader between two work units.
    """
    from google.protobuf import message

    from capstan.core import reader_messages

    try:
        saved = reader_messages.ReaderBaseState.FromString(text)
    except message.DecodeError:
        raise errors.InvalidArgumentError(
            None, None, f"Could not parse state for {label}: {ascii(text)[2:-1]}"
        ) from None
    state = ReaderState(
        saved.work_started, saved.work_finished, saved.num_records_produced, saved.current_work
    )
    problem = ""
    if min(state.started, state.finished, state.produced) < 0:
        problem = "Unexpected negative value"
    elif state.started > state.finished:
        problem = "Inconsistent work started vs. finished"
    if problem:
        raise errors.InvalidArgumentError(
            None, None, f"{problem} when restoring in {label}: {saved}"
        )
    return state
