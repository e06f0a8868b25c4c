"""Converts errors to gRPC status codes and back. `capstan.errors` uses the same numbers."""

from typing import Final

import grpc

from capstan import errors

_LATE: Final = "Deadline Exceeded"
"""The details that gRPC gives to a call whose time is up."""
_FOREIGN: Final = (
    "Failed parsing HTTP/2",
    "Received http2 header with status",
    "Method not found!",
)
"""What gRPC says of a server that does not speak gRPC, or that has no such method."""
_CODES: Final = {code.value[0]: code for code in grpc.StatusCode}

# Details travel in a header, and clients refuse more than 8 KiB of headers.
_DETAILS_BYTES: Final = 2000


def to_status(error: errors.OpError) -> tuple[grpc.StatusCode, str]:
    """Return code and details for `ServicerContext.abort`. The end of a long message is cut off."""
    code = _CODES.get(error.error_code, grpc.StatusCode.UNKNOWN)
    details = error.message.encode()
    if len(details) > _DETAILS_BYTES:
        details = details[:_DETAILS_BYTES] + b" ..."
    return code, details.decode(errors="ignore")


def is_late(error: grpc.RpcError) -> bool:
    """Return whether this process ended a call because its time was up. A server that reports a
    missed deadline gives details of its own.
    """
    return error.code() is grpc.StatusCode.DEADLINE_EXCEEDED and error.details() == _LATE


def from_call(error: grpc.RpcError, address: str) -> errors.OpError:
    """Return the error for a failed call to `address`."""
    code: int = error.code().value[0]
    details = error.details() or error.code().name
    is_foreign = any(sign in details for sign in _FOREIGN)
    if is_foreign or code == errors.UNAVAILABLE:
        details = f"From {address}: {details}"
    if is_foreign:
        details += (
            ". The server at this address is probably not a task of Capstan, but for example a web "
            "server or SSH. Correct the address, or end the program that has taken it"
        )
    return errors.from_code(code, details)
