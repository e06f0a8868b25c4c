"""The Kubernetes API: requests, their errors, a cache of what was seen, and pods as views."""
