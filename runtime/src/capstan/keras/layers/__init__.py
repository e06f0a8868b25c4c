"""`tf.keras.layers` (python/keras/layers)."""

from typing import Any

from capstan.api.absent import absent
from capstan.api.layers.input_spec import InputSpec as InputSpec
from capstan.keras.base_layer import Layer as Layer
from capstan.keras.inputs import Input as Input
from capstan.keras.inputs import InputLayer as InputLayer
from capstan.keras.layers.advanced_activations import ELU as ELU
from capstan.keras.layers.advanced_activations import LeakyReLU as LeakyReLU
from capstan.keras.layers.advanced_activations import PReLU as PReLU
from capstan.keras.layers.advanced_activations import ReLU as ReLU
from capstan.keras.layers.advanced_activations import Softmax as Softmax
from capstan.keras.layers.advanced_activations import ThresholdedReLU as ThresholdedReLU
from capstan.keras.layers.convolutional import Conv1D as Conv1D
from capstan.keras.layers.convolutional import Conv2D as Conv2D
from capstan.keras.layers.convolutional import Conv2DTranspose as Conv2DTranspose
from capstan.keras.layers.convolutional import Conv3D as Conv3D
from capstan.keras.layers.convolutional import SeparableConv2D as SeparableConv2D
from capstan.keras.layers.core import Activation as Activation
from capstan.keras.layers.core import ActivityRegularization as ActivityRegularization
from capstan.keras.layers.core import Dense as Dense
from capstan.keras.layers.core import Dropout as Dropout
from capstan.keras.layers.core import Flatten as Flatten
from capstan.keras.layers.core import Lambda as Lambda
from capstan.keras.layers.core import Masking as Masking
from capstan.keras.layers.core import Permute as Permute
from capstan.keras.layers.core import RepeatVector as RepeatVector
from capstan.keras.layers.core import Reshape as Reshape
from capstan.keras.layers.core import SpatialDropout1D as SpatialDropout1D
from capstan.keras.layers.core import SpatialDropout2D as SpatialDropout2D
from capstan.keras.layers.core import SpatialDropout3D as SpatialDropout3D
from capstan.keras.layers.embeddings import Embedding as Embedding
from capstan.keras.layers.merging import Add as Add
from capstan.keras.layers.merging import Average as Average
from capstan.keras.layers.merging import Concatenate as Concatenate
from capstan.keras.layers.merging import Dot as Dot
from capstan.keras.layers.merging import Maximum as Maximum
from capstan.keras.layers.merging import Minimum as Minimum
from capstan.keras.layers.merging import Multiply as Multiply
from capstan.keras.layers.merging import Subtract as Subtract
from capstan.keras.layers.merging import add as add
from capstan.keras.layers.merging import average as average
from capstan.keras.layers.merging import concatenate as concatenate
from capstan.keras.layers.merging import dot as dot
from capstan.keras.layers.merging import maximum as maximum
from capstan.keras.layers.merging import minimum as minimum
from capstan.keras.layers.merging import multiply as multiply
from capstan.keras.layers.merging import subtract as subtract
from capstan.keras.layers.noise import GaussianDropout as GaussianDropout
from capstan.keras.layers.noise import GaussianNoise as GaussianNoise
from capstan.keras.layers.normalization import BatchNormalization as BatchNormalization
from capstan.keras.layers.normalization import LayerNormalization as LayerNormalization
from capstan.keras.layers.pooling import AveragePooling1D as AveragePooling1D
from capstan.keras.layers.pooling import AveragePooling2D as AveragePooling2D
from capstan.keras.layers.pooling import AveragePooling3D as AveragePooling3D
from capstan.keras.layers.pooling import AvgPool1D as AvgPool1D
from capstan.keras.layers.pooling import AvgPool2D as AvgPool2D
from capstan.keras.layers.pooling import AvgPool3D as AvgPool3D
from capstan.keras.layers.pooling import GlobalAveragePooling1D as GlobalAveragePooling1D
from capstan.keras.layers.pooling import GlobalAveragePooling2D as GlobalAveragePooling2D
from capstan.keras.layers.pooling import GlobalAveragePooling3D as GlobalAveragePooling3D
from capstan.keras.layers.pooling import GlobalAvgPool1D as GlobalAvgPool1D
from capstan.keras.layers.pooling import GlobalAvgPool2D as GlobalAvgPool2D
from capstan.keras.layers.pooling import GlobalAvgPool3D as GlobalAvgPool3D
from capstan.keras.layers.pooling import GlobalMaxPool1D as GlobalMaxPool1D
from capstan.keras.layers.pooling import GlobalMaxPool2D as GlobalMaxPool2D
from capstan.keras.layers.pooling import GlobalMaxPool3D as GlobalMaxPool3D
from capstan.keras.layers.pooling import GlobalMaxPooling1D as GlobalMaxPooling1D
from capstan.keras.layers.pooling import GlobalMaxPooling2D as GlobalMaxPooling2D
from capstan.keras.layers.pooling import GlobalMaxPooling3D as GlobalMaxPooling3D
from capstan.keras.layers.pooling import MaxPool1D as MaxPool1D
from capstan.keras.layers.pooling import MaxPool2D as MaxPool2D
from capstan.keras.layers.pooling import MaxPool3D as MaxPool3D
from capstan.keras.layers.pooling import MaxPooling1D as MaxPooling1D
from capstan.keras.layers.pooling import MaxPooling2D as MaxPooling2D
from capstan.keras.layers.pooling import MaxPooling3D as MaxPooling3D
from capstan.keras.layers.resizing import Cropping1D as Cropping1D
from capstan.keras.layers.resizing import Cropping2D as Cropping2D
from capstan.keras.layers.resizing import Cropping3D as Cropping3D
from capstan.keras.layers.resizing import UpSampling1D as UpSampling1D
from capstan.keras.layers.resizing import UpSampling2D as UpSampling2D
from capstan.keras.layers.resizing import UpSampling3D as UpSampling3D
from capstan.keras.layers.resizing import ZeroPadding1D as ZeroPadding1D
from capstan.keras.layers.resizing import ZeroPadding2D as ZeroPadding2D
from capstan.keras.layers.resizing import ZeroPadding3D as ZeroPadding3D


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.layers", name)
