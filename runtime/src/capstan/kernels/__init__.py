"""Kernels, one file per op family. Importing the package fills the table in `kernels.registry`."""

import importlib
import pkgutil

from capstan.kernels import gpu, handles, single_precision

for _family in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_family.name}")
gpu.register_all()
single_precision.serve_bfloat16()
handles.serve()
