"""The links of a loop that spans tasks. Every iteration uses the same links."""

from capstan.transport import api


class LoopLinks(api.Links):
    """Implements `api.Links` for one loop, whose steps follow each other. Not thread-safe.

    The loop keeps each link until it ends. If a task is lost, its link is dead, and the next
    iteration fails at once. A pool would replace the link, and wait for the task to come back.
    """

    def __init__(self, pool: api.Links) -> None:
        self._pool = pool
        self._kept: dict[tuple[str, int], api.Link] = {}

    def take(self, task: str, incarnation: int, deadline: float | None = None) -> api.Link:
        """Return the link of the loop to `task`, or a link of the pool, as `api.Links.take`."""
        kept = self._kept.pop((task, incarnation), None)
        return self._pool.take(task, incarnation, deadline) if kept is None else kept

    def give_back(self, task: str, incarnation: int, link: api.Link) -> None:
        """Keep `link` for the next iteration."""
        self._kept[task, incarnation] = link

    def close(self) -> None:
        """Give the links back to the pool, after the loop has ended."""
        while self._kept:
            (task, incarnation), link = self._kept.popitem()
            self._pool.give_back(task, incarnation, link)
