"""`tf.logging` writes messages to standard error, in TensorFlow's format.

    I1121 12:00:00.123 4711 hooks.py:20] global_step/sec: 310.5

The messages go through the standard library's logger `capstan`. If the program has configured the
root logger, only the root logger's handlers write them. Until `set_verbosity`, the level is that of
the root logger: warnings and errors are shown, or what `logging.basicConfig(level=...)` says.
"""

import functools
import itertools
import logging
import sys
from collections.abc import Iterator
from typing import Any, Final

from capstan.api.absent import absent

DEBUG: Final = logging.DEBUG
INFO: Final = logging.INFO
WARN: Final = logging.WARNING
ERROR: Final = logging.ERROR
FATAL: Final = logging.CRITICAL

_NAME: Final = "capstan"
_FORMAT: Final = (
    "%(levelname).1s%(asctime)s.%(msecs)03d %(process)d %(filename)s:%(lineno)d] %(message)s"
)
_TIME_FORMAT: Final = "%m%d %H:%M:%S"


class _StandardError(logging.StreamHandler[Any]):
    """Writes to the current `sys.stderr`, unless the root logger has a handler."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)
        self.setFormatter(logging.Formatter(_FORMAT, _TIME_FORMAT))

    @property
    def stream(self) -> Any:
        return sys.stderr

    def filter(self, record: logging.LogRecord) -> bool:
        return not logging.getLogger().handlers


def get_logger() -> logging.Logger:
    """Return the logger of this module's functions. The first call creates its handler."""
    logger = logging.getLogger(_NAME)
    if not any(isinstance(handler, _StandardError) for handler in logger.handlers):
        logger.addHandler(_StandardError())
    return logger


def log(level: int, msg: object, *args: object, **kwargs: Any) -> None:
    """Log `msg % args` at `level`, such as INFO."""
    get_logger().log(level, msg, *args, stacklevel=2, **kwargs)


def debug(msg: object, *args: object, **kwargs: Any) -> None:
    get_logger().debug(msg, *args, stacklevel=2, **kwargs)


def info(msg: object, *args: object, **kwargs: Any) -> None:
    get_logger().info(msg, *args, stacklevel=2, **kwargs)


def warning(msg: object, *args: object, **kwargs: Any) -> None:
    get_logger().warning(msg, *args, stacklevel=2, **kwargs)


warn = warning


def error(msg: object, *args: object, **kwargs: Any) -> None:
    get_logger().error(msg, *args, stacklevel=2, **kwargs)


def fatal(msg: object, *args: object, **kwargs: Any) -> None:
    """Log at the highest level. Does not end the program."""
    get_logger().critical(msg, *args, stacklevel=2, **kwargs)


def vlog(level: int, msg: object, *args: object, **kwargs: Any) -> None:
    get_logger().log(level, msg, *args, stacklevel=2, **kwargs)


def log_if(level: int, msg: object, condition: object, *args: object) -> None:
    """Log when `condition` holds."""
    if condition:
        get_logger().log(level, msg, *args, stacklevel=2)


def log_every_n(level: int, msg: object, n: int, *args: object) -> None:
    """Log the first of every `n` calls from this line of the program."""
    if not next(_calls(*_caller())) % n:
        get_logger().log(level, msg, *args, stacklevel=2)


def log_first_n(level: int, msg: object, n: int, *args: object) -> None:
    """Log the first `n` calls from this line of the program."""
    if next(_calls(*_caller())) < n:
        get_logger().log(level, msg, *args, stacklevel=2)


@functools.cache
def _calls(file: str, line: int) -> Iterator[int]:
    """Return the counter of the calls from one line."""
    return itertools.count()


def _caller() -> tuple[str, int]:
    """Return the file and line that called the function that calls this one."""
    frame = sys._getframe(2)
    return frame.f_code.co_filename, frame.f_lineno


def TaskLevelStatusMessage(msg: object) -> None:
    """Log an error."""
    get_logger().error(msg, stacklevel=2)


def get_verbosity() -> int:
    """Return the lowest level that is shown."""
    return get_logger().getEffectiveLevel()


def set_verbosity(v: int | str) -> None:
    """Show messages of level `v` and above. `v` is a number or a name such as "INFO"."""
    get_logger().setLevel(v)


def flush() -> None:
    """Flush all logged messages to the operating system."""
    for handler in get_logger().handlers:
        handler.flush()


def __getattr__(name: str) -> Any:
    raise absent("tf.logging", name)
