"""Transfers between a GPU of a worker and a parameter server without one, on the same machine.

The bound is PyTorch's copy of as many bytes between the GPU and pinned memory of its process.
"""

from typing import Any

import contest
from gpu import capstan_side, row, torch_side

PINNED = "copy to or from pinned memory"
ELEMENTS = 25_000_000
PS = "/job:ps/task:0/device:CPU:0"


def transfer(title: str, capstan: row.Prepare, bound: row.Prepare) -> row.Row:
    """Return the row of a transfer of float32 elements. The size is their number."""
    return row.Row(
        title,
        "GB/s",
        (ELEMENTS,),
        {row.CAPSTAN: capstan, PINNED: bound},
        work=lambda _, sizes: 4 * sizes[0],
        ps=1,
    )


def pull(place: row.Place) -> contest.Step:
    """Return a step in which the GPU gets a variable of the ps. It fetches one of its elements."""
    tf = capstan_side.load()
    with tf.device(PS):
        source = _variable(tf, "source", place)
    with tf.device(_worker(place)):
        first = tf.identity(source)[0]
    return capstan_side.step(place, first)


def push(place: row.Place) -> contest.Step:
    """Return a step in which the ps adds a variable of the GPU to its own."""
    tf = capstan_side.load()
    with tf.device(_worker(place)):
        source = _variable(tf, "source", place)
    with tf.device(PS):
        sink = _variable(tf, "sink", place)
    with tf.device(_worker(place)):
        value = tf.identity(source)
    added = tf.assign_add(sink, value)
    with tf.device(PS):
        # An element of the sum is ready when the ps has added all elements.
        first = added[0]
    return capstan_side.step(place, first)


def from_pinned(place: row.Place) -> contest.Step:
    """Return a step of PyTorch that copies from pinned memory to the device."""
    on_device, on_host = _tensors(place)
    return _copy(place, on_host, on_device)


def to_pinned(place: row.Place) -> contest.Step:
    """Return a step of PyTorch that copies from the device to pinned memory."""
    on_device, on_host = _tensors(place)
    return _copy(place, on_device, on_host)


def _worker(place: row.Place) -> str:
    return f"/job:worker/task:0/device:{place.device.upper()}:0"


def _variable(tf: Any, name: str, place: row.Place) -> Any:
    return tf.get_variable(name, place.sizes, initializer=tf.zeros_initializer())


def _tensors(place: row.Place) -> tuple[Any, Any]:
    torch = torch_side.load()
    on_device = torch.zeros(place.sizes, device=torch_side.DEVICES[place.device])
    return on_device, torch_side.pinned(place.device, torch.zeros(place.sizes))


def _copy(place: row.Place, source: Any, destination: Any) -> contest.Step:
    def step() -> None:
        destination.copy_(source, non_blocking=True)
        torch_side.synchronize(place.device)

    return step
