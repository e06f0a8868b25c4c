"""The operator as a process: watches, queues, leads, and carries out what `plan` says. Acts."""
