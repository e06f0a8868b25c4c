"""The limits of a server, which the environment sets."""

import os
from typing import Final

from capstan.transport.grpc import intake

DEFAULT_REQUEST_BYTES: Final = 512 << 20


def request_bytes() -> int:
    """Return the most bytes of requests that a server holds at once: CAPSTAN_MAX_REQUEST_BYTES.

    Raises:
        ValueError: the variable is no positive number.
    """
    text = os.environ.get(intake.VARIABLE, "") or str(DEFAULT_REQUEST_BYTES)
    if not (text.isascii() and text.isdigit() and int(text)):
        raise ValueError(
            f"{intake.VARIABLE} must be a number of bytes, such as {DEFAULT_REQUEST_BYTES}, not "
            f"{text!r}"
        )
    return int(text)
