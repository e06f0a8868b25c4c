"""The messages are encoded as TensorFlow encodes them."""

import pytest

from capstan.transport.grpc import wire


def test_a_run_step_has_tensorflows_bytes() -> None:
    request = wire.RunStepRequest(
        session_handle="s", fetch=["x:0"], store_errors_in_response_body=True, request_id=5
    )
    assert request.SerializeToString() == b"\x0a\x01s\x1a\x03x:0\x38\x01\x40\x05"


def test_every_message_of_the_table_is_a_class() -> None:
    for name in ("DeviceAttributes", "ConnectResponse", "CloseSessionResponse", "GraphDef"):
        message = getattr(wire, name)()
        assert message.SerializeToString() == b""
        assert getattr(wire, name) is type(message)


def test_an_unknown_message_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no message 'RunStepReqest'"):
        wire.RunStepReqest  # noqa: B018
