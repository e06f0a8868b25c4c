"""The Inception networks of three versions (contrib/slim/python/slim/nets/inception.py)."""

from capstan.contrib.slim.nets.inception_v1 import inception_v1 as inception_v1
from capstan.contrib.slim.nets.inception_v1 import inception_v1_arg_scope as inception_v1_arg_scope
from capstan.contrib.slim.nets.inception_v1 import inception_v1_base as inception_v1_base
from capstan.contrib.slim.nets.inception_v2 import inception_v2 as inception_v2
from capstan.contrib.slim.nets.inception_v2 import inception_v2_arg_scope as inception_v2_arg_scope
from capstan.contrib.slim.nets.inception_v2 import inception_v2_base as inception_v2_base
from capstan.contrib.slim.nets.inception_v3 import inception_v3 as inception_v3
from capstan.contrib.slim.nets.inception_v3 import inception_v3_arg_scope as inception_v3_arg_scope
from capstan.contrib.slim.nets.inception_v3 import inception_v3_base as inception_v3_base
