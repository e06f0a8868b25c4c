"""`tf.keras.utils.multi_gpu_model` (python/keras/utils/multi_gpu_utils.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.api import array_ops, context
from capstan.api.layers import sessions
from capstan.framework import graph as graphs
from capstan.framework import nest
from capstan.keras import models
from capstan.keras.layers import lambda_layer, merging


def multi_gpu_model(
    model: Any, gpus: int | Sequence[int], cpu_merge: bool = True, cpu_relocation: bool = False
) -> models.Model:
    """Return a model that divides each batch among GPUs, which share the variables of `model`.

    `gpus` is the number of GPUs, or their numbers. The last GPU gets the rest of a batch that
    cannot be divided equally. The outputs are joined on the CPU, or on the first GPU without
    `cpu_merge`. With `cpu_relocation`, the variables are those of a new copy of the model, on the
    CPU. To save the weights, save `model`.

    Raises:
        ValueError: there are fewer than two GPUs, or the task does not have them.
    """
    numbers = list(range(gpus)) if isinstance(gpus, int) else list(gpus)
    _check_gpus(gpus, numbers)
    if cpu_relocation:
        with context.device("/cpu:0"):
            model = models.clone_model(model)
    parts = [_on_gpu(model, place, numbers) for place in range(len(numbers))]
    with context.device("/cpu:0" if cpu_merge else f"/gpu:{numbers[0]}"):
        merged = [
            merging.concatenate(list(outputs), axis=0, name=name)
            for name, outputs in zip(model.output_names, zip(*parts, strict=True), strict=True)
        ]
    return models.Model(model.inputs, merged)


def _check_gpus(gpus: Any, numbers: Sequence[int]) -> None:
    if len(numbers) < 2:
        wanted = "gpus" if isinstance(gpus, int) else "len(gpus)"
        raise ValueError(
            f"For multi-gpu usage to be effective, call `multi_gpu_model` with `{wanted} >= 2`. "
            f"Received: `gpus={gpus}`"
        )
    wanted_devices = ["/cpu:0", *(f"/gpu:{number}" for number in numbers)]
    devices = [device.name for device in sessions.get_session().list_devices()]
    available = ["/" + name.lower().partition("device:")[2] for name in devices]
    if not set(wanted_devices) <= set(available):
        raise ValueError(
            f"To call `multi_gpu_model` with `gpus={gpus}`, we expect the following devices to be "
            f"available: {wanted_devices}. However this machine only has: {available}. Try "
            "reducing `gpus`."
        )


def _on_gpu(model: Any, place: int, numbers: Sequence[int]) -> list[Any]:
    """Return the outputs of the model for its part of a batch."""
    number, count = numbers[place], len(numbers)
    with (
        context.device(f"/gpu:{number}"),
        graphs.get_default_graph().name_scope(f"replica_{number}"),
    ):
        inputs = [
            lambda_layer.Lambda(_part, arguments={"place": place, "count": count})(whole)
            for whole in model.inputs
        ]
        return nest.flatten(model(inputs[0] if len(inputs) == 1 else inputs))


def _part(whole: Any, place: int, count: int) -> Any:
    """Return one of `count` parts of a batch. The last has the rest of the examples too."""
    size = array_ops.shape(whole)[0] // count
    part = whole[size * place :] if place == count - 1 else whole[size * place : size * (place + 1)]
    part.set_shape([None, *whole.shape.as_list()[1:]])
    return part
