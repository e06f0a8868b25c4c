"""`tf.contrib.tensorboard.plugins.projector`: embeddings that TensorBoard shows."""

from typing import TYPE_CHECKING, Any

from capstan.api.absent import absent
from capstan.train.projector_files import visualize_embeddings as visualize_embeddings

if TYPE_CHECKING:
    from tensorboard.plugins.projector.projector_config_pb2 import EmbeddingInfo as EmbeddingInfo
    from tensorboard.plugins.projector.projector_config_pb2 import (
        ProjectorConfig as ProjectorConfig,
    )
    from tensorboard.plugins.projector.projector_config_pb2 import SpriteMetadata as SpriteMetadata

__all__ = ["EmbeddingInfo", "ProjectorConfig", "SpriteMetadata", "visualize_embeddings"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise absent("tf.contrib.tensorboard.plugins.projector", name)
    # The import takes long, and most programs do not need it.
    from tensorboard.plugins.projector import projector_config_pb2

    return getattr(projector_config_pb2, name)


def __dir__() -> list[str]:
    return sorted(__all__)
