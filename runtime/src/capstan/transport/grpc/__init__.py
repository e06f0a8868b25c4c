"""The control plane: TensorFlow's master service and Capstan's worker service over gRPC.

Only this package imports grpc. The package is imported when the first server or `grpc://` session
is made.
"""
