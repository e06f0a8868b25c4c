"""The command line `capstanctl`."""
