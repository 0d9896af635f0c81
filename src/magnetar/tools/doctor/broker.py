"""Checks of a broker: its configuration, ports, data folder, disk, and whether one runs."""

import errno
import os
import shutil
import socket
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from time import perf_counter
from typing import Final

from magnetar.broker.config import Config
from magnetar.broker.server_tls import Expiry, expiries, expiries_of
from magnetar.broker.settings.others import Status
from magnetar.broker.settings.server import own_port
from magnetar.broker.siblings import cores
from magnetar.client.admin_api import AdminApi
from magnetar.clock import SystemClock
from magnetar.errors import AccessError, MagnetarError, StorageError, StoreLocked, Unreachable
from magnetar.storage.ledger.local.disk import FolderLock
from magnetar.storage.metadata.sqlite_log import check_log

from .finding import Finding, Verdict, note, ok, size_text, wrong

FREE_BYTES_WANTED: Final = 5 << 30
SYNC_MS_WANTED: Final = 10.0
_SYNCS: Final = 16


def configuration(
    file: Path | None, environment: Mapping[str, str], data_dir: Path | None = None
) -> tuple[list[Finding], Config]:
    """What is refused, may not be meant, or is unknown. ``data_dir`` is instead of what they say.

    Raises InvalidValue for an unreadable file.
    """
    flags = {"dataDirectory": data_dir}
    read = Config.read_to_show(file=file, environment=environment, flags=flags)
    where = "the environment" if file is None else str(file)
    found = [
        wrong("configuration", one, f"change it in {where}: no broker starts with it")
        for one in read.refused
    ]
    found += [_warned(one) for one in read.warnings]
    unknown = [one.text for one in read.others if one.status is Status.UNKNOWN]
    found += [note("configuration", one, "correct it, or take it out") for one in unknown]
    return found or [ok("configuration", "every setting is one that is kept")], read


def _warned(text: str) -> Finding:
    said, _, remedy = text.partition(": ")
    return note("configuration", said, remedy)


def certificates(config: Config) -> list[Finding]:
    """Which of those that TLS needs ended, or end soon."""
    now_ms = SystemClock().wall_ms()
    found = []
    for one in _expiries(config):
        said = one.warning(now_ms)
        remedy = "renew it: the broker reads the file again by itself (docs/security.md)"
        if not said:
            found.append(ok("certificate", f"{one.setting} until {one.end:%Y-%m-%d}"))
        elif one.remaining(now_ms) <= timedelta():
            found.append(wrong("certificate", said, remedy))
        else:
            found.append(note("certificate", said, remedy))
    return found


def _expiries(config: Config) -> list[Expiry]:
    tls, bookies, zookeeper = config.tls, config.bookie_tls, config.metadata
    found = expiries(tls) if tls.on or tls.client else []
    if bookies.on:
        found += expiries_of(
            {"bookkeeperTLSCertificateFilePath": bookies.certificate},
            {"bookkeeperTLSTrustCertsFilePath": bookies.trust},
        )
    if zookeeper.tls:
        found += expiries_of(
            {"zookeeperTlsCertificateFilePath": zookeeper.tls_certificate},
            {"zookeeperTlsTrustCertsFilePath": zookeeper.tls_trust_certs},
        )
    return found


def running(api: AdminApi) -> Finding:
    """Whether a broker answers, and is well."""
    try:
        said = api.get("/admin/v2/brokers/health")
    except Unreachable:
        return ok("running broker", f"none at {api.url}")
    except AccessError as error:
        return note("running broker", str(error), "ask as a superuser to see how it fares")
    except MagnetarError as error:
        return wrong("running broker", str(error), "look at its log (docs/operating.md)")
    if str(said) != "ok":
        return wrong("running broker", f"{api.url} says {said}", "look at its log")
    return ok("running broker", f"{api.url} is well")


def ports(config: Config, *, runs: bool) -> list[Finding]:
    """Whether its ports can be had; with a broker that ``runs`` they are taken."""
    wanted = {
        "brokerServicePort": config.server.broker_port,
        "webServicePort": config.server.web_port,
        "brokerServicePortTls": config.tls.port,
        "webServicePortTls": config.tls.web_port,
    }
    count = config.server.processes or cores()
    processes = range(count) if count > 1 else ()  # One alone has no further ports.
    host = config.server.bind_address
    found = []
    for key, port in (
        (key, each)
        for key, shared in wanted.items()
        if shared is not None and shared > 0
        for each in (shared, *(own_port(shared, number) for number in processes))
    ):
        finding = _port(key, host, port)
        if runs and finding.verdict is Verdict.WRONG:
            finding = ok(f"port {port}", "the broker that runs has it")
        found.append(finding)
    return found


def _port(key: str, host: str, port: int) -> Finding:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                holder = _holder(port) or "another process"
                remedy = f"stop it, or choose another {key}"
                return wrong(f"port {port}", f"{holder} has it", remedy)
            said = f"{host} port {port} cannot be had: {error.strerror}"
            return wrong(f"port {port}", said, f"choose another bindAddress or {key}")
    return ok(f"port {port}", "free")


def _holder(port: int) -> str | None:
    """The process that listens on it, where Linux tells us."""
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            words = line.split()
            if words[3] == "0A" and int(words[1].rpartition(":")[2], 16) == port:  # Listening.
                inodes.add(f"socket:[{words[9]}]")
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if any(str(one.readlink()) in inodes for one in (process / "fd").iterdir()):
                name = (process / "comm").read_text().strip()
                return f"process {process.name} ({name})"
        except OSError:  # It ended meanwhile, or is another user's.
            continue
    return None


def data_folder(config: Config, *, runs: bool) -> list[Finding]:
    """Whether it may be written, is free, has room, and how long a sync takes there."""
    storage = config.storage
    if storage.in_memory:
        return [note("data folder", "none: nothing is stored", "leave storageInMemory out")]
    folder = Path(storage.data_directory)
    if _of_others(folder):
        said = f"{folder} is another user's, and cannot be looked into"
        return [note("data folder", said, "ask again as the broker's user, or as root")]
    there = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    if not os.access(there, os.W_OK):
        remedy = "give the broker's user the folder, or choose another dataDirectory"
        return [wrong("data folder", f"{there} may not be written", remedy)]
    found = [ok("data folder", f"{folder}" if there == folder else f"{folder}, to be made")]
    if there == folder and not runs:
        found += _lock(folder)
    return [*found, _room(there), _sync(there)]


def _of_others(folder: Path) -> bool:
    """Whether there is a folder that this user may not write, because another user owns it."""
    try:
        owner = folder.stat().st_uid
    except PermissionError:
        return True
    except OSError:
        return False
    return owner != os.geteuid() and not os.access(folder, os.W_OK)


def _lock(folder: Path) -> list[Finding]:
    """Whether a broker that starts there is refused: it is in use, or metadata are missing."""
    ledgers = folder / "ledgers"
    if not (ledgers / "lock").exists():
        return []
    try:
        lock = FolderLock.take(ledgers)
        try:
            check_log(folder / "metadata.sqlite")
        finally:
            lock.release()
    except StoreLocked as error:
        return [wrong("data folder", str(error), "stop it: one broker has one folder")]
    except StorageError as error:  # Its text has the remedy.
        return [wrong("metadata", str(error), "no broker starts with it")]
    except OSError as error:
        return [wrong("data folder", f"{ledgers}/lock: {error.strerror}", "mend its rights")]
    return []


def _room(folder: Path) -> Finding:
    usage = shutil.disk_usage(folder)
    said = f"{size_text(usage.free)} of {size_text(usage.total)} free"
    if usage.free < FREE_BYTES_WANTED:
        return wrong("disk space", said, "make room, or choose another dataDirectory")
    if usage.free < usage.total // 10:
        return note("disk space", said, "make room before it is full: a full disk stops publishing")
    return ok("disk space", said)


def _sync(folder: Path) -> Finding:
    """The middle of some syncs of a small write, which every publish waits for."""
    file = folder / f".magnetar-doctor-{os.getpid()}"
    took = []
    try:
        fd = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            for number in range(_SYNCS):
                os.pwrite(fd, bytes(4096), number * 4096)
                began = perf_counter()
                os.fsync(fd)
                took.append((perf_counter() - began) * 1000)
        finally:
            os.close(fd)
            file.unlink()
    except OSError as error:
        return wrong("fsync", f"{folder}: {error.strerror}", "choose another dataDirectory")
    took.sort()
    said = f"{took[len(took) // 2]:.1f} ms, the longest of {_SYNCS} {took[-1]:.1f} ms"
    if took[len(took) // 2] > SYNC_MS_WANTED:
        remedy = "put dataDirectory on a faster disk, or choose durability=interval"
        return note("fsync", said, remedy)
    return ok("fsync", said)
