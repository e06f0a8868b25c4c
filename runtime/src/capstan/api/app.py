"""`tf.app`: the frame around a script's `main` (python/platform/app.py)."""

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from capstan.api import flags
from capstan.api.absent import absent

__all__ = ["flags", "run"]


def run(
    main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None
) -> NoReturn:
    """Read the flags, call `main` with what is left of the arguments, and exit with its result.

    `main` is the function of that name of the main module, and `argv` the process's arguments,
    where they are not given. A bad flag exits with status 2 and one line that names it.
    """
    rest = flags.parse(list(sys.argv if argv is None else argv))
    if main is None:
        main = sys.modules["__main__"].main
    sys.exit(main(rest))


def __getattr__(name: str) -> Any:
    raise absent("tf.app", name)
