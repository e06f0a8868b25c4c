"""`tf.keras.layers` (python/keras/layers)."""

from typing import Any

from capstan.api import layers as _layers
from capstan.api.absent import absent
from capstan.api.layers.input_spec import InputSpec as InputSpec
from capstan.keras.base_layer import Layer as Layer
from capstan.keras.built_in import deserialize as deserialize
from capstan.keras.inputs import Input as Input
from capstan.keras.inputs import InputLayer as InputLayer
from capstan.keras.layers import kinds as _kinds
from capstan.keras.layers.advanced_activations import ELU as ELU
from capstan.keras.layers.advanced_activations import LeakyReLU as LeakyReLU
from capstan.keras.layers.advanced_activations import PReLU as PReLU
from capstan.keras.layers.advanced_activations import ReLU as ReLU
from capstan.keras.layers.advanced_activations import Softmax as Softmax
from capstan.keras.layers.advanced_activations import ThresholdedReLU as ThresholdedReLU
from capstan.keras.layers.attention import AdditiveAttention as AdditiveAttention
from capstan.keras.layers.attention import Attention as Attention
from capstan.keras.layers.bidirectional import Bidirectional as Bidirectional
from capstan.keras.layers.cells import AbstractRNNCell as AbstractRNNCell
from capstan.keras.layers.convolutional import Conv1D as Conv1D
from capstan.keras.layers.convolutional import Conv2D as Conv2D
from capstan.keras.layers.convolutional import Conv2DTranspose as Conv2DTranspose
from capstan.keras.layers.convolutional import Conv3D as Conv3D
from capstan.keras.layers.convolutional import Conv3DTranspose as Conv3DTranspose
from capstan.keras.layers.convolutional_recurrent import ConvLSTM2D as ConvLSTM2D
from capstan.keras.layers.core import Activation as Activation
from capstan.keras.layers.core import ActivityRegularization as ActivityRegularization
from capstan.keras.layers.core import Dense as Dense
from capstan.keras.layers.core import Dropout as Dropout
from capstan.keras.layers.core import Flatten as Flatten
from capstan.keras.layers.core import Masking as Masking
from capstan.keras.layers.core import Permute as Permute
from capstan.keras.layers.core import RepeatVector as RepeatVector
from capstan.keras.layers.core import Reshape as Reshape
from capstan.keras.layers.core import SpatialDropout1D as SpatialDropout1D
from capstan.keras.layers.core import SpatialDropout2D as SpatialDropout2D
from capstan.keras.layers.core import SpatialDropout3D as SpatialDropout3D
from capstan.keras.layers.cudnn_recurrent import CuDNNGRU as CuDNNGRU
from capstan.keras.layers.cudnn_recurrent import CuDNNLSTM as CuDNNLSTM
from capstan.keras.layers.dense_features import DenseFeatures as DenseFeatures
from capstan.keras.layers.depthwise import DepthwiseConv2D as DepthwiseConv2D
from capstan.keras.layers.depthwise import SeparableConv1D as SeparableConv1D
from capstan.keras.layers.depthwise import SeparableConv2D as SeparableConv2D
from capstan.keras.layers.embeddings import Embedding as Embedding
from capstan.keras.layers.lambda_layer import Lambda as Lambda
from capstan.keras.layers.local import LocallyConnected1D as LocallyConnected1D
from capstan.keras.layers.local import LocallyConnected2D as LocallyConnected2D
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
from capstan.keras.layers.noise import AlphaDropout as AlphaDropout
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
from capstan.keras.layers.recurrent import GRU as GRU
from capstan.keras.layers.recurrent import LSTM as LSTM
from capstan.keras.layers.recurrent import SimpleRNN as SimpleRNN
from capstan.keras.layers.recurrent_base import RNN as RNN
from capstan.keras.layers.recurrent_cells import GRUCell as GRUCell
from capstan.keras.layers.recurrent_cells import LSTMCell as LSTMCell
from capstan.keras.layers.recurrent_cells import SimpleRNNCell as SimpleRNNCell
from capstan.keras.layers.resizing import Cropping1D as Cropping1D
from capstan.keras.layers.resizing import Cropping2D as Cropping2D
from capstan.keras.layers.resizing import Cropping3D as Cropping3D
from capstan.keras.layers.resizing import UpSampling1D as UpSampling1D
from capstan.keras.layers.resizing import UpSampling2D as UpSampling2D
from capstan.keras.layers.resizing import UpSampling3D as UpSampling3D
from capstan.keras.layers.resizing import ZeroPadding1D as ZeroPadding1D
from capstan.keras.layers.resizing import ZeroPadding2D as ZeroPadding2D
from capstan.keras.layers.resizing import ZeroPadding3D as ZeroPadding3D
from capstan.keras.layers.stacked_cells import StackedRNNCells as StackedRNNCells
from capstan.keras.layers.wrappers import TimeDistributed as TimeDistributed
from capstan.keras.layers.wrappers import Wrapper as Wrapper
from capstan.keras.objects import serialize_keras_object as serialize  # noqa: F401

_kinds.register(globals(), _layers)

Convolution1D, Convolution2D, Convolution3D = Conv1D, Conv2D, Conv3D
Convolution2DTranspose, Convolution3DTranspose = Conv2DTranspose, Conv3DTranspose
SeparableConvolution1D, SeparableConvolution2D = SeparableConv1D, SeparableConv2D


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.layers", name)
