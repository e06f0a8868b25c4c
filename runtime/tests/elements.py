"""The elements of an iterator of `tf.data`."""

from typing import Any

import capstan as tf


def drained(session: Any, element: Any, feeds: Any = None) -> list[Any]:
    """Return the elements up to the end."""
    found = []
    while True:
        try:
            found.append(session.run(element, feeds))
        except tf.errors.OutOfRangeError as end:
            if "End of sequence" not in end.message:
                raise
            return found
