"""Service names and channel options of gRPC, the same on both sides of a connection."""

from typing import Any, Final

import grpc
from google.protobuf import message

from capstan import errors
from capstan.transport import certificates
from capstan.transport.grpc import security, wire

MASTER: Final = "tensorflow.MasterService"
WORKER: Final = "capstan.Worker"

_LARGEST: Final = (1 << 31) - 1
_KEEPALIVE_MS: Final = 10_000
# gRPC also sets TCP_USER_TIMEOUT to this time. Linux counts the time in which a stopped process
# does not read, so a process may be stopped for this long before it counts as dead.
_KEEPALIVE_TIMEOUT_MS: Final = 20_000

_LARGEST_RECEIVED: Final = "grpc.max_receive_message_length"
# The stream plane sends messages of 1 MiB (tunnel.py), whatever the bound on requests is.
_LEAST_BOUND: Final = 4 << 20

_BOTH: Final = [
    # gRPC's default limit is less than 5 MB.
    ("grpc.max_send_message_length", _LARGEST),
    # A dead host closes no connection. Send pings to find it, also when no call is in progress.
    ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
    ("grpc.keepalive_timeout_ms", _KEEPALIVE_TIMEOUT_MS),
    # gRPC sends no keepalive while it waits for a bandwidth ping, by default for up to a minute.
    ("grpc.http2.ping_timeout_ms", _KEEPALIVE_TIMEOUT_MS),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
]
_SERVER_OPTIONS: Final = [
    *_BOTH,
    # Without this option, two servers could share one port, and each would answer some calls.
    ("grpc.so_reuseport", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", _KEEPALIVE_MS // 2),
]
_CLIENT_OPTIONS: Final = [
    *_BOTH,
    (_LARGEST_RECEIVED, _LARGEST),
    # A replaced task has a new address under its old name, and is back within seconds.
    ("grpc.dns_min_time_between_resolutions_ms", 500),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # Tasks connect to each other directly, even if the environment names a proxy.
    ("grpc.enable_http_proxy", 0),
]

_OWN_CONNECTION: Final = ("grpc.use_local_subchannel_pool", 1)


def server_options(max_request_bytes: int) -> list[tuple[str, int]]:
    """Return the options of a server that reads no request of more than `max_request_bytes`."""
    largest = min(max(max_request_bytes, _LEAST_BOUND), _LARGEST)
    return [*_SERVER_OPTIONS, (_LARGEST_RECEIVED, largest)]


def open_channel(
    address: str, held: certificates.Certificates | None = None, *, is_shared: bool = True
) -> grpc.Channel:
    """Return a channel to `host:port`. The channel connects when it is used.

    With certificates, it is a channel of `security.open_channel`. If not `is_shared`, it has a
    connection of its own, which is closed with it.
    """
    options = _CLIENT_OPTIONS if is_shared else [*_CLIENT_OPTIONS, _OWN_CONNECTION]
    return security.open_channel(address, options, held)


def method(channel: grpc.Channel, service: str, name: str) -> Any:
    """Return the callable for a method, with the messages `<name>Request` and `<name>Response`.

    The request may also be the bytes of its message.
    """
    return channel.unary_unary(
        f"/{service}/{name}",
        request_serializer=serialised,
        response_deserializer=getattr(wire, f"{name}Response").FromString,
    )


def serialised(request: Any) -> bytes:
    """Return the bytes of a request, which is a message or its bytes."""
    return request if isinstance(request, bytes) else bytes(request.SerializeToString())


def handler(name: str, answer: Any) -> "grpc.RpcMethodHandler[Any, Any]":
    """Return the server side of a method.

    `answer` gets an iterator of the bytes of the request, for `read`. gRPC reads the request when
    `answer` asks for it. On the wire, a stream of one message is a message.
    """
    return grpc.stream_unary_rpc_method_handler(
        answer, response_serializer=getattr(wire, f"{name}Response").SerializeToString
    )


def read(name: str, data: bytes) -> Any:
    """Return the parsed request of a method.

    If gRPC parsed the bytes, it would report malformed bytes as an internal error.

    Raises:
        InvalidArgumentError: the bytes are not a request of this method.
    """
    try:
        return getattr(wire, f"{name}Request").FromString(data)
    except message.DecodeError as error:
        raise errors.InvalidArgumentError(
            None, None, f"The {len(data)} bytes of the call are not a {name}Request: {error}"
        ) from None
