"""A table in a terminal that leaves out whole columns until it fits."""

from collections.abc import Sequence

from rich import box
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

REASON = "REASON"
"""The only column whose cells may be cut, because the reason is also in the news and the log."""

_SHORTEST_REASON = 10
"""The smallest useful width of the reason, in characters. The number is a guess."""

_GAP = 3
"""Characters between two columns of the table."""

_WIDE = 10_000


class Fitted:
    """The rows of a table. `least_first` names the columns that may go, the first one first."""

    def __init__(
        self,
        columns: Sequence[tuple[str, JustifyMethod]],
        rows: Sequence[Sequence[Text]],
        least_first: Sequence[str],
    ) -> None:
        self._columns = columns
        self._rows = rows
        present = {name for name, _ in columns}
        self._least_first = [name for name in least_first if name in present]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        gone = next(
            (
                self._least_first[:count]
                for count in range(len(self._least_first))
                if self._needs(self._least_first[:count], console, options) <= options.max_width
            ),
            self._least_first,
        )
        yield self._grid(gone)

    def _needs(self, gone: Sequence[str], console: Console, options: ConsoleOptions) -> int:
        """Return the width that the table needs without the columns in `gone`.

        The table may cut the reason.
        """
        wide = options.update(max_width=_WIDE)
        fixed = Measurement.get(console, wide, self._grid([*gone, REASON])).maximum
        has_reason = any(name == REASON for name, _ in self._columns) and REASON not in gone
        return fixed + _GAP + _SHORTEST_REASON if has_reason else fixed

    def _grid(self, gone: Sequence[str]) -> Table:
        grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        shown = [index for index, (name, _) in enumerate(self._columns) if name not in gone]
        for name, justify in (self._columns[index] for index in shown):
            grid.add_column(name, justify=justify, no_wrap=name != REASON)
        for row in self._rows:
            grid.add_row(*(row[index] for index in shown))
        return grid
