"""`tf.contrib.slim.nets`: networks that classify images, as functions."""

from typing import Any

from capstan.api.absent import absent
from capstan.contrib.slim.nets import alexnet as alexnet
from capstan.contrib.slim.nets import inception as inception
from capstan.contrib.slim.nets import overfeat as overfeat
from capstan.contrib.slim.nets import resnet_utils as resnet_utils
from capstan.contrib.slim.nets import resnet_v1 as resnet_v1
from capstan.contrib.slim.nets import resnet_v2 as resnet_v2
from capstan.contrib.slim.nets import vgg as vgg
from capstan.core import public


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.slim.nets", name)


def __dir__() -> list[str]:
    return public.names(globals())
