"""What a broker needs to speak TLS and to check credentials, and what it then accepts."""

import base64
import hashlib
import hmac
import json
import time

from support.certificates import Authority

USER, PASSWORD = "orders", "s3cret-password"
# Of that password, as `htpasswd -nbm` prints it.
HTPASSWD = "orders:$apr1$magnetar$50M2M9hxI4DVp75GWUlGq1"


class Security:
    """Who shows nothing is let in as ``anonymous``, so that other tests need not know of this."""

    def __init__(self, folder, ports):
        self.authority = Authority(folder)
        self._key = b"a secret of thirty-two bytes ..."
        self._folder = folder
        tls, web_tls = ports
        self.url, self.web_url = f"pulsar+ssl://localhost:{tls}", f"https://localhost:{web_tls}"
        certificate, key = self.authority.issue("pulsar")
        (folder / "token.key").write_bytes(self._key)
        (folder / "htpasswd").write_text(HTPASSWD + "\n")
        provider = "org.apache.pulsar.broker.authentication.AuthenticationProvider"
        self.values = {
            "brokerServicePortTls": tls,
            "webServicePortTls": web_tls,
            "tlsEnabled": "true",
            "tlsCertificateFilePath": certificate,
            "tlsKeyFilePath": key,
            "tlsTrustCertsFilePath": self.authority.file,
            "authenticationEnabled": "true",
            "authenticationProviders": ",".join(
                provider + kind for kind in ("Token", "Basic", "Tls")
            ),
            "anonymousUserRole": "anonymous",
            "authenticationRefreshCheckSeconds": 1,
            "tokenSecretKey": f"file://{folder / 'token.key'}",
            "basicAuthConf": f"file://{folder / 'htpasswd'}",
        }
        self.settings = "".join(f"{name}={value}\n" for name, value in self.values.items())

    @property
    def trust(self):
        return {"tls_trust_certs_file": self.authority.file}

    def token(self, *, life_s=None):
        """A JSON web token of the role ``orders``."""
        claims = {"sub": USER} | ({"exp": int(time.time() + life_s)} if life_s else {})
        signed = b".".join(
            _base64(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT"}, claims)
        )
        return (signed + b"." + _base64(hmac.digest(self._key, signed, hashlib.sha256))).decode()


def _base64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")
