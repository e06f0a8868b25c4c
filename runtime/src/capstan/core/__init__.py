"""The vocabulary of every other layer: dtypes, shapes, devices, clusters, nodes.

Values only; nothing here acts.
"""
