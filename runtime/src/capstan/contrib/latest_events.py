"""Read the newest event file of a folder (contrib/testing/python/framework/util_test.py)."""

import os
from collections.abc import Container, Iterable
from typing import Any

from capstan.resources import event_file


def latest_event_file(base_dir: str | os.PathLike[str]) -> str | None:
    """Return the path of the newest event file in a folder, or None if there is none."""
    with os.scandir(base_dir) as entries:
        found = [entry for entry in entries if entry.name.startswith("events.")]
    return max(found, key=lambda entry: entry.stat().st_mtime_ns).path if found else None


def latest_events(base_dir: str | os.PathLike[str]) -> list[Any]:
    """Return the `Event` messages of the newest event file in a folder."""
    path = latest_event_file(base_dir)
    return [] if path is None else list(event_file.summary_iterator(path))


def latest_summaries(base_dir: str | os.PathLike[str]) -> list[Any]:
    """Return the events of the newest event file in a folder that hold a summary."""
    return [event for event in latest_events(base_dir) if event.HasField("summary")]


def simple_values_from_events(events: Iterable[Any], tags: Container[str]) -> dict[str, float]:
    """Return the number with the highest step for each of the `tags` that `events` hold.

    Raises:
        ValueError: a summary with one of the tags is not a single number.
    """
    newest: dict[str, tuple[int, float]] = {}
    for event in events:
        for value in event.summary.value:
            if value.tag not in tags:
                continue
            if not value.HasField("simple_value"):
                raise ValueError(f"Summary for {value.tag} is not a simple_value.")
            if value.tag not in newest or event.step > newest[value.tag][0]:
                newest[value.tag] = (event.step, value.simple_value)
    return {tag: number for tag, (_, number) in newest.items()}
