"""`tf.contrib.cudnn_rnn`: networks with cuDNN's formulas, on CPUs and GPUs.

TensorFlow keeps the weights of such a network in one variable, and saves them as the variables of
the compatible cells. Here the weights are these variables, so checkpoints fit both ways.
"""

from typing import Any

from capstan.api.absent import absent
from capstan.contrib import package_aliases
from capstan.contrib.cudnn_rnn.cells import CudnnCompatibleGRUCell, CudnnCompatibleLSTMCell
from capstan.contrib.cudnn_rnn.layers import CudnnGRU, CudnnLSTM, CudnnRNNRelu, CudnnRNNTanh

__all__ = [
    "CudnnCompatibleGRUCell", "CudnnCompatibleLSTMCell", "CudnnGRU", "CudnnLSTM", "CudnnRNNRelu",
    "CudnnRNNTanh",
]  # fmt: skip


package_aliases.grow(__name__)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.cudnn_rnn", name)


def __dir__() -> list[str]:
    return sorted(__all__)
