"""The state that nodes use: variables, queues and other resources, and values such as lists."""
