"""The health service, called with the bytes that any client of the protocol sends."""

import grpc
import pytest

CHECK = "/grpc.health.v1.Health/Check"
SERVING = b"\x08\x01"


def check(address: str, request: bytes) -> bytes:
    with grpc.insecure_channel(address) as channel:
        call = channel.unary_unary(CHECK)
        answer: bytes = call(request, timeout=60, wait_for_ready=True)
        return answer


def named(service: str) -> bytes:
    return b"\x0a" + bytes([len(service)]) + service.encode()


@pytest.mark.parametrize(
    "request_bytes", [b"", named("tensorflow.MasterService"), named("capstan.Worker")]
)
def test_a_server_that_answers_is_healthy(address: str, request_bytes: bytes) -> None:
    assert check(address, request_bytes) == SERVING


@pytest.mark.parametrize(
    "request_bytes, code",
    [(named("other"), grpc.StatusCode.NOT_FOUND), (b"\xff", grpc.StatusCode.INVALID_ARGUMENT)],
)
def test_a_wrong_question_is_refused(
    address: str, request_bytes: bytes, code: grpc.StatusCode
) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        check(address, request_bytes)
    assert caught.value.code() is code  # type: ignore[attr-defined]
