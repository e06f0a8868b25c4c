"""Kernels, one file per op family. Importing the package fills the table in `kernels.registry`."""

import importlib
import pkgutil

for _family in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_family.name}")
