"""The control plane: TensorFlow's master service and our own worker service over gRPC.

The only package that imports grpc; nothing imports it before a server or a `grpc://` session is
made.
"""
