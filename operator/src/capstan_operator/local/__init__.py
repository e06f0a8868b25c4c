"""Local mode: the tasks of one job as processes of this machine, driven by `reconcile.plan`."""
