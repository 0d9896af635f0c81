"""Issuers of tokens that tenants bring, with a key each, and the file that a broker has of them."""

import json

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from .tokens import token


def public_pem(key):
    kind = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.PEM, kind)


class Issuers:
    """``file`` is what tenantTokenIssuers names; ``described`` is what stands there."""

    def __init__(self, folder, *tenants):
        self._folder = folder
        self.file = folder / "issuers.json"
        self.keys = {tenant: ec.generate_private_key(ec.SECP256R1()) for tenant in tenants}
        self.described = {tenant: self._describe(tenant) for tenant in tenants}
        self.write()

    def write(self):
        """Write ``described`` to the file."""
        self.file.write_text(json.dumps(self.described))

    def token(self, tenant, subject, *, life_s=60, **claims):
        """A token that the issuer of a tenant has signed; ``key``: with another key."""
        key = claims.pop("key", self.keys[tenant])
        algorithm = claims.pop("algorithm", "ES256")
        claims = {"iss": f"https://{tenant}.example"} | claims
        return token(subject, life_s=life_s, key=key, algorithm=algorithm, **claims)

    def _describe(self, tenant):
        file = self._folder / f"{tenant}.pem"
        file.write_bytes(public_pem(self.keys[tenant]))
        return {"issuer": f"https://{tenant}.example", "keys": str(file)}
