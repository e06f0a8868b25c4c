"""Writes the lines of `log_device_placement` to standard output and to the log, as TensorFlow."""

import logging
from collections.abc import Iterable


def report(placed: Iterable[tuple[str, str, str]], notes: Iterable[str]) -> None:
    """Write a line for each node: its name, op and device. `notes` go to the log only.

    The process of the session's master writes the lines, also if the client is another process.
    """
    log = logging.getLogger("capstan")
    for note in notes:
        log.info("%s", note)
    for name, op, device in placed:
        line = f"{name}: ({op}): {device}"
        print(line, flush=True)  # noqa: T201 - TensorFlow prints these lines
        log.info("%s", line)


def report_mapping() -> None:
    """Write a line with the hardware of each device of an in-process session, except CPUs."""
    line = "Device mapping: no known devices."
    print(line, flush=True)  # noqa: T201 - TensorFlow prints this line
    logging.getLogger("capstan").info("%s", line)
