"""Why an API server gave no answer, in words that say where to look."""

import os
import ssl

import aiohttp


def why(error: Exception, *, connect_seconds: float, timeout_seconds: float) -> str:
    """Complete a sentence about the server: why it gave no answer, and where to look.

    The arguments are the longest times for a connection and for a request.
    """
    match error:
        case aiohttp.InvalidURL():
            return "is not the address of an API server; write https://HOST:PORT in the kubeconfig"
        case aiohttp.ConnectionTimeoutError():
            return (
                f"cannot be reached within {connect_seconds:g} s; check the address and the network"
            )
        case TimeoutError():
            return (
                f"gave no answer within {timeout_seconds:g} s; check the API server's load and "
                "the network in between"
            )
        case aiohttp.ClientConnectorDNSError():
            return (
                f"has a name that cannot be resolved ({error.os_error}); check the host name and "
                "the DNS"
            )
        case aiohttp.ClientConnectorCertificateError():
            return (
                f"has a certificate that is not trusted ({error.certificate_error}); check the "
                "certificate authority of the kubeconfig"
            )
        case aiohttp.ClientSSLError() | ssl.SSLError():
            return f"ended the TLS handshake ({error}); check the address and the certificates"
        case aiohttp.ClientConnectorError():
            number = error.os_error.errno
            words = str(error.os_error) if number is None else os.strerror(number)
            return f"cannot be reached ({words}); check the server and the network in between"
        case _:
            cause = str(error) or type(error).__name__
            return (
                f"closed the connection before it answered ({cause}); the server may have restarted"
            )
