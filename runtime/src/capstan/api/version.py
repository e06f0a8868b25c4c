"""`tf.version`: the version of Capstan and of its GraphDefs (python/framework/versions.py)."""

import platform
import sys
from typing import Any

from capstan.api.absent import absent
from capstan.core import graph_def

VERSION: str = sys.modules["capstan"].__version__
GIT_VERSION = __git_version__ = f"v{VERSION}"
COMPILER_VERSION = __compiler_version__ = platform.python_compiler()
GRAPH_DEF_VERSION = graph_def.PRODUCER
GRAPH_DEF_VERSION_MIN_CONSUMER = 0
GRAPH_DEF_VERSION_MIN_PRODUCER = 0


def __getattr__(name: str) -> Any:
    raise absent("tf.version", name)
