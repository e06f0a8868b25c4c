"""The other end of a link, in a process that a test may kill or stop.

peer.py tcp PORT TOKEN echo|flood
peer.py grpc ADDRESS TOKEN echo|flood
"""

import sys

import numpy as np

from capstan import errors
from capstan.transport import api, doors, listener, sockets
from capstan.transport.grpc import remote_worker

BIG = np.zeros(64 << 20, np.uint8)


def main(plane: str, where: str, token: str, behaviour: str) -> None:
    if plane == listener.TCP:
        sock = sockets.dial("127.0.0.1", int(where), 10)
    else:
        sock = remote_worker.GrpcWorker(where).open_tunnel()
    link = listener.greet(sock, doors.Offer(plane, "", bytes.fromhex(token)), "the test")
    try:
        while True:
            frame = link.recv()
            values = (BIG,) if behaviour == "flood" else frame.values
            link.send(api.Frame(frame.kind, frame.step, frame.subject, values))
    except errors.UnavailableError:
        link.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
