"""Links between steps are kept, replaced if the peer is gone, and dialled after a restart."""

import contextlib
import select
import time
from collections.abc import Iterator, Sequence

import pytest

from capstan import errors
from capstan.transport import api, dialer, doors, listener, pool

PS = "/job:ps/replica:0/task:0"


def answer(link: api.Link, hello: listener.Hello) -> None:
    while True:
        link.send(link.recv())


class Ps:
    """A task behind a listener, which can restart and be away.

    Tests call its control plane directly. `back_at` is the number of the request that restarts it.
    """

    def __init__(self) -> None:
        self.door: listener.Listener | None = None
        self.requests = 0

    def start(self, incarnation: int) -> None:
        self.stop()
        self.door = listener.Listener("127.0.0.1", incarnation, answer)

    def stop(self) -> None:
        if self.door is not None:
            self.door.close()
        self.door = None

    def connect(
        self, task: str, incarnation: int, planes: Sequence[str], deadline: float | None = None
    ) -> doors.Offer:
        self.requests += 1
        if self.door is None:
            if self.requests == self.back_at:
                self.start(incarnation)
            raise errors.UnavailableError(None, None, "connection refused")
        return self.door.connect(task, incarnation, planes)

    back_at = 0


@pytest.fixture
def ps() -> Iterator[Ps]:
    task = Ps()
    task.start(1)
    yield task
    task.stop()


@pytest.fixture
def links(ps: Ps) -> Iterator[pool.Pool]:
    made = pool.Pool(dialer.LinkDialer("/job:worker", {PS: "127.0.0.1:2222"}, lambda task: ps))
    with contextlib.closing(made):
        yield made


def assert_works(link: api.Link) -> None:
    link.send(api.Frame(api.Kind.START, 5, 6))
    assert link.recv(time.monotonic() + 20) == api.Frame(api.Kind.START, 5, 6)


def test_a_link_that_was_given_back_is_reused(links: pool.Pool, ps: Ps) -> None:
    first = links.take(PS, 1)
    links.give_back(PS, 1, first)
    assert links.take(PS, 1) is first
    assert_works(first)
    assert ps.requests == 1
    first.close()


def test_a_link_has_one_taker_at_a_time(links: pool.Pool) -> None:
    leased = [links.take(PS, 1) for _ in range(3)]
    assert len(set(map(id, leased))) == 3
    for link in leased:
        assert_works(link)
        links.give_back(PS, 1, link)
    assert set(map(id, (links.take(PS, 1) for _ in range(3)))) == set(map(id, leased))
    for link in leased:
        link.close()


def test_a_link_whose_peer_is_gone_is_replaced(links: pool.Pool, ps: Ps) -> None:
    old = links.take(PS, 1)
    links.give_back(PS, 1, old)
    ps.start(1)
    new = links.take(PS, 1)
    assert new is not old
    assert_works(new)
    assert old.fileno() == -1
    new.close()


def test_a_link_that_was_closed_is_not_kept(links: pool.Pool) -> None:
    closed = links.take(PS, 1)
    closed.close()
    links.give_back(PS, 1, closed)
    fresh = links.take(PS, 1)
    assert_works(fresh)
    fresh.close()


def test_a_link_with_unread_data_is_not_reused(links: pool.Pool) -> None:
    noisy = links.take(PS, 1)
    for _ in range(2):
        noisy.send(api.Frame(api.Kind.START, 1, 1))
    noisy.recv(time.monotonic() + 20)
    poll = select.poll()
    poll.register(noisy.fileno(), select.POLLIN)
    assert noisy.pending() or poll.poll(20_000)
    links.give_back(PS, 1, noisy)
    fresh = links.take(PS, 1)
    assert fresh is not noisy
    assert_works(fresh)
    fresh.close()


def test_a_link_to_a_restarted_task_needs_its_new_incarnation(links: pool.Pool, ps: Ps) -> None:
    old = links.take(PS, 1)
    links.give_back(PS, 1, old)
    ps.start(2)
    with pytest.raises(errors.AbortedError, match="incarnation 2: the task was restarted"):
        links.take(PS, 1)
    new = links.take(PS, 2)
    assert_works(new)
    links.give_back(PS, 2, new)


def test_links_to_an_earlier_incarnation_are_closed(links: pool.Pool, ps: Ps) -> None:
    first, second = links.take(PS, 1), links.take(PS, 1)
    links.give_back(PS, 1, first)
    ps.start(2)
    new = links.take(PS, 2)
    links.give_back(PS, 2, new)
    assert first.fileno() == -1
    second.close()


def test_take_waits_for_a_task_that_is_away(links: pool.Pool, ps: Ps) -> None:
    ps.stop()
    ps.back_at = 3
    link = links.take(PS, 1, time.monotonic() + 20)
    assert ps.requests == 4
    assert_works(link)
    link.close()


def test_a_task_that_stays_away_is_unavailable(links: pool.Pool, ps: Ps) -> None:
    ps.stop()
    with pytest.raises(
        errors.UnavailableError, match=r"ps.* at 127\.0\.0\.1:2222 cannot be reached: .*refused"
    ):
        links.take(PS, 1, time.monotonic() + 1)


def test_a_closed_pool_keeps_nothing(links: pool.Pool) -> None:
    idle, leased = links.take(PS, 1), links.take(PS, 1)
    links.give_back(PS, 1, idle)
    links.close()
    assert idle.fileno() == -1
    assert_works(leased)
    links.give_back(PS, 1, leased)
    assert leased.fileno() == -1
    with pytest.raises(errors.UnavailableError, match="shutting down"):
        links.take(PS, 1)
