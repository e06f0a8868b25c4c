"""The rule by which a saver keeps or deletes old checkpoints."""

from collections.abc import Iterable
from dataclasses import dataclass, field

Kept = tuple[str, float]
"""The path of a checkpoint and the time at which it was written, in seconds since 1970."""


@dataclass(slots=True)
class Retention:
    """Keeps the newest `max_to_keep` checkpoints, and one checkpoint in every `every_n_hours`.

    If `max_to_keep` is 0, all checkpoints are kept and none are recorded. `started` is the time at
    which the current span of `every_n_hours` hours began, in seconds since 1970.
    """

    max_to_keep: int
    every_n_hours: float
    started: float
    kept: list[Kept] = field(default_factory=list)
    _doomed: list[Kept] = field(default_factory=list)

    @property
    def paths(self) -> list[str]:
        """The checkpoints that are kept, oldest first."""
        return [path for path, _ in self.kept]

    def recover(self, kept: Iterable[Kept]) -> None:
        """Replace the kept checkpoints by those of an earlier run, oldest first."""
        self.kept = list(kept)

    def record(self, path: str, now: float) -> None:
        """Record that the checkpoint `path` was written at `now`, in seconds since 1970."""
        if not self.max_to_keep:
            return
        self.kept = [entry for entry in self.kept if entry[0] != path]
        self.kept.append((path, now))
        excess = len(self.kept) - self.max_to_keep
        if excess > 0:
            self._doomed += self.kept[:excess]
            del self.kept[:excess]

    def take_doomed(self) -> list[str]:
        """Return the checkpoints to delete. Each is returned only once.

        Call this method after the state file no longer names these checkpoints.

        >>> retention = Retention(1, every_n_hours=1, started=0)
        >>> for minute in (20, 50, 80, 110, 140):
        ...     retention.record(f"{minute} min", minute * 60)
        >>> retention.take_doomed(), retention.paths
        (['20 min', '50 min', '110 min'], ['140 min'])
        """
        deleted = []
        for path, time in self._doomed:
            if time > self.started + self.every_n_hours * 3600:
                self.started += self.every_n_hours * 3600
            else:
                deleted.append(path)
        self._doomed = []
        return deleted
