"""`tf.version`: versions of the functions, of Capstan and of GraphDefs.

Programs compare `VERSION` with versions of TensorFlow, to decide which functions they call. It is
therefore the version of TensorFlow whose functions Capstan has. `GIT_VERSION` also names the
version of Capstan. TensorFlow: python/framework/versions.py.
"""

import platform
from typing import Any

from capstan.api.absent import absent
from capstan.core import graph_def, release

VERSION = release.TENSORFLOW
GIT_VERSION = __git_version__ = release.GIT
COMPILER_VERSION = __compiler_version__ = platform.python_compiler()
GRAPH_DEF_VERSION = graph_def.PRODUCER
GRAPH_DEF_VERSION_MIN_CONSUMER = 0
GRAPH_DEF_VERSION_MIN_PRODUCER = 0


def __getattr__(name: str) -> Any:
    raise absent("tf.version", name)
