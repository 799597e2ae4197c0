# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Files that a driver's containers get: from ConfigMaps and Secrets, and subscriptions of nodes."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..._base.errors import NimError
from ..pods import DIRECTORY, FILE, Item, config_map, host_path, mount

_APT, _RPM, _ZYPPER = ("ubuntu", "debian"), ("rhel", "centos", "rocky", "ol"), ("sles", "sl-micro")
_REPOSITORIES = {
    **dict.fromkeys(_APT, "/etc/apt/sources.list.d"),
    **dict.fromkeys(_RPM, "/etc/yum.repos.d"),
    **dict.fromkeys(_ZYPPER, "/etc/zypp/repos.d"),
}
_CERTIFICATES = {
    **dict.fromkeys(_APT, "/usr/local/share/ca-certificates"),
    **dict.fromkeys(_RPM, "/etc/pki/ca-trust/extracted/pem"),
    **dict.fromkeys(_ZYPPER, "/etc/pki/trust/anchors"),
}
_SUBSCRIPTIONS = {
    "rhel": (
        ("/etc/pki/entitlement", "/run/secrets/etc-pki-entitlement", DIRECTORY),
        ("/etc/yum.repos.d/redhat.repo", "/run/secrets/redhat.repo", FILE),
        ("/etc/rhsm", "/run/secrets/rhsm", DIRECTORY),
    ),
    **dict.fromkeys(
        _ZYPPER,
        (
            ("/etc/SUSEConnect", "/etc/SUSEConnect", "FileOrCreate"),
            ("/etc/zypp/credentials.d", "/etc/zypp/credentials.d", DIRECTORY),
        ),
    ),
}
_LICENCE, _LICENCE_FILE = "licensing-config", "gridd.conf"
_TOKEN_FILE = "client_configuration_token.tok"
_TOPOLOGY, _TOPOLOGY_FILE = "topology-config", "nvidia-topologyd.conf"

KeysOf = t.Callable[[str, str], t.Sequence[str]]
"""The keys of a ConfigMap, given the field that names it and its name; NimError if it is absent."""


@dataclass(frozen=True)
class Sources:
    """What a spec names: ConfigMaps, Secrets; ``fields``: how it spells the fields."""

    licence_secret: str = ""
    licence_config_map: str = ""
    has_token: bool = False
    topology: str = ""
    modules: str = ""
    repositories: str = ""
    certificates: str = ""
    fields: t.Mapping[str, str] = field(default_factory=dict)

    @property
    def read(self) -> dict[str, str]:
        """The ConfigMaps whose keys matter, by the field that names them."""
        named = {
            self.spelled(name): getattr(self, name)
            for name in ("modules", "repositories", "certificates")
        }
        return {field: name for field, name in named.items() if name}

    def spelled(self, name: str) -> str:
        """How the spec spells a field."""
        return self.fields.get(name, name)


@dataclass(frozen=True)
class Node:
    """What of the nodes decides which files are needed."""

    os_id: str
    os_tag: str
    runtime: str
    is_precompiled: bool = False


@dataclass
class Files:
    """Volumes, and mounts of the driver, of what loads modules, and of what installs packages."""

    volumes: list[Item] = field(default_factory=list)
    of_driver: list[Item] = field(default_factory=list)
    of_modules: list[Item] = field(default_factory=list)
    of_packages: list[Item] = field(default_factory=list)


def build_files(sources: Sources, node: Node, keys_of: KeysOf) -> Files:
    """The files for the nodes of a kind; NimError if the operating system has no place for them."""
    files = Files()
    _add_licence(files, sources)
    if sources.topology:
        files.volumes.append(config_map(_TOPOLOGY, sources.topology, _TOPOLOGY_FILE))
        files.of_driver.append(_file(_TOPOLOGY, f"/etc/nvidia/{_TOPOLOGY_FILE}", _TOPOLOGY_FILE))
    if sources.modules:
        keys = keys_of(sources.spelled("modules"), sources.modules)
        mounts = _add_config_map(files, sources.modules, "/drivers", keys)
        files.of_driver += mounts
        files.of_modules += mounts
    if not node.is_precompiled:
        _add_packages(files, sources, node, keys_of)
    _add_subscription(files, sources, node)
    return files


def _add_licence(files: Files, sources: Sources) -> None:
    keys = [_LICENCE_FILE, *([_TOKEN_FILE] if sources.has_token else [])]
    if sources.licence_secret:
        items = [{"key": key, "path": key} for key in keys]
        source = {"secretName": sources.licence_secret, "items": items}
        files.volumes.append({"name": _LICENCE, "secret": source})
    elif sources.licence_config_map:
        files.volumes.append(config_map(_LICENCE, sources.licence_config_map, *keys))
    else:
        return
    files.of_driver.append(_file(_LICENCE, f"/drivers/{_LICENCE_FILE}", _LICENCE_FILE))
    if sources.has_token:
        path = f"/drivers/ClientConfigToken/{_TOKEN_FILE}"
        files.of_driver.append(_file(_LICENCE, path, _TOKEN_FILE))


def _add_packages(files: Files, sources: Sources, node: Node, keys_of: KeysOf) -> None:
    for name, what, folders in (
        ("repositories", "repository", _REPOSITORIES),
        ("certificates", "certificate", _CERTIFICATES),
    ):
        source = getattr(sources, name)
        if not source:
            continue
        if node.os_id not in folders:
            raise NimError(f"{what} configuration not supported for distribution {node.os_tag}")
        keys = keys_of(sources.spelled(name), source)
        mounts = _add_config_map(files, source, folders[node.os_id], keys)
        files.of_driver += mounts
        files.of_packages += mounts


def _add_config_map(files: Files, source: str, folder: str, keys: t.Sequence[str]) -> list[Item]:
    if source not in {item["name"] for item in files.volumes}:
        files.volumes.append(config_map(source, source, *keys))
    return [_file(source, f"{folder}/{key}", key) for key in keys]


def _add_subscription(files: Files, sources: Sources, node: Node) -> None:
    """The node's right to packages of its distribution."""
    if node.os_id == "rhel" and (node.runtime == "crio" or sources.repositories):
        return
    for number, (path, inside, kind) in enumerate(
        sorted(_SUBSCRIPTIONS.get(node.os_id, ()), key=lambda item: item[1])
    ):
        name = f"subscription-config-{number}"
        files.volumes.append(host_path(name, path, kind))
        files.of_driver.append(mount(name, inside, read_only=True))
    if node.is_precompiled and node.os_id in _ZYPPER:
        files.volumes.append(host_path("lib-modules", "/lib/modules"))
        files.of_driver.append(mount("lib-modules", "/run/host/lib/modules", read_only=True))


def _file(volume: str, path: str, key: str) -> Item:
    return mount(volume, path, read_only=True, key=key)
