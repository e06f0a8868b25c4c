"""`tf.app.flags`: command-line flags of absl-py that behave as in TensorFlow 1.

The arguments are parsed when the program first reads a flag, or by `tf.app.run`. Flags that are not
defined are left for the program, which may have its own parser. If a flag has a bad value, the
program prints one line that names the flag and exits with status 2.
"""

import difflib
import itertools
import pathlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from absl import flags as _absl
from absl.flags import (
    DuplicateFlagError,
    Error,
    IllegalFlagValueError,
    UnparsedFlagAccessError,
    UnrecognizedFlagError,
    ValidationError,
    mark_flag_as_required,
    mark_flags_as_required,
    register_validator,
    validator,
)

from capstan.api import logging
from capstan.api.absent import absent

__all__ = [
    "FLAGS",
    "DEFINE_bool",
    "DEFINE_boolean",
    "DEFINE_enum",
    "DEFINE_float",
    "DEFINE_integer",
    "DEFINE_list",
    "DEFINE_multi_float",
    "DEFINE_multi_integer",
    "DEFINE_multi_string",
    "DEFINE_string",
    "DuplicateFlagError",
    "Error",
    "IllegalFlagValueError",
    "UnparsedFlagAccessError",
    "UnrecognizedFlagError",
    "ValidationError",
    "mark_flag_as_required",
    "mark_flags_as_required",
    "register_validator",
    "validator",
]

_USAGE_ERROR: Final = 2
# The names of arguments in TensorFlow 1.4, and the names that absl has for them.
_RENAMED = {"flag_name": "name", "default_value": "default", "docstring": "help"}

# absl lists a flag under the module that defines the flag. After this call, absl skips this module
# and lists the flag under the module that calls `DEFINE_string` and the like.
_absl.disclaim_key_flags()


class _Flags:
    """`FLAGS`: the values of all flags, as attributes that a program can read and set."""

    def __getattr__(self, name: str) -> Any:
        values = _absl.FLAGS
        if not name.startswith("__") and not values.is_parsed():
            parse(sys.argv)
        return getattr(values, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(_absl.FLAGS, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_absl.FLAGS, name)

    def __getitem__(self, name: str) -> Any:
        return _absl.FLAGS[name]

    def __contains__(self, name: str) -> bool:
        return name in _absl.FLAGS

    def __iter__(self) -> Iterator[str]:
        return iter(_absl.FLAGS)

    def __len__(self) -> int:
        return len(_absl.FLAGS)

    def __dir__(self) -> list[str]:
        return dir(_absl.FLAGS)

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        """Parse `argv`, whose first entry is the program. Return `argv` without the flags."""
        return list(_absl.FLAGS(argv, known_only))


FLAGS: Final = _Flags()


def parse(argv: Sequence[str]) -> list[str]:
    """Parse the flags in `argv`. Return the remaining arguments after the program's name.

    The program exits with status 2 if a flag has a bad value or a required flag has none. `--help`
    prints the flags of the main module and exits with status 0.
    """
    program = pathlib.Path(argv[0]).name if argv else "python"
    try:
        rest = list(_absl.FLAGS(argv, known_only=True))
    except _absl.Error as error:
        print(f"{program}: {error}", file=sys.stderr)  # noqa: T201, the usage error of a command
        sys.exit(_USAGE_ERROR)
    unparsed = list(itertools.takewhile(lambda argument: argument != "--", rest[1:]))
    if "--help" in unparsed or "-h" in unparsed:
        print(_usage(program))  # noqa: T201, the output of --help
        sys.exit(0)
    for argument in unparsed:
        _warn_if_misspelled(argument)
    return rest


def _warn_if_misspelled(argument: str) -> None:
    """Log a warning if an argument is not a flag but resembles the name of a flag.

    The argument is not an error, because the program itself may parse it.
    """
    name = argument.removeprefix("--").partition("=")[0]
    similar = difflib.get_close_matches(name, list(_absl.FLAGS), n=1)
    if argument.startswith("--") and similar:
        logging.warning(
            "there is no flag --%s; the argument is passed on to the program. Did you mean --%s?",
            name,
            similar[0],
        )


def _usage(program: str) -> str:
    text: str = _absl.FLAGS.main_module_help()
    return f"usage: {program} [flags]\n{text}"


def _defining(define: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return define(*args, **{_RENAMED.get(key, key): kwargs[key] for key in kwargs})

    wrapper.__name__ = define.__name__
    wrapper.__doc__ = define.__doc__
    return wrapper


DEFINE_string = _defining(_absl.DEFINE_string)
DEFINE_integer = _defining(_absl.DEFINE_integer)
DEFINE_float = _defining(_absl.DEFINE_float)
DEFINE_bool = DEFINE_boolean = _defining(_absl.DEFINE_bool)
DEFINE_enum = _defining(_absl.DEFINE_enum)
DEFINE_list = _defining(_absl.DEFINE_list)
DEFINE_multi_string = _defining(_absl.DEFINE_multi_string)
DEFINE_multi_integer = _defining(_absl.DEFINE_multi_integer)
DEFINE_multi_float = _defining(_absl.DEFINE_multi_float)


# The other names of TensorFlow 1.15, which are absl's own.
_OF_ABSL: Final = """
    ArgumentParser ArgumentSerializer BaseListParser BooleanFlag BooleanParser
    CantOpenFlagFileError CsvListSerializer DEFINE DEFINE_alias DEFINE_enum_class DEFINE_flag
    DEFINE_multi DEFINE_multi_enum DEFINE_spaceseplist EnumClassFlag EnumClassParser EnumFlag
    EnumParser Flag FlagNameConflictsWithMethodError FlagValues FloatParser
    IntegerParser ListParser ListSerializer MultiEnumClassFlag MultiFlag
    WhitespaceSeparatedListParser adopt_module_key_flags declare_key_flag disclaim_key_flags
    doc_to_help flag_dict_to_args get_help_width mark_bool_flags_as_mutual_exclusive
    mark_flags_as_mutual_exclusive multi_flags_validator register_multi_flags_validator text_wrap
"""


def __getattr__(name: str) -> Any:
    if name in _OF_ABSL.split():
        return getattr(_absl, name)
    raise absent("tf.flags", name)
