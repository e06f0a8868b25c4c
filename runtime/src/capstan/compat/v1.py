"""`capstan.compat.v1` is `capstan` itself, for `import capstan.compat.v1 as tf`."""

import sys

sys.modules[__name__] = sys.modules["capstan"]
