"""PyTorch's side of the rows about GPUs. PyTorch is not in Capstan's environment."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any

DEVICES = {"gpu": "cuda", "cpu": "cpu"}
"""PyTorch's names of the devices."""

WARM_UPS = 3


def load() -> Any:
    """Return PyTorch."""
    return importlib.import_module("torch")


def synchronize(device: str) -> None:
    """Wait until the device has finished its work."""
    if device == "gpu":
        load().cuda.synchronize()


def pinned(device: str, tensor: Any) -> Any:
    """Return a copy of `tensor` in pinned memory of the host. The CPU needs no such copy."""
    return tensor.pin_memory() if device == "gpu" else tensor


def captured(device: str, work: Callable[[], Any]) -> Callable[[], Any]:
    """Record `work` as a CUDA graph, and return a function that replays the graph.

    `work` must use the same tensors in each call. Each replay fills the tensor of its result anew.
    On the CPU the function is `work` itself.
    """
    if device == "cpu":
        return work
    cuda = load().cuda
    # PyTorch's notes on CUDA graphs ask for a warm-up on a side stream before the capture.
    side = cuda.Stream()
    side.wait_stream(cuda.current_stream())
    with cuda.stream(side):
        for _ in range(WARM_UPS):
            work()
    cuda.current_stream().wait_stream(side)
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        result = work()

    def replay() -> Any:
        graph.replay()
        return result

    return replay


def versions(device: str) -> Mapping[str, Any]:
    """Return the versions of PyTorch and of its CUDA."""
    torch = load()
    found = {"PyTorch": torch.__version__}
    if device == "gpu":
        found["CUDA of PyTorch"] = torch.version.cuda
    return found
