"""The values that all other layers share: dtypes, shapes, devices, clusters, nodes.

The modules here have no side effects.
"""
