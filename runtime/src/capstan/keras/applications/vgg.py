"""The networks VGG16 and VGG19: Very Deep Convolutional Networks for Large-Scale Image Recognition,
https://arxiv.org/abs/1409.1556 (keras_applications/{vgg16,vgg19}.py).
"""

from typing import Any

from capstan.keras import layers
from capstan.keras.applications import architecture

_ORIGIN = "https://github.com/fchollet/deep-learning-models/releases/download/v0.1/"


def network(
    arguments: architecture.Arguments, name: str, depths: tuple[int, ...], hashes: tuple[str, str]
) -> Any:
    """Return a network of five blocks, with `depths` convolutions in each."""
    images = x = arguments.images(224, 32)
    for block, (depth, filters) in enumerate(zip(depths, (64, 128, 256, 512, 512), strict=True), 1):
        for number in range(1, depth + 1):
            x = layers.Conv2D(
                filters, 3, activation="relu", padding="same", name=f"block{block}_conv{number}"
            )(x)
        x = layers.MaxPooling2D(2, 2, name=f"block{block}_pool")(x)
    if arguments.include_top:
        x = layers.Flatten(name="flatten")(x)
        x = layers.Dense(4096, activation="relu", name="fc1")(x)
        x = layers.Dense(4096, activation="relu", name="fc2")(x)
        x = layers.Dense(arguments.classes, activation="softmax", name="predictions")(x)
    else:
        x = arguments.pooled(x)
    return arguments.model(images, x, name, architecture.Files.of(_ORIGIN, name, hashes))
