"""Kernels that search for patterns (core/kernels/{regex_replace,regex_full_match}_op.cc)."""

import contextlib
import functools
import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from capstan.core import arrays
from capstan.core.arrays import Array
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, string

_ESCAPE: Final = rb"\\[dDsSwW!-/:-@\[-^`{-~]"
_ITEM: Final = rb"(?:\w-\w|[\w !-%'-,./:-@`{}]|" + _ESCAPE + rb")"
_ELEMENT: Final = rb"(?:[\w !-#%-',\-/:->@`~]|" + _ESCAPE + rb"|\[\^?" + _ITEM + rb"+\])"
_SIMPLE: Final = re.compile(_ELEMENT + rb"+\+?")
"""Patterns of single characters and sets of them, of which the last may repeat.

`re` takes linear time for these, and finds the same in ASCII texts as RE2 does.
"""


def compiled(pattern: bytes) -> Any:
    """Compile a pattern of RE2.

    Patterns come from clients. RE2 takes linear time for every pattern, but `re` does not.

    Raises:
        InvalidArgumentError: the pattern is not one of RE2.
    """
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise invalid(
            f"Invalid pattern: {pattern.decode(errors='replace')}, error: "
            f"{error.args[0].decode(errors='replace')}"
        ) from None


def replacer(pattern: bytes, rewrite: bytes, count: int) -> Callable[[bytes], bytes]:
    """Return a function that replaces the first match in a string (`count` is 1), or all (0).

    In `rewrite`, a backslash and a digit stand for a group, and two backslashes for one. If the
    pattern lacks such a group, the function replaces nothing, as in TensorFlow.

    Raises:
        InvalidArgumentError: the pattern is not one of RE2.
    """
    general = compiled(pattern)
    has_groups = b"\\" in rewrite
    named = [int(group) for group in re.findall(rb"\\(?:\\|(\d))", rewrite) if group]
    if max(named, default=0) > general.groups:
        return lambda text: text

    def rewritten(match: Any) -> bytes:
        return _expand(match, rewrite) if has_groups else rewrite

    by_re2 = functools.partial(_substituted, general, rewritten, count)
    if has_groups or not _SIMPLE.fullmatch(pattern):
        return by_re2
    # RE2's Python code takes two microseconds for each match, and `re` a tenth of that.
    simple = re.compile(pattern)

    def replace(text: bytes) -> bytes:
        # RE2 takes characters of several bytes as one, and a vertical tab is no space to it.
        if text.isascii() and b"\v" not in text:
            return simple.sub(rewrite, text, count)
        return by_re2(text)

    return replace


def _substituted(pattern: Any, rewritten: Callable[[Any], bytes], count: int, text: bytes) -> bytes:
    """Replace the first match of a compiled pattern (`count` is 1), or all (0)."""
    parts: list[bytes] = []
    at, last = 0, -1
    while at <= len(text) and (match := pattern.search(text, at)) is not None:
        start, end = match.span()
        parts.append(text[at:start])
        if start == end == last:
            # Unlike Python, RE2 takes no empty match behind a match, or inside of a character.
            end = _next(text, start)
            parts.append(text[start:end])
        else:
            parts.append(rewritten(match))
            last = end
        at = end
        if count:
            break
    return b"".join([*parts, text[at:]])


def _next(text: bytes, at: int) -> int:
    """Return where the character of UTF-8 at a place ends. A byte of no character is one."""
    for end in range(at + 1, at + 5):
        with contextlib.suppress(UnicodeDecodeError):
            text[at:end].decode()
            return end
    return at + 1


def _expand(match: Any, rewrite: bytes) -> bytes:
    return re.sub(rb"\\(\d|\\)", lambda part: _group(match, part[1]), rewrite)


def _group(match: Any, name: bytes) -> bytes:
    """Return the text that `\\N` stands for in a rewrite, or a backslash."""
    return name if name == b"\\" else bytes(match.group(int(name)) or b"")


def _replaced(strings: Array, pattern: bytes, rewrite: bytes, count: int) -> Array:
    texts = np.asarray(strings, object)
    replace = replacer(pattern, rewrite, count)
    return np.asarray(arrays.strings(map(replace, texts.ravel().tolist()), texts.shape))


def _regex_replace(node: NodeContext) -> Function:
    count = 0 if node.attrs["replace_global"] else 1

    def replace(strings: Array, pattern: Array, rewrite: Array) -> Array:
        return _replaced(strings, string(pattern, "Pattern"), string(rewrite, "Rewrite"), count)

    return replace


def _static_regex_replace(node: NodeContext) -> Function:
    pattern, rewrite = node.attrs["pattern"], node.attrs["rewrite"]
    count = 0 if node.attrs["replace_global"] else 1
    return lambda strings: _replaced(strings, pattern, rewrite, count)


def _matching(strings: Array, pattern: Any) -> Array:
    """Return which strings match a compiled pattern as a whole."""
    texts = np.asarray(strings, object)
    found = [pattern.fullmatch(text) is not None for text in texts.ravel().tolist()]
    return np.array(found, bool).reshape(texts.shape)


def _regex_full_match(strings: Array, pattern: Array) -> Array:
    return _matching(strings, compiled(string(pattern, "Pattern")))


def _static_full_match(node: NodeContext) -> Function:
    attr = node.attrs["pattern"]
    pattern = compiled(attr if isinstance(attr, bytes) else attr.encode())
    return lambda strings: _matching(strings, pattern)


register(Kernel("RegexReplace", _regex_replace))
register(Kernel("StaticRegexReplace", _static_regex_replace))
register(Kernel("RegexFullMatch", constantly(_regex_full_match)))
register(Kernel("StaticRegexFullMatch", _static_full_match))
