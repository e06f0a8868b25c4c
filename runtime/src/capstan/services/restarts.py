"""The error of a step with a part that its task does not know."""

from capstan import errors


def graph_not_found(handle: int, task: str) -> errors.AbortedError:
    """Return the error with TensorFlow's text, which scripts and users search for."""
    return errors.AbortedError(
        None,
        None,
        f"Graph handle is not found: {handle:016x}. Possibly, this worker "
        f'("{task}") just restarted. Create a new session.',
    )
