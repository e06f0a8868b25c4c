"""The version of Capstan, and the version of TensorFlow whose functions it has."""

from typing import Final

VERSION: Final = "0.1.0"
TENSORFLOW: Final = "1.15.0"
GIT: Final = f"v{TENSORFLOW}-capstan-{VERSION}"
"""The version that MetaGraphs name in place of a commit of TensorFlow."""
