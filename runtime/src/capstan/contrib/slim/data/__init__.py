"""The data part of slim: decoders, datasets, and providers of their items."""
