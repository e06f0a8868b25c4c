"""Whether the variables of a model are initialised.

Source: tensorflow/python/training/session_manager.py.
"""

from typing import Any

import numpy as np

from capstan import errors
from capstan.api import logging
from capstan.client import session as sessions


def missing_variables(op: Any, session: sessions.Session, problem: str) -> str | None:
    """Run a ready op. Return None if all variables are initialised.

    Otherwise return a text that names the uninitialised variables.
    """
    if op is None:
        return None
    try:
        names = session.run(op)
    except errors.FailedPreconditionError as error:
        if "uninitialized" not in str(error):
            logging.warning("%s : error [%s]", problem, error)
            raise
        return str(error)
    # A ready op may also be an operation without a value, or return an int32 as the oldest ready
    # ops of TensorFlow do. Then the model is ready if the op does not fail.
    if names is None or np.asarray(names).dtype == np.int32 or np.size(names) == 0:
        return None
    return "Variables not initialized: " + ", ".join(name.decode() for name in np.ravel(names))


def ready(op: Any, sess: sessions.Session, msg: str) -> tuple[bool, str | None]:
    """Return whether all variables are initialised, and else a text that names the others.

    Programs with a session hook of their own call this function, as
    `tensorflow.python.training.session_manager._ready`.
    """
    missing = missing_variables(op, sess, msg)
    return missing is None, missing
