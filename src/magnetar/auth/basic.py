"""Checks user names and passwords against a file that htpasswd wrote."""

import asyncio
import hmac
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from passlib.context import CryptContext

from magnetar.errors import InvalidValue, NotAuthenticated, NotReady

from .identity import Credentials, Identity
from .watched_file import WatchedFile

CHECKS_PENDING_MAX: Final = 100
"""Passwords that are being checked or wait for it, which takes up to a tenth of a second each."""
PASSWORD_BYTES_MAX: Final = 255
"""htpasswd takes no longer ones. The sha512 of a few kilobytes takes a thread many seconds."""
KNOWN_MAX: Final = 1000
"""Passwords that were right are not computed again until the file changes."""
_THREADS: Final = 2
_BCRYPT_BYTES: Final = 72  # It does not look at what comes behind.
_WRONG: Final = "there is no such user with this password"
_CRYPT: Final = ("md5_crypt", "sha256_crypt", "sha512_crypt", "des_crypt")
_SCHEMES: Final = CryptContext(["apr_md5_crypt", "bcrypt", "ldap_sha1", *_CRYPT])


class BasicProvider:
    """The users of one file, which is read again when it changes."""

    method = "basic"

    def __init__(self, where: str) -> None:
        """``where``: a file, or its content as ``data:``. Raises InvalidValue."""
        self._file = WatchedFile("basicAuthConf", where)
        self._users = read_users(self._file.read())
        self._known: dict[bytes, str] = {}  # What was right, by a digest, and whose it is.
        self._digest_key = os.urandom(32)
        self._pending = 0
        self._threads = ThreadPoolExecutor(_THREADS, "passwords")

    async def authenticate(self, credentials: Credentials) -> Identity:
        user, colon, password = credentials.data.partition(b":")
        if not colon or b"\0" in credentials.data:
            raise NotAuthenticated("the credentials are not of the form user:password")
        if len(password) > PASSWORD_BYTES_MAX:
            raise NotAuthenticated(f"a password has at most {PASSWORD_BYTES_MAX} bytes")
        users = self._current()
        digest = hmac.digest(self._digest_key, credentials.data, "sha256")
        if digest not in self._known:
            name = user.decode("utf-8", "replace")
            # A user that is unknown takes as long as one that is known.
            stored = users.get(name) or next(iter(users.values()))
            right = await self._check(password, stored)
            if not right or name not in users:
                raise NotAuthenticated(_WRONG)
            if users is not self._users:
                return await self.authenticate(credentials)  # The file changed meanwhile.
            while len(self._known) >= KNOWN_MAX:
                del self._known[next(iter(self._known))]
            self._known[digest] = name
        return Identity(self._known[digest])

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _current(self) -> dict[str, str]:
        """The users as the file has them now."""
        content = self._file.read_if_changed(read_users)
        if content is not None:
            self._users = content
            self._known.clear()
        return self._users

    async def _check(self, password: bytes, stored: str) -> bool:
        if self._pending >= CHECKS_PENDING_MAX:
            raise NotReady(f"{self._pending} passwords are being checked: try again later")
        self._pending += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, _matches, password, stored)
        finally:
            self._pending -= 1


def read_users(content: bytes) -> dict[str, str]:
    """The users of a file, each with what is stored of its password. Raises InvalidValue."""
    users = {}
    lines = map(str.strip, content.decode("utf-8", "replace").splitlines())
    for number, line in enumerate(lines, start=1):
        if not line or line.startswith("#"):
            continue
        user, colon, stored = line.partition(":")
        if not (user and colon) or _SCHEMES.identify(stored) is None:
            raise InvalidValue(
                f"basicAuthConf, line {number}: write user:HASH with a hash of apr1, bcrypt, SHA "
                "or crypt, as htpasswd does"
            )
        users[user] = stored
    if not users:
        raise InvalidValue("basicAuthConf has no users: add one with htpasswd")
    return users


def _matches(password: bytes, stored: str) -> bool:
    secret = password[:_BCRYPT_BYTES] if stored.startswith("$2") else password
    return bool(_SCHEMES.verify(secret, stored))
