"""A real Kubernetes for tests, on this machine alone: control plane, fake and real nodes."""
