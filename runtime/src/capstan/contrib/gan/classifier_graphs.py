"""Frozen classifiers that judge images
(contrib/gan/python/eval/python/classifier_metrics_impl.py).
"""

import os
import sys
import tarfile
import urllib.request
from collections.abc import Callable
from typing import Any

from tensorboard.compat.proto import graph_pb2

from capstan.api import (
    array_ops,
    file_io,
    image_resizing,
    importer,
    math_ops,
    resource_loader,
)
from capstan.api.scoped import scoped
from capstan.contrib.layers import dense
from capstan.core import dtypes
from capstan.framework import convert

INCEPTION_DEFAULT_IMAGE_SIZE = 299
INCEPTION_URL = (
    "https://storage.googleapis.com/download.tensorflow.org/models/"
    "frozen_inception_v1_2015_12_05.tar.gz"
)
INCEPTION_FROZEN_GRAPH = "inceptionv1_for_inception_score.pb"
INCEPTION_INPUT = "Mul:0"
INCEPTION_OUTPUT = "logits:0"
INCEPTION_FINAL_POOL = "pool_3:0"


def get_graph_def_from_disk(filename: str) -> Any:
    """Return the GraphDef in a file. Raises tf.errors.NotFoundError if there is none."""
    with file_io.GFile(filename, "rb") as file:
        return _parsed(file.read())


def get_graph_def_from_resource(filename: str) -> Any:
    """Return the GraphDef in a file whose path is relative to the calling module's."""
    return _parsed(resource_loader.load_resource(filename))


def get_graph_def_from_url_tarball(url: str, filename: str, tar_filename: str | None = None) -> Any:
    """Return the GraphDef in the file `filename` of a gzipped tarball, which is downloaded.

    The tarball is kept as `tar_filename`, and is not downloaded if it is there. Blocks.

    Raises:
        OSError: the download fails.
        KeyError: the tarball has no such file.
    """

    def show(count: int, block_size: int, total_size: int) -> None:
        share = 100.0 * count * block_size / total_size
        sys.stdout.write(f"\r>> Downloading {url} {share:.1f}%")
        sys.stdout.flush()

    path = tar_filename
    if not (path and os.path.exists(path)):
        path, _ = urllib.request.urlretrieve(url, path, show)
    with tarfile.open(path, "r:gz") as tarball:
        file = tarball.extractfile(filename)
        if file is None:
            raise KeyError(f"{filename!r} is no file of {url}")
        return _parsed(file.read())


def _parsed(content: bytes) -> Any:
    return graph_pb2.GraphDef.FromString(content)


def _inception() -> Any:
    return get_graph_def_from_url_tarball(
        INCEPTION_URL, INCEPTION_FROZEN_GRAPH, os.path.basename(INCEPTION_URL)
    )


def preprocess_image(
    images: Any,
    height: int = INCEPTION_DEFAULT_IMAGE_SIZE,
    width: int = INCEPTION_DEFAULT_IMAGE_SIZE,
    scope: str | None = None,
) -> Any:
    """Resize images of values from 0 to 255, and move the values to -1 to 1, as Inception wants.

    The images are one image or a batch.
    """
    with scoped(scope, "preprocess", [images]):
        is_single = images.shape.ndims == 3
        floats = images if images.dtype.is_floating else math_ops.cast(images, dtypes.float32)
        batch = array_ops.expand_dims(floats, 0) if is_single else floats
        resized = (image_resizing.resize_bilinear(batch, [height, width]) - 128.0) / 128.0
        return array_ops.squeeze(resized, [0]) if is_single else resized


def run_inception(
    images: Any,
    graph_def: Any = None,
    default_graph_def_fn: Callable[[], Any] | None = _inception,
    image_size: int = INCEPTION_DEFAULT_IMAGE_SIZE,
    input_tensor: str = INCEPTION_INPUT,
    output_tensor: Any = INCEPTION_OUTPUT,
) -> Any:
    """Return the outputs of an Inception network for a batch of preprocessed images.

    `output_tensor` is a name or a list of names. Without `graph_def`, `default_graph_def_fn`
    returns the network; by default it is downloaded. The outputs are matrices.

    Raises:
        ValueError: the images have another shape, or there is no network.
    """
    batch = convert.convert_to_tensor(images)
    batch.shape.with_rank(4)
    batch.shape.assert_is_compatible_with([None, image_size, image_size, None])
    if graph_def is None:
        if default_graph_def_fn is None:
            raise ValueError("If `graph_def` is `None`, must provide `default_graph_def_fn`.")
        graph_def = default_graph_def_fn()
    outputs = run_image_classifier(batch, graph_def, input_tensor, output_tensor)
    if isinstance(outputs, list):
        return [dense.flatten(output) for output in outputs]
    return dense.flatten(outputs)


def run_image_classifier(
    tensor: Any,
    graph_def: Any,
    input_tensor: str,
    output_tensor: Any,
    scope: str = "RunClassifier",
) -> Any:
    """Return the tensor or tensors `output_tensor` of a graph whose `input_tensor` is `tensor`."""
    is_one = isinstance(output_tensor, str)
    outputs = importer.import_graph_def(
        graph_def, {input_tensor: tensor}, [output_tensor] if is_one else output_tensor, name=scope
    )
    return outputs[0] if is_one and outputs else outputs
