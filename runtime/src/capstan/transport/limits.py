"""The limits of a server, which the environment sets."""

import os
from typing import Final

VARIABLE: Final = "CAPSTAN_MAX_REQUEST_BYTES"
"""The environment variable that bounds the requests which a server holds at once, in bytes."""

DEFAULT_REQUEST_BYTES: Final = 512 << 20


def request_bytes() -> int:
    """Return the most bytes of requests that a server holds at once: CAPSTAN_MAX_REQUEST_BYTES.

    Raises:
        ValueError: the variable is not a positive number.
    """
    text = os.environ.get(VARIABLE, "") or str(DEFAULT_REQUEST_BYTES)
    if not (text.isascii() and text.isdigit() and int(text)):
        raise ValueError(
            f"{VARIABLE} must be a number of bytes, such as {DEFAULT_REQUEST_BYTES}, not {text!r}"
        )
    return int(text)
