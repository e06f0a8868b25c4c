"""Record a command on a terminal as an SVG that plays the recording.

    recording.py docs/demo.svg make demo

The command runs on a pseudo-terminal. The script knows the control sequences of rich's live
displays, which move the cursor up and erase whole lines. A sequence of another kind ends the
script with an error.
"""

import fcntl
import html
import io
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass

from rich.color import Color
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import DIMMED_MONOKAI as THEME
from rich.text import Text

COLUMNS, ROWS = 88, 24
PAUSE_SECONDS = 4.0
"""How long the last picture stays."""
SHORTEST_SECONDS = 0.4
CHARACTER, LINE, MARGIN = 8.4, 20, 16

TOKEN = re.compile(
    r"\x1b\[(?P<number>\d*)(?P<move>[AK])|(?P<style>\x1b\[[\d;]*m)|(?P<cursor>\x1b\[\?25[lh])"
    r"|(?P<text>[^\x1b\r\n]+)|(?P<line>\n)|(?P<begin>\r)"
)


@dataclass(frozen=True)
class Picture:
    """What the terminal shows from the second `at` on: lines with their styles as sequences."""

    at: float
    lines: tuple[str, ...]


class Screen:
    """The lines of a terminal that is never full."""

    def __init__(self) -> None:
        self._lines = [""]
        self._row = 0

    def write(self, output: str) -> None:
        """Change the lines as a terminal does. Raises ValueError for an unknown sequence."""
        position = 0
        while position < len(output):
            token = TOKEN.match(output, position)
            if token is None:
                raise ValueError(f"no terminal sequence of rich: {output[position:][:20]!r}")
            self._apply(token)
            position = token.end()

    def _apply(self, token: re.Match[str]) -> None:
        if token["move"] == "A":
            self._row -= int(token["number"] or 1)
        elif token["move"] == "K":
            self._lines[self._row] = ""
        elif token["line"]:
            self._row += 1
            self._lines += [""] * (self._row + 1 - len(self._lines))
        else:
            self._lines[self._row] += token["text"] or token["style"] or ""

    def lines(self) -> tuple[str, ...]:
        return tuple(self._lines)


def record(command: list[str]) -> Iterator[Picture]:
    """Run the command on a terminal and yield each picture. The command ends with the iterator.
    Raises CalledProcessError, and ValueError for an unknown sequence.
    """
    master, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    began = time.monotonic()
    with subprocess.Popen(
        command, stdin=terminal, stdout=terminal, stderr=terminal, env=environment
    ) as process:
        os.close(terminal)
        screen = Screen()
        screen.write(f"$ {' '.join(command)}\n")
        try:
            yield Picture(0, screen.lines())
            for output in outputs(master):
                screen.write(output)
                yield Picture(time.monotonic() - began, screen.lines())
        except BaseException:
            # The end of the block waits for the command, which may wait for a reader of its output.
            process.terminate()
            raise
        finally:
            os.close(master)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)


def outputs(master: int) -> Iterator[str]:
    """Yield what the terminal prints, whole sequences at a time, until all its users have ended."""
    held = b""
    while True:
        try:
            held += os.read(master, 65536)
        except OSError:  # Linux reports the end of a pseudo-terminal as EIO
            return
        # A sequence or a character of UTF-8 may be cut anywhere, but not after the end of a line.
        whole, newline, held = held.rpartition(b"\n")
        if newline:
            yield (whole + newline).decode()


def thinned(pictures: list[Picture]) -> list[Picture]:
    """Leave out the pictures that a reader could not see, because the next one follows too soon."""
    shown: list[Picture] = []
    for picture in pictures:
        if shown and picture.at - shown[-1].at < SHORTEST_SECONDS:
            shown[-1] = Picture(shown[-1].at, picture.lines)
        elif not shown or picture.lines != shown[-1].lines:
            shown.append(picture)
    return shown


def svg(pictures: list[Picture]) -> str:
    """Return the pictures as an animation that begins again after its end."""
    seconds = pictures[-1].at + PAUSE_SECONDS
    ends = [*(picture.at for picture in pictures[1:]), seconds]
    height = max(len(picture.lines) for picture in pictures) * LINE + 2 * MARGIN
    width = COLUMNS * CHARACTER + 2 * MARGIN
    background = THEME.background_color.hex
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
        f'font-family="ui-monospace,Menlo,Consolas,monospace" font-size="14" xml:space="preserve">',
        f'<rect width="100%" height="100%" rx="8" fill="{background}"/>',
    ]
    for picture, end in zip(pictures, ends, strict=True):
        times = f"0;{picture.at / seconds:.4f};{end / seconds:.4f}"
        out.append(
            f'<g visibility="hidden"><animate attributeName="visibility" calcMode="discrete" '
            f'values="hidden;visible;hidden" keyTimes="{times}" dur="{seconds:.1f}s" '
            f'repeatCount="indefinite"/>'
        )
        out += [
            f'<text x="{MARGIN}" y="{MARGIN + LINE * (number + 0.75):.0f}">{spans(line)}</text>'
            for number, line in enumerate(picture.lines)
            if line
        ]
        out.append("</g>")
    return "\n".join([*out, "</svg>", ""])


def spans(line: str) -> str:
    """Return a line as parts of an SVG text, each with its colour."""
    console = Console(file=io.StringIO(), width=COLUMNS, color_system="truecolor")
    return "".join(
        f"<tspan{attributes(part.style or Style())}>{html.escape(part.text)}</tspan>"
        for part in console.render(Text.from_ansi(line, no_wrap=True, end=""))
        if part.text
    )


def attributes(style: Style) -> str:
    colour = (style.color or Color.default()).get_truecolor(THEME).hex
    weight = ' font-weight="bold"' if style.bold else ""
    dim = ' opacity="0.6"' if style.dim else ""
    return f' fill="{colour}"{weight}{dim}'


def main() -> None:
    """Record the command of the arguments."""
    target, *command = sys.argv[1:]
    pathlib.Path(target).write_text(svg(thinned(list(record(command)))), encoding="utf-8")
    print(f"wrote {target}")


if __name__ == "__main__":
    main()
