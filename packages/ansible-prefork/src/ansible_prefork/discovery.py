# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Share one API discovery per cluster among all runs of kubernetes.core's modules.

kubernetes.core stores discovery results in a file named after the server's URL. ansible-operator puts an owner into the
user part of that URL, so each custom resource repeats the discovery and leaves a file in the temporary directory. The
shared file is named after the server and the credentials, without the owner, which is not a credential. A run works on
its own copy. If it discovers something, its copy replaces the shared file.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import importlib
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

MODULE = "ansible_collections.kubernetes.core.plugins.module_utils.client.discovery"
LIFETIME_SECONDS = 600.0
CREDENTIALS = ("username", "password", "proxy")
# The client kubernetes writes inline data of a kubeconfig to files with random names, so their contents count.
CREDENTIAL_FILES = ("cert_file", "key_file", "ssl_ca_cert")

_directory: Path | None = None
_copies: list[tuple[Path, Path, float]] = []


def install(directory: Path) -> None:
    """Share discoveries below ``directory``, if kubernetes.core is installed."""
    global _directory
    try:
        module = importlib.import_module(MODULE)
    except ImportError:
        return
    _directory = directory / "discovery"
    _directory.mkdir(mode=0o700, exist_ok=True)
    discoverer = module.Discoverer
    initialize = discoverer.__init__

    def initialize_shared(self: Any, client: Any, cache_file: str | None = None) -> None:
        initialize(self, client, cache_file or _give_copy(client.configuration))

    discoverer.__init__ = initialize_shared


def is_owner(username: str | None) -> bool:
    """Whether a user name is an owner reference for ansible-operator's proxy."""
    if not username:
        return False
    try:
        owner = json.loads(base64.urlsafe_b64decode(username + "=" * (-len(username) % 4)))
    except (ValueError, binascii.Error):
        return False
    return isinstance(owner, dict) and {"apiVersion", "kind", "name", "uid"} <= owner.keys()


def cluster_key(configuration: Any) -> str:
    """The key of a cluster for one user: a digest of the server and the credentials."""
    parts = urlsplit(configuration.host)
    user = parts.username
    proxied = is_owner(user) or is_owner(getattr(configuration, "username", None))
    chosen: list[Any] = [
        parts.scheme,
        parts.hostname,
        parts.port,
        parts.path,
        None if is_owner(user) else user,
    ]
    keys = (getattr(configuration, "api_key", None) or {}).items()
    if proxied:
        # The client makes such a header from the owner.
        keys = [item for item in keys if not str(item[1]).startswith("Basic ")]
    else:
        chosen += [getattr(configuration, name, None) for name in CREDENTIALS]
    chosen += [_digest_file(getattr(configuration, name, None)) for name in CREDENTIAL_FILES]
    chosen.append(sorted(keys))
    return hashlib.sha256(json.dumps(chosen, default=str).encode()).hexdigest()


def _digest_file(path: str | None) -> str | None:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest() if path else None
    except OSError:
        return path


def _give_copy(configuration: Any) -> str | None:
    if _directory is None:
        return None
    shared = _directory / f"{cluster_key(configuration)}.json"
    number, name = tempfile.mkstemp(prefix="prefork-discovery-", suffix=".json")
    os.close(number)
    copy = Path(name)
    try:
        if time.time() - shared.stat().st_mtime > LIFETIME_SECONDS:
            raise FileNotFoundError
        shutil.copyfile(shared, copy)
        seen = copy.stat().st_mtime_ns
    except OSError:
        # For kubernetes.core, a missing file means that there is no discovery yet.
        copy.unlink()
        seen = 0
    _copies.append((copy, shared, seen))
    return name


def use_kubeconfig() -> None:
    """Apply KUBECONFIG of this run. The package kubernetes read it when the parent imported it."""
    for name in ("kubernetes.config", "kubernetes.config.kube_config"):
        module = sys.modules.get(name)
        if module is not None:
            vars(module)["KUBE_CONFIG_DEFAULT_LOCATION"] = os.environ.get("KUBECONFIG", "~/.kube/config")


def publish() -> None:
    """Share the discoveries of this run and remove its copies. Called in the run's process, at its end."""
    while _copies:
        copy, shared, seen = _copies.pop()
        try:
            if copy.stat().st_mtime_ns != seen and _is_whole(copy):
                fresh = shared.with_suffix(f".{os.getpid()}")
                shutil.copyfile(copy, fresh)
                os.replace(fresh, shared)
                _remove_expired(shared.parent)
            copy.unlink()
        except OSError:
            continue


def _remove_expired(directory: Path) -> None:
    """Remove expired discoveries, such as those of replaced credentials."""
    for entry in os.scandir(directory):
        with contextlib.suppress(OSError):
            if time.time() - entry.stat().st_mtime > LIFETIME_SECONDS:
                os.unlink(entry.path)


def _is_whole(path: Path) -> bool:
    try:
        return "library_version" in json.loads(path.read_text())
    except ValueError:
        return False
