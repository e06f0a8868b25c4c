"""The operator process: it leads, watches, queues jobs, and carries out plans. Acts."""
