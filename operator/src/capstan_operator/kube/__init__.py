"""The Kubernetes API: requests, their errors, a cache of objects, and pods as views."""
