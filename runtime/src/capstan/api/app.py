"""`tf.app`: running the `main` function of a script (python/platform/app.py)."""

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from capstan.api import flags
from capstan.api.absent import absent

__all__ = ["flags", "run"]


def run(
    main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None
) -> NoReturn:
    """Parse the flags, call `main` with the remaining arguments, and exit with its result.

    `main` defaults to the function `main` of the main module, and `argv` to the arguments of the
    process. If a flag has a bad value, the process prints one line that names the flag and exits
    with status 2.
    """
    rest = flags.parse(list(sys.argv if argv is None else argv))
    if main is None:
        main = sys.modules["__main__"].main
    sys.exit(main(rest))


def __getattr__(name: str) -> Any:
    raise absent("tf.app", name)
