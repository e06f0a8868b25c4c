"""`tf.keras.applications`: known networks for images (python/keras/applications).

The networks have the layers of keras_applications 1.0.8, the version for TensorFlow 1.15, so they
read its files of weights. Their arguments are:

* `include_top`: whether the network ends with the probabilities of the classes.
* `weights`: "imagenet" for weights that were trained with ImageNet, the path of a file of weights,
  or None for new weights. Files for ImageNet are in `~/.keras/models`, and are downloaded if they
  are not there.
* `input_tensor`: a tensor of images, by default a new input.
* `input_shape`: the shape of an image, such as `(224, 224, 3)`. Without the top, it may be any that
  is large enough, or None.
* `pooling`: without the top, "avg" or "max" for one number of each channel, or None.
* `classes`: the number of classes.
"""

from typing import Any

from capstan.api.absent import absent
from capstan.keras.applications import densenet as densenet
from capstan.keras.applications import imagenet_utils as imagenet_utils
from capstan.keras.applications import inception_resnet_v2 as inception_resnet_v2
from capstan.keras.applications import inception_v3 as inception_v3
from capstan.keras.applications import mobilenet as mobilenet
from capstan.keras.applications import mobilenet_v2 as mobilenet_v2
from capstan.keras.applications import nasnet as nasnet
from capstan.keras.applications import resnet as resnet
from capstan.keras.applications import resnet50 as resnet50
from capstan.keras.applications import resnet_v2 as resnet_v2
from capstan.keras.applications import vgg16 as vgg16
from capstan.keras.applications import vgg19 as vgg19
from capstan.keras.applications import xception as xception
from capstan.keras.applications.densenet import DenseNet121 as DenseNet121
from capstan.keras.applications.densenet import DenseNet169 as DenseNet169
from capstan.keras.applications.densenet import DenseNet201 as DenseNet201
from capstan.keras.applications.inception_resnet_v2 import InceptionResNetV2 as InceptionResNetV2
from capstan.keras.applications.inception_v3 import InceptionV3 as InceptionV3
from capstan.keras.applications.mobilenet import MobileNet as MobileNet
from capstan.keras.applications.mobilenet_v2 import MobileNetV2 as MobileNetV2
from capstan.keras.applications.nasnet import NASNetLarge as NASNetLarge
from capstan.keras.applications.nasnet import NASNetMobile as NASNetMobile
from capstan.keras.applications.resnet import ResNet50 as ResNet50
from capstan.keras.applications.resnet import ResNet101 as ResNet101
from capstan.keras.applications.resnet import ResNet152 as ResNet152
from capstan.keras.applications.resnet_v2 import ResNet50V2 as ResNet50V2
from capstan.keras.applications.resnet_v2 import ResNet101V2 as ResNet101V2
from capstan.keras.applications.resnet_v2 import ResNet152V2 as ResNet152V2
from capstan.keras.applications.vgg16 import VGG16 as VGG16
from capstan.keras.applications.vgg19 import VGG19 as VGG19
from capstan.keras.applications.xception import Xception as Xception

__all__ = [
    "VGG16", "VGG19", "DenseNet121", "DenseNet169", "DenseNet201", "InceptionResNetV2",
    "InceptionV3", "MobileNet", "MobileNetV2", "NASNetLarge", "NASNetMobile", "ResNet50",
    "ResNet50V2", "ResNet101", "ResNet101V2", "ResNet152", "ResNet152V2", "Xception", "densenet",
    "imagenet_utils", "inception_resnet_v2", "inception_v3", "mobilenet", "mobilenet_v2", "nasnet",
    "resnet", "resnet50", "resnet_v2", "vgg16", "vgg19", "xception",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.applications", name)
