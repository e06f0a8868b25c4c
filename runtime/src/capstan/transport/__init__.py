"""How tasks reach each other: frames over links (the data plane), gRPC (the control plane)."""
