"""Ask the server of a task for the progress of its training."""

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


async def progress(address: str) -> bytes | None:
    """Return the answer of the task at `host:port`, or None if the task does not answer.

    A server of TensorFlow, and a task without a server, do not answer. Takes at most
    TIMEOUT_SECONDS.
    """
    async with grpc.aio.insecure_channel(address, options=_OPTIONS) as channel:
        call = channel.unary_unary(METHOD, request_serializer=None, response_deserializer=None)
        try:
            answer: bytes = await call(b"", timeout=TIMEOUT_SECONDS)
        except grpc.aio.AioRpcError:
            return None
        return answer
