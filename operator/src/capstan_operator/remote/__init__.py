"""The jobs of a cluster as `capstanctl` shows and changes them, with the rights of its user."""
