"""Service names and channel options of gRPC, the same on both sides of a connection."""

from typing import Any, Final

import grpc
from google.protobuf import message

from capstan import errors
from capstan.transport.grpc import wire

MASTER: Final = "tensorflow.MasterService"
WORKER: Final = "capstan.Worker"

_LARGEST: Final = (1 << 31) - 1
_KEEPALIVE_MS: Final = 10_000
# gRPC also sets TCP_USER_TIMEOUT to this time. Linux counts the time in which a stopped process
# does not read, so a process may be stopped for this long before it counts as dead.
_KEEPALIVE_TIMEOUT_MS: Final = 20_000

_BOTH: Final = [
    # gRPC's default limit is less than 5 MB.
    ("grpc.max_send_message_length", _LARGEST),
    ("grpc.max_receive_message_length", _LARGEST),
    # A dead host closes no connection. Send pings to find it, also when no call is in progress.
    ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
    ("grpc.keepalive_timeout_ms", _KEEPALIVE_TIMEOUT_MS),
    # gRPC sends no keepalive while it waits for a bandwidth ping, by default for up to a minute.
    ("grpc.http2.ping_timeout_ms", _KEEPALIVE_TIMEOUT_MS),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
]
SERVER_OPTIONS: Final = [
    *_BOTH,
    # Without this option, two servers could share one port, and each would answer some calls.
    ("grpc.so_reuseport", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", _KEEPALIVE_MS // 2),
]
_CLIENT_OPTIONS: Final = [
    *_BOTH,
    # A replaced task has a new address under its old name, and is back within seconds.
    ("grpc.dns_min_time_between_resolutions_ms", 500),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # Tasks connect to each other directly, even if the environment names a proxy.
    ("grpc.enable_http_proxy", 0),
]


def open_channel(address: str) -> grpc.Channel:
    """Return a channel to `host:port`. The channel connects when it is used."""
    return grpc.insecure_channel(address, options=_CLIENT_OPTIONS)


def method(channel: grpc.Channel, service: str, name: str) -> Any:
    """Return the callable for a method, with the messages `<name>Request` and `<name>Response`."""
    return channel.unary_unary(
        f"/{service}/{name}",
        request_serializer=getattr(wire, f"{name}Request").SerializeToString,
        response_deserializer=getattr(wire, f"{name}Response").FromString,
    )


def handler(name: str, answer: Any) -> "grpc.RpcMethodHandler[Any, Any]":
    """Return the server side of a method. `answer` gets the request as bytes for `read`."""
    return grpc.unary_unary_rpc_method_handler(
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
