"""Pretend that a node has GPUs: `device_plugin.py COUNT` runs on the node until it is killed.

The plugin offers COUNT devices `nvidia.com/gpu` to the kubelet. Like NVIDIA's own plugin, it sets
NVIDIA_VISIBLE_DEVICES in each container that requests such devices. It speaks Kubernetes' device
plugin API v1beta1, and encodes and decodes the few messages of that API itself.
"""

import pathlib
import sys
import threading
from collections.abc import Iterator
from concurrent import futures

import grpc

FOLDER = pathlib.Path("/var/lib/kubelet/device-plugins")
RESOURCE = "nvidia.com/gpu"
_ENDPOINT = "testbed-gpu.sock"
_EMPTY = b""


def field(number: int, content: bytes | str) -> bytes:
    """Encode one field that contains text or another message."""
    data = content.encode() if isinstance(content, str) else content
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the content of each field of a message. All its fields must contain text
    or messages.
    """
    at = 0
    while at < len(message):
        key, at = _read_varint(message, at)
        length, at = _read_varint(message, at)
        yield key >> 3, message[at : at + length]
        at += length


def _varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + _varint(rest) if rest else bytes([low])


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = message[at]
        value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
        if byte < 0x80:
            return value, at


class Plugin:
    """The plugin's side of the protocol. Each handler answers one call of the kubelet."""

    def __init__(self, count: int) -> None:
        """Offer `count` devices, all healthy."""
        self._devices = [f"GPU-{number}" for number in range(count)]
        self.stopped = threading.Event()

    def list_and_watch(self, _request: bytes, _context: grpc.ServicerContext) -> Iterator[bytes]:
        devices = [field(1, name) + field(2, "Healthy") for name in self._devices]
        yield b"".join(field(1, device) for device in devices)
        self.stopped.wait()

    def allocate(self, request: bytes, _context: grpc.ServicerContext) -> bytes:
        answers = []
        for _, container in fields(request):
            chosen = ",".join(name.decode() for _, name in fields(container))
            variable = field(1, "NVIDIA_VISIBLE_DEVICES") + field(2, chosen)
            answers.append(field(1, field(1, variable)))
        return b"".join(answers)

    def handlers(self) -> dict[str, grpc.RpcMethodHandler]:
        def nothing(_request: bytes, _context: grpc.ServicerContext) -> bytes:
            return _EMPTY

        return {
            "GetDevicePluginOptions": grpc.unary_unary_rpc_method_handler(nothing),
            "ListAndWatch": grpc.unary_stream_rpc_method_handler(self.list_and_watch),
            "Allocate": grpc.unary_unary_rpc_method_handler(self.allocate),
        }


def main() -> None:
    plugin = Plugin(int(sys.argv[1]))
    (FOLDER / _ENDPOINT).unlink(missing_ok=True)
    server = grpc.server(futures.ThreadPoolExecutor(4))
    handlers = grpc.method_handlers_generic_handler("v1beta1.DevicePlugin", plugin.handlers())
    server.add_generic_rpc_handlers([handlers])
    server.add_insecure_port(f"unix://{FOLDER / _ENDPOINT}")
    server.start()
    with grpc.insecure_channel(f"unix://{FOLDER}/kubelet.sock") as kubelet:
        register = kubelet.unary_unary("/v1beta1.Registration/Register")
        request = field(1, "v1beta1") + field(2, _ENDPOINT) + field(3, RESOURCE)
        register(request, wait_for_ready=True, timeout=60)
    plugin.stopped.wait()


if __name__ == "__main__":
    main()
