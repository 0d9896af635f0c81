"""Takes clients for whom their certificates name, as Pulsar's AuthenticationProviderTls does."""

from magnetar.errors import NotAuthenticated

from .identity import Credentials, Identity


class TlsProvider:
    """The certificates that TLS has verified."""

    method = "tls"

    async def authenticate(self, credentials: Credentials) -> Identity:
        if credentials.certificate is None:
            raise NotAuthenticated(
                "no certificate with a common name was shown: connect with TLS and a certificate "
                "of an authority that this broker trusts (tlsTrustCertsFilePath)"
            )
        return Identity(credentials.certificate)

    async def close(self) -> None:
        """Nothing to close: it started nothing."""
