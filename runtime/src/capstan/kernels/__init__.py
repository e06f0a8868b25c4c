"""Kernels, one file per op family; importing the package fills the table of `kernels.registry`."""
