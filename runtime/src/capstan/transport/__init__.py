"""Communication between tasks: frames over links (data plane) and gRPC (control plane)."""
