"""The conformance suite of links, run over every plane."""

import select
import signal
import time
from concurrent import futures
from typing import Any

import numpy as np
import pytest

from capstan import errors
from capstan.transport import api

BIG = 24 << 20  # more than the buffers of a socket take
PATIENCE_S = 200.0


def frame(subject: int, *values: Any, step: int = 1) -> api.Frame:
    return api.Frame(api.Kind.LEG, step, subject, [np.asarray(value) for value in values])


def readable(link: api.Link, seconds: float) -> bool:
    poll = select.poll()
    poll.register(link.fileno(), select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def assert_same(got: api.Frame, sent: api.Frame) -> None:
    assert (got.kind, got.step, got.subject) == (sent.kind, sent.step, sent.subject)
    assert len(got.values) == len(sent.values)
    for mine, theirs in zip(got.values, sent.values, strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.e2e
def test_frames_arrive_in_order(plane: Any) -> None:
    near, far = plane.pair()
    for number in range(500):
        near.send(frame(number % 7, number, step=number))
    for number in range(500):
        assert_same(far.recv(), frame(number % 7, number, step=number))


def test_every_kind_travels_both_ways(plane: Any) -> None:
    near, far = plane.pair()
    for kind in api.Kind:
        for sender, receiver in ((near, far), (far, near)):
            sender.send(api.Frame(kind, 2**64 - 1, 2**32 - 1))
            assert receiver.recv() == api.Frame(kind, 2**64 - 1, 2**32 - 1, ())


def test_a_frame_may_hold_nothing_or_values_without_elements(plane: Any) -> None:
    near, far = plane.pair()
    sent = frame(1, np.zeros((0, 3), np.float32), np.zeros((2, 0), np.int8))
    near.send(frame(0))
    near.send(sent)
    near.send(frame(2, 5))
    assert_same(far.recv(), frame(0))
    assert_same(far.recv(), sent)
    assert_same(far.recv(), frame(2, 5))


@pytest.mark.e2e
def test_a_frame_may_hold_thousands_of_values_of_all_sizes(plane: Any) -> None:
    near, far = plane.pair()
    sent = frame(1, *(np.full(place % 3000, place, np.float32) for place in range(4000)))
    with futures.ThreadPoolExecutor(1) as aside:
        sending = aside.submit(near.send, sent)
        assert_same(far.recv(), sent)
        sending.result()


def test_strings_keep_their_bytes(plane: Any) -> None:
    near, far = plane.pair()
    words = np.array([[b"", b"\0\0"], ["grün".encode(), b"x" * 70_000]], object)
    near.send(frame(1, words, 3.0, np.array(b"alone", object)))
    assert_same(far.recv(), frame(1, words, 3.0, np.array(b"alone", object)))


def test_values_need_not_be_contiguous(plane: Any) -> None:
    near, far = plane.pair()
    grid = np.arange(60_000.0).reshape(200, 300)
    near.send(frame(1, grid.T, grid[::7, ::-1], np.broadcast_to(np.float32(2), (50, 50))))
    assert_same(
        far.recv(),
        frame(1, grid.T, grid[::7, ::-1], np.broadcast_to(np.float32(2), (50, 50))),
    )


@pytest.mark.e2e
def test_arrays_may_be_reused_once_send_returns(plane: Any, aside: futures.Executor) -> None:
    near, far = plane.pair()
    array = np.full(BIG, 1, np.uint8)

    def send_and_overwrite() -> None:
        near.send(frame(1, array))
        array[:] = 2

    sending = aside.submit(send_and_overwrite)
    (value,) = far.recv().values
    sending.result()
    assert np.all(value == 1)


def test_values_stay_valid_until_the_same_message_arrives_again(plane: Any) -> None:
    near, far = plane.pair()
    near.send(frame(1, np.full(100_000, 1.0)))
    first = far.recv()
    near.send(frame(2, np.full(100_000, 2.0)))
    second = far.recv()
    near.send(api.Frame(api.Kind.DONE, 1, 1, [np.full(100_000, 3.0)]))
    far.recv()
    assert np.all(first.values[0] == 1)
    assert np.all(second.values[0] == 2)


def test_a_message_may_change_its_shape_from_step_to_step(plane: Any) -> None:
    near, far = plane.pair()
    for rows in (3, 5000, 0, 7, 5000, 5000, 1):
        sent = frame(1, np.random.default_rng(rows).normal(size=(rows, 3)), rows)
        near.send(sent)
        assert_same(far.recv(), sent)


@pytest.mark.e2e
def test_both_ends_may_push_large_frames_at_once(plane: Any, aside: futures.Executor) -> None:
    near, far = plane.pair()
    large = {number: np.full(BIG, number, np.uint8) for number in (1, 2, 3, 4)}

    def exchange(link: api.Link, out: tuple[int, int], back: tuple[int, int]) -> None:
        for number in out:
            link.send(frame(7, large[number]))
        for number in back:
            assert_same(link.recv(), frame(7, large[number]))

    ends = [
        aside.submit(exchange, near, (1, 2), (3, 4)),
        aside.submit(exchange, far, (3, 4), (1, 2)),
    ]
    for end in ends:
        end.result()


@pytest.mark.e2e
def test_a_thread_may_send_while_another_receives(plane: Any, aside: futures.Executor) -> None:
    near, far = plane.pair()
    array = np.arange(1 << 20)

    def push(link: api.Link) -> None:
        for step in range(20):
            link.send(frame(1, array, step=step))

    def pull(link: api.Link) -> None:
        for step in range(20):
            assert_same(link.recv(), frame(1, array, step=step))

    for done in [aside.submit(call, link) for call in (push, pull) for link in (near, far)]:
        done.result()


@pytest.mark.e2e
def test_a_frame_that_is_too_large_is_refused_and_the_link_stays_usable(plane: Any) -> None:
    near, far = plane.pair()
    huge = np.broadcast_to(np.uint8(0), (257 << 20,))
    many = [np.zeros(())] * 70_000
    for values in ([huge], many):
        with pytest.raises(errors.ResourceExhaustedError, match="max_message_bytes"):
            near.send(api.Frame(api.Kind.LEG, 1, 1, values))
    near.send(frame(2, 5))
    assert_same(far.recv(), frame(2, 5))


@pytest.mark.parametrize(
    "value, words",
    [
        (np.array(["text"], object), "must be bytes"),
        (np.array([1, 2], ">i4"), "byte order"),
        (np.array(["2026-01-01"], "datetime64[D]"), "M8"),
    ],
)
def test_a_value_that_frames_cannot_carry_is_refused_and_the_link_stays_usable(
    plane: Any, value: Any, words: str
) -> None:
    near, far = plane.pair()
    with pytest.raises(errors.InvalidArgumentError, match=words):
        near.send(frame(1, value))
    near.send(frame(2, 5))
    assert_same(far.recv(), frame(2, 5))


def test_pending_reports_frames_that_polling_cannot_show(plane: Any) -> None:
    near, far = plane.pair()
    assert not far.pending()
    with futures.ThreadPoolExecutor(1) as aside:
        for number in range(3):
            near.send(frame(number))
        assert readable(far, PATIENCE_S)
        assert far.recv().subject == 0
        rest = [1, 2]
        while rest:
            assert far.pending() or readable(far, PATIENCE_S)
            assert aside.submit(far.recv).result().subject == rest.pop(0)
    assert not far.pending()
    assert not readable(far, 0)


def test_a_deadline_ends_the_wait_and_not_the_link(plane: Any) -> None:
    near, far = plane.pair()
    with pytest.raises(errors.DeadlineExceededError):
        far.recv(time.monotonic() + 0.01)
    with pytest.raises(errors.DeadlineExceededError):
        far.recv(time.monotonic() - 5)
    near.send(frame(1, 5))
    assert_same(far.recv(time.monotonic() + PATIENCE_S), frame(1, 5))


def test_frames_sent_before_the_close_still_arrive(plane: Any) -> None:
    near, far = plane.pair()
    near.send(frame(1, np.arange(1000)))
    near.send(frame(2))
    near.close()
    assert_same(far.recv(), frame(1, np.arange(1000)))
    assert_same(far.recv(), frame(2))
    with pytest.raises(errors.UnavailableError, match="the peer closed it"):
        far.recv()


def test_an_offered_frame_arrives_even_if_the_link_is_closed_at_once(plane: Any) -> None:
    near, far = plane.pair()
    far.send(frame(1, 5))  # unread bytes turn the end of a connection into a reset
    assert readable(near, PATIENCE_S)
    assert near.offer(api.Frame(api.Kind.UNDO, 7, 0))
    near.close()
    assert far.recv(time.monotonic() + PATIENCE_S) == api.Frame(api.Kind.UNDO, 7, 0)


def test_an_offer_never_waits(plane: Any, aside: futures.Executor) -> None:
    near, far = plane.pair()
    sending = aside.submit(near.send, frame(1, np.zeros(BIG, np.uint8)))
    assert readable(far, PATIENCE_S)
    assert not near.offer(api.Frame(api.Kind.UNDO, 7, 0))
    near.close()
    with pytest.raises(errors.UnavailableError):
        sending.result(50)
    assert not near.offer(api.Frame(api.Kind.UNDO, 7, 0))


def test_a_link_has_ended_when_the_peer_has_closed_it(plane: Any, eventually: Any) -> None:
    near, far = plane.pair()
    near.send(frame(1))
    assert readable(far, PATIENCE_S)
    assert not far.has_ended()
    far.recv()
    assert not far.has_ended()
    near.close()
    eventually(far.has_ended)


def test_every_call_on_a_closed_link_raises(plane: Any) -> None:
    near, _ = plane.pair()
    near.close()
    near.close()
    for _ in range(2):
        with pytest.raises(errors.UnavailableError, match="closed on this side"):
            near.recv()
        with pytest.raises(errors.UnavailableError, match="closed on this side"):
            near.send(frame(1))
    assert near.fileno() == -1


@pytest.mark.e2e
def test_a_close_from_another_thread_wakes_recv(
    plane: Any, aside: futures.Executor, eventually: Any
) -> None:
    near, _ = plane.pair()
    waiting = aside.submit(near.recv)
    eventually(waiting.running)
    near.close()
    with pytest.raises(errors.UnavailableError):
        waiting.result(50)
    eventually(lambda: near.fileno() == -1)


def test_a_close_from_another_thread_wakes_send(
    plane: Any, aside: futures.Executor, eventually: Any
) -> None:
    near, far = plane.pair()
    sending = aside.submit(near.send, frame(1, np.zeros(BIG, np.uint8)))
    assert readable(far, PATIENCE_S)
    near.close()
    with pytest.raises(errors.UnavailableError):
        sending.result(50)
    eventually(lambda: near.fileno() == -1)


@pytest.mark.alone
def test_recv_raises_when_the_peer_is_killed(plane: Any, aside: futures.Executor) -> None:
    link, peer = plane.peer("echo")
    link.send(frame(1, 5))
    assert_same(link.recv(), frame(1, 5))
    waiting = aside.submit(link.recv)
    peer.signal(signal.SIGKILL)
    with pytest.raises(errors.UnavailableError):
        waiting.result(50)
    with pytest.raises(errors.UnavailableError):
        link.recv()


@pytest.mark.alone
def test_a_frame_of_a_peer_that_is_killed_while_it_sends_is_not_returned(plane: Any) -> None:
    link, peer = plane.peer("flood")
    link.send(frame(1))
    assert readable(link, PATIENCE_S)
    peer.signal(signal.SIGKILL)
    with pytest.raises(errors.UnavailableError, match=r"in the middle of a frame|reset"):
        link.recv()


@pytest.mark.alone
def test_send_raises_when_the_peer_is_killed(plane: Any, aside: futures.Executor) -> None:
    link, peer = plane.peer("echo")
    peer.signal(signal.SIGSTOP)
    sending = aside.submit(link.send, frame(1, np.zeros(BIG, np.uint8)))
    peer.signal(signal.SIGKILL)
    with pytest.raises(errors.UnavailableError):
        sending.result(50)


@pytest.mark.alone
def test_a_stopped_peer_does_not_end_the_link(plane: Any, aside: futures.Executor) -> None:
    link, peer = plane.peer("echo")
    peer.signal(signal.SIGSTOP)
    large = frame(1, np.arange(BIG // 8))
    sending = aside.submit(link.send, large)
    with pytest.raises(errors.DeadlineExceededError):
        link.recv(time.monotonic() + 0.2)
    assert not sending.done()
    peer.signal(signal.SIGCONT)
    assert_same(link.recv(), large)
    sending.result()


@pytest.mark.alone
@pytest.mark.e2e
def test_a_peer_stopped_for_longer_than_the_limit_of_a_dead_host_does_not_end_the_link(
    plane: Any, aside: futures.Executor
) -> None:
    link, peer = plane.peer("echo")
    link.send(frame(1, 5))
    assert_same(link.recv(), frame(1, 5))
    peer.signal(signal.SIGSTOP)
    large = frame(1, np.arange(BIG // 8))
    sending = aside.submit(link.send, large)
    with pytest.raises(errors.DeadlineExceededError):
        link.recv(time.monotonic() + 14)
    assert not sending.done()
    peer.signal(signal.SIGCONT)
    assert_same(link.recv(), large)
    sending.result()


@pytest.mark.e2e
def test_large_feeds_of_many_graphs_share_their_memory(plane: Any) -> None:
    near, far = plane.pair()
    places = set()
    with futures.ThreadPoolExecutor(1) as aside:
        for graph in range(20):
            fed = api.Frame(api.Kind.START, graph, graph, [np.full(2 << 20, graph, np.uint8)])
            sending = aside.submit(near.send, fed)
            (value,) = far.recv().values
            assert np.all(value == graph)
            places.add(value.ctypes.data)
            sending.result()
    assert len(places) <= 2
