"""The links that a loop over tasks keeps from one iteration to the next."""

import socket

from capstan.services import loop_links
from capstan.transport import api, pool, stream

PS = "/job:ps/replica:0/task:0"


class Dialer(api.Dialer):
    """Opens links to sockets of this process."""

    def __init__(self) -> None:
        self.peers: list[socket.socket] = []

    def dial(self, task: str, incarnation: int, deadline: float | None = None) -> api.Link:
        near, far = socket.socketpair()
        self.peers.append(far)
        return stream.StreamLink(near, task)


def test_a_loop_keeps_the_link_to_a_task_that_is_lost() -> None:
    dialer = Dialer()
    links = loop_links.LoopLinks(pool.Pool(dialer))
    link = links.take(PS, 1)
    links.give_back(PS, 1, link)
    dialer.peers[0].close()
    assert links.take(PS, 1) is link
    assert not link.is_quiet()
    link.close()


def test_the_links_of_a_loop_go_back_to_the_pool_when_it_ends() -> None:
    dialer = Dialer()
    shared = pool.Pool(dialer)
    links = loop_links.LoopLinks(shared)
    link = links.take(PS, 1)
    links.give_back(PS, 1, link)
    links.close()
    assert shared.take(PS, 1) is link
    link.close()
    dialer.peers[0].close()
