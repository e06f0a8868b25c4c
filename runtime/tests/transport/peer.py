"""The other end of a link, as a process that a test may kill or stop.

peer.py tcp PORT TOKEN echo|flood
"""

import sys

import numpy as np

from capstan import errors
from capstan.transport import api, interfaces, listener

BIG = np.zeros(64 << 20, np.uint8)


def main(port: str, token: str, what: str) -> None:
    offer = interfaces.Offer(listener.PLANE, port, bytes.fromhex(token))
    link = listener.connect("127.0.0.1", offer, "the test")
    try:
        while True:
            frame = link.recv()
            values = (BIG,) if what == "flood" else frame.values
            link.send(api.Frame(frame.kind, frame.step, frame.subject, values))
    except errors.UnavailableError:
        link.close()


if __name__ == "__main__":
    main(*sys.argv[2:])
