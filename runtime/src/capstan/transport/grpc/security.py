"""Channels and ports with certificates on both sides, or with none."""

from collections.abc import Sequence

import grpc

from capstan.transport import certificates

Options = Sequence[tuple[str, int]]


def open_channel(
    address: str, options: Options, held: certificates.Certificates | None
) -> grpc.Channel:
    """Return a channel to `host:port`.

    With certificates, the channel only reaches a server whose certificate names `host` and comes
    from the same authority.
    """
    if held is None:
        return grpc.insecure_channel(address, options=options)
    credentials = grpc.ssl_channel_credentials(held.authority, held.key, held.chain)
    return grpc.secure_channel(address, credentials, options=options)


def add_port(server: grpc.Server, address: str, folder: certificates.Folder | None) -> int:
    """Have a server listen at `host:port`. Return the number of the port.

    With certificates, each connection uses the current ones, and only clients with a certificate of
    the same authority can connect.

    Raises:
        RuntimeError: the port cannot be opened.
    """
    if folder is None:
        return server.add_insecure_port(address)
    credentials = grpc.dynamic_ssl_server_credentials(
        _configuration(folder.current()),
        lambda: _configuration(folder.current()),
        require_client_authentication=True,
    )
    return server.add_secure_port(address, credentials)


def _configuration(held: certificates.Certificates) -> grpc.ServerCertificateConfiguration:
    return grpc.ssl_server_certificate_configuration(
        [(held.key, held.chain)], root_certificates=held.authority
    )
