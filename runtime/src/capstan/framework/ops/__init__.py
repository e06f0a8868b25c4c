"""The rows of the registry of ops (`framework.opdef`), one file for each family of ops.

The import of this package fills the registry.
"""

import importlib
import pkgutil

for _family in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_family.name}")
