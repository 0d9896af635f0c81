"""Authentication by the certificate that the client shows when it connects."""

from magnetar.checks import check_text


class AuthenticationTls:
    """Shows the broker a certificate: the role is its common name. Only over TLS."""

    method = "tls"

    def __init__(self, certificate_file: str, key_file: str) -> None:
        """Two PEM files; they are read again when they have changed. Raises InvalidValue."""
        check_text("certificate_file", certificate_file)
        check_text("key_file", key_file)
        self.certificate_file = certificate_file
        self.key_file = key_file

    async def data(self) -> bytes:
        return b""  # The certificate has said it all.

    def __repr__(self) -> str:
        return f"AuthenticationTls({self.certificate_file!r}, {self.key_file!r})"
