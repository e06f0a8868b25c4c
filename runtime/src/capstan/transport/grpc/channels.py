"""How this software uses gRPC: names, limits and patience, the same on both sides."""

from typing import Any, Final

import grpc
from google.protobuf import message

from capstan import errors
from capstan.transport.grpc import wire

MASTER: Final = "tensorflow.MasterService"
WORKER: Final = "capstan.Worker"

_LARGEST: Final = (1 << 31) - 1
_KEEPALIVE_MS: Final = 10_000
# gRPC also sets TCP_USER_TIMEOUT to this, and Linux counts the time in which a stopped process does
# not read: that long a process may be stopped before it counts as dead.
_KEEPALIVE_TIMEOUT_MS: Final = 20_000

_BOTH: Final = [
    # The default refuses 5 MB.
    ("grpc.max_send_message_length", _LARGEST),
    ("grpc.max_receive_message_length", _LARGEST),
    # A host that died says nothing: ask, also when no call is under way.
    ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
    ("grpc.keepalive_timeout_ms", _KEEPALIVE_TIMEOUT_MS),
    # While a ping that measures bandwidth is under way no other is sent, and it may take a minute.
    ("grpc.http2.ping_timeout_ms", _KEEPALIVE_TIMEOUT_MS),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
]
SERVER_OPTIONS: Final = [
    *_BOTH,
    # Otherwise two servers share one port, and each answers some of the calls.
    ("grpc.so_reuseport", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", _KEEPALIVE_MS // 2),
]
_CLIENT_OPTIONS: Final = [
    *_BOTH,
    # A replaced task has a new address under its old name, and is back within seconds.
    ("grpc.dns_min_time_between_resolutions_ms", 500),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # Tasks reach each other directly, whatever the environment says about the way to the world.
    ("grpc.enable_http_proxy", 0),
]


def open_channel(address: str) -> grpc.Channel:
    """Return a channel to `host:port`; it connects when it is used."""
    return grpc.insecure_channel(address, options=_CLIENT_OPTIONS)


def method(channel: grpc.Channel, service: str, name: str) -> Any:
    """Return the callable for a method; its messages are `<name>Request` and `<name>Response`."""
    return channel.unary_unary(
        f"/{service}/{name}",
        request_serializer=getattr(wire, f"{name}Request").SerializeToString,
        response_deserializer=getattr(wire, f"{name}Response").FromString,
    )


def handler(name: str, answer: Any) -> "grpc.RpcMethodHandler[Any, Any]":
    """Return the server's end of a method; `answer` gets the request as bytes, see `read`."""
    return grpc.unary_unary_rpc_method_handler(
        answer, response_serializer=getattr(wire, f"{name}Response").SerializeToString
    )


def read(name: str, data: bytes) -> Any:
    """Return the request of a method. Left to gRPC, what is none would end as an internal error.

    Raises:
        InvalidArgumentError: the bytes are no such message.
    """
    try:
        return getattr(wire, f"{name}Request").FromString(data)
    except message.DecodeError as error:
        raise errors.InvalidArgumentError(
            None, None, f"The {len(data)} bytes of the call are no {name}Request: {error}"
        ) from None
