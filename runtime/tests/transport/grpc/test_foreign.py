"""Addresses at which something other than a task of Capstan listens."""

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent import futures

import grpc
import pytest

from capstan import errors
from capstan.transport.grpc import remote_worker

Connection = socket.socket

_PREFACE_BYTES = 24
_HEADER_BYTES = 9
_HEADERS, _SETTINGS = 1, 4
_END = 0x5
"""The flags of HTTP/2 for the end of the headers and of the stream."""
_NOT_FOUND = b"\x8d"
"""The header `:status: 404` in HPACK."""


def greet_as_ssh(connection: Connection) -> None:
    connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
    while connection.recv(4096):
        pass


def refuse_in_http_1(connection: Connection) -> None:
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")


def refuse_in_http_2(connection: Connection) -> None:
    """Answer the first request with the status 404."""
    connection.sendall(_frame(_SETTINGS, 0, 0, b""))
    with connection.makefile("rb") as received:
        received.read(_PREFACE_BYTES)
        while header := received.read(_HEADER_BYTES):
            received.read(int.from_bytes(header[:3], "big"))
            if header[3] == _HEADERS:
                stream = int.from_bytes(header[5:], "big")
                connection.sendall(_frame(_HEADERS, _END, stream, _NOT_FOUND))


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return (
        len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload
    )


@contextlib.contextmanager
def listening(serve: Callable[[Connection], None]) -> Iterator[str]:
    """Serve each connection, one after the other, and yield the address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection, contextlib.suppress(OSError):
                    serve(connection)

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def fault_at(address: str) -> errors.OpError:
    worker = remote_worker.GrpcWorker(address)
    try:
        with pytest.raises(errors.OpError) as caught:
            worker.get_status()
    finally:
        worker.close()
    return caught.value


def check(fault: errors.OpError, address: str) -> None:
    hint = "The server at this address is probably not a task of Capstan"
    assert re.match(rf"From {address}: .*\. {hint}", fault.message), fault.message


@pytest.mark.parametrize("serve", [greet_as_ssh, refuse_in_http_1, refuse_in_http_2])
def test_a_server_of_another_protocol_is_named_by_its_address(
    serve: Callable[[Connection], None],
) -> None:
    with listening(serve) as address:
        check(fault_at(address), address)


def test_a_server_of_other_services_is_named_by_its_address() -> None:
    server = grpc.server(futures.ThreadPoolExecutor(1))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        check(fault_at(f"127.0.0.1:{port}"), f"127.0.0.1:{port}")
    finally:
        server.stop(None).wait()


def test_an_address_without_a_server_gets_no_such_hint() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    fault = fault_at(f"127.0.0.1:{port}")
    assert isinstance(fault, errors.UnavailableError)
    assert "probably not a task" not in fault.message
