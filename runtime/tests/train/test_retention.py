"""Tests of retention: the newest checkpoints are kept, and one in every span of hours."""

from hypothesis import given
from hypothesis import strategies as st

from capstan.train import retention

times = st.lists(st.floats(0, 1e6), min_size=1, max_size=40).map(sorted)


def record(kept: retention.Retention, written: list[float]) -> list[str]:
    deleted = []
    for number, time in enumerate(written):
        kept.record(f"m-{number}", time)
        deleted += kept.take_doomed()
    return deleted


@given(times, st.integers(1, 6))
def test_the_newest_checkpoints_are_kept_and_all_others_are_deleted_once(
    written: list[float], count: int
):
    kept = retention.Retention(count, every_n_hours=1e9, started=0)
    deleted = record(kept, written)
    everything = [f"m-{number}" for number in range(len(written))]
    assert kept.paths == everything[-count:]
    assert deleted == everything[:-count]


@given(times)
def test_nothing_is_deleted_without_a_limit(written: list[float]):
    assert record(retention.Retention(0, 1, 0), written) == []


@given(times, st.floats(0.1, 50))
def test_one_checkpoint_in_every_span_is_kept_beyond_the_limit(written: list[float], hours: float):
    kept = retention.Retention(1, hours, started=0)
    deleted = record(kept, written)
    spared = [time for number, time in enumerate(written[:-1]) if f"m-{number}" not in deleted]
    assert len(spared) <= written[-1] / (hours * 3600) + 1
    assert all(time > (n + 1) * hours * 3600 * (1 - 1e-9) for n, time in enumerate(spared))


def test_a_checkpoint_that_is_written_again_counts_once():
    kept = retention.Retention(2, 1, 0)
    for name in ("a", "b", "a"):
        kept.record(name, 0)
    assert kept.paths == ["b", "a"]
    assert kept.take_doomed() == []
