"""The master and the worker of a task, and the server that offers both."""
