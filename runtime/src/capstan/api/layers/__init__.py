"""`tf.layers`: layers that own their variables (python/layers/layers.py)."""

from typing import Any

from capstan.api.absent import absent
from capstan.api.layers.base import InputSpec as InputSpec
from capstan.api.layers.base import Layer as Layer
from capstan.api.layers.convolution_functions import conv1d as conv1d
from capstan.api.layers.convolution_functions import conv2d as conv2d
from capstan.api.layers.convolution_functions import conv2d_transpose as conv2d_transpose
from capstan.api.layers.convolutional import Conv1D as Conv1D
from capstan.api.layers.convolutional import Conv2D as Conv2D
from capstan.api.layers.convolutional import Conv2DTranspose as Conv2DTranspose
from capstan.api.layers.core import Dense as Dense
from capstan.api.layers.core import Dropout as Dropout
from capstan.api.layers.core import Flatten as Flatten
from capstan.api.layers.core import dense as dense
from capstan.api.layers.core import dropout as dropout
from capstan.api.layers.core import flatten as flatten
from capstan.api.layers.normalization import BatchNormalization as BatchNormalization
from capstan.api.layers.normalization import batch_normalization as batch_normalization
from capstan.api.layers.pooling import AveragePooling1D as AveragePooling1D
from capstan.api.layers.pooling import AveragePooling2D as AveragePooling2D
from capstan.api.layers.pooling import MaxPooling1D as MaxPooling1D
from capstan.api.layers.pooling import MaxPooling2D as MaxPooling2D
from capstan.api.layers.pooling import average_pooling1d as average_pooling1d
from capstan.api.layers.pooling import average_pooling2d as average_pooling2d
from capstan.api.layers.pooling import max_pooling1d as max_pooling1d
from capstan.api.layers.pooling import max_pooling2d as max_pooling2d
from capstan.api.layers.separable import SeparableConv1D as SeparableConv1D
from capstan.api.layers.separable import SeparableConv2D as SeparableConv2D
from capstan.api.layers.separable import separable_conv1d as separable_conv1d
from capstan.api.layers.separable import separable_conv2d as separable_conv2d
from capstan.api.layers.volumes import AveragePooling3D as AveragePooling3D
from capstan.api.layers.volumes import Conv3D as Conv3D
from capstan.api.layers.volumes import Conv3DTranspose as Conv3DTranspose
from capstan.api.layers.volumes import MaxPooling3D as MaxPooling3D
from capstan.api.layers.volumes import average_pooling3d as average_pooling3d
from capstan.api.layers.volumes import conv3d as conv3d
from capstan.api.layers.volumes import conv3d_transpose as conv3d_transpose
from capstan.api.layers.volumes import max_pooling3d as max_pooling3d


def __getattr__(name: str) -> Any:
    raise absent("tf.layers", name)
