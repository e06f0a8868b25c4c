"""Shows the text of compiled parts in tracebacks, debuggers and profilers."""

from typing import Any


class _Loader:
    """A loader (PEP 302) of one text. The standard library's `linecache` asks it for the lines.

    An entry in `linecache.cache` would have to be removed with its part, and a debugger that reads
    the cache at that moment would fail.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    def get_source(self, name: str) -> str:
        """Return the text."""
        return self._text


def module(text: str) -> dict[str, Any]:
    """Return the names with which a module of this text begins."""
    return {"__name__": "capstan.compiled", "__loader__": _Loader(text)}
