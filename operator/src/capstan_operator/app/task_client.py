"""Ask the server of a task for the progress of its training."""

from dataclasses import dataclass, field

import grpc
import grpc.aio

METHOD = "/capstan.Training/Progress"
TIMEOUT_SECONDS = 5.0
MAX_BYTES = 1 << 16
"""The largest answer that is read. Any program may listen at the address of a task."""

_OPTIONS = (
    ("grpc.max_receive_message_length", MAX_BYTES),
    ("grpc.max_metadata_size", MAX_BYTES),
    ("grpc.enable_http_proxy", 0),
    ("grpc.enable_retries", 0),
    ("grpc.use_local_subchannel_pool", 1),
)


@dataclass(frozen=True, slots=True)
class Identity:
    """The certificates with which a task is asked. All are PEM.

    `authority` must have signed the task's certificate, which must name `host`.
    """

    authority: bytes
    chain: bytes
    key: bytes = field(repr=False)
    host: str


def _channel(address: str, identity: Identity | None) -> grpc.aio.Channel:
    if identity is None:
        return grpc.aio.insecure_channel(address, options=_OPTIONS)
    credentials = grpc.ssl_channel_credentials(identity.authority, identity.key, identity.chain)
    # The address has the IP of the pod, and the certificate has the DNS name of the task.
    options = (*_OPTIONS, ("grpc.ssl_target_name_override", identity.host))
    return grpc.aio.secure_channel(address, credentials, options=options)


async def progress(address: str, identity: Identity | None) -> bytes | None:
    """Return the answer of the task at `host:port`, or None if the task does not answer.

    Without an `identity`, nothing is encrypted. A server of TensorFlow, and a task without a
    server, do not answer. Takes at most TIMEOUT_SECONDS.
    """
    async with _channel(address, identity) as channel:
        call = channel.unary_unary(METHOD, request_serializer=None, response_deserializer=None)
        try:
            answer: bytes = await call(b"", timeout=TIMEOUT_SECONDS)
        except grpc.aio.AioRpcError:
            return None
        return answer
