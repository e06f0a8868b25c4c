"""Writes the lines of `log_device_placement` to standard output and to the log, as TensorFlow."""

import logging
from collections.abc import Iterable

from capstan.hardware import device as hardware


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


def report_mapping(devices: Iterable[hardware.Device]) -> None:
    """Write a line with the hardware of each device of an in-process session, except CPUs."""
    known = [
        f"{device.name} -> {device.physical_description}"
        for device in devices
        if device.physical_description
    ]
    lines = ["Device mapping:", *known] if known else ["Device mapping: no known devices."]
    text = "\n".join(lines)
    print(text, flush=True)  # noqa: T201 - TensorFlow prints these lines
    logging.getLogger("capstan").info("%s", text)
