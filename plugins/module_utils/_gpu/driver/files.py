# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Files of the driver containers: from ConfigMaps and Secrets, and subscriptions of the node."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..fields import SpecError
from ..nodes import OperatingSystem
from ..pods import DIRECTORY, FILE, Item, config_map, host_path, mount
from .spec import LICENSE_FILE, TOKEN_FILE, Driver, Sources

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
_LICENSE = "licensing-config"
_TOPOLOGY, _TOPOLOGY_FILE = "topology-config", "nvidia-topologyd.conf"

KeysOf = t.Callable[[str, str], t.Sequence[str]]
"""Returns the keys of a ConfigMap; arguments: the field that refers to it, and its name.

NimError if it does not exist.
"""


@dataclass
class Files:
    """Volumes, and the mounts of containers by purpose: driver, modules and packages."""

    volumes: list[Item] = field(default_factory=list)
    driver_mounts: list[Item] = field(default_factory=list)
    module_mounts: list[Item] = field(default_factory=list)
    package_mounts: list[Item] = field(default_factory=list)


def build_files(driver: Driver, system: OperatingSystem, runtime: str, keys_of: KeysOf) -> Files:
    """Build the files for an operating system; NimError if it does not support one.

    ``runtime``: the container runtime of the nodes.
    """
    files, sources = Files(), driver.sources
    _add_license(files, sources)
    if sources.topology:
        files.volumes.append(config_map(_TOPOLOGY, sources.topology, _TOPOLOGY_FILE))
        files.driver_mounts.append(
            _file(_TOPOLOGY, f"/etc/nvidia/{_TOPOLOGY_FILE}", _TOPOLOGY_FILE)
        )
    if sources.modules:
        keys = keys_of(sources.path_of("modules"), sources.modules)
        mounts = _add_config_map(files, sources.modules, "/drivers", keys)
        files.driver_mounts += mounts
        files.module_mounts += mounts
    if not driver.is_precompiled:
        _add_packages(files, sources, system, keys_of)
    _add_subscription(files, driver, system, runtime)
    return files


def _add_license(files: Files, sources: Sources) -> None:
    if not (found := sources.license):
        return
    if found.kind == "Secret":
        items = [{"key": key, "path": key} for key in found.keys]
        source = {"secretName": found.name, "items": items}
        files.volumes.append({"name": _LICENSE, "secret": source})
    else:
        files.volumes.append(config_map(_LICENSE, found.name, *found.keys))
    files.driver_mounts.append(_file(_LICENSE, f"/drivers/{LICENSE_FILE}", LICENSE_FILE))
    if TOKEN_FILE in found.keys:
        path = f"/drivers/ClientConfigToken/{TOKEN_FILE}"
        files.driver_mounts.append(_file(_LICENSE, path, TOKEN_FILE))


def _add_packages(files: Files, sources: Sources, system: OperatingSystem, keys_of: KeysOf) -> None:
    for name, what, folders in (
        ("repositories", "repository", _REPOSITORIES),
        ("certificates", "certificate", _CERTIFICATES),
    ):
        source = getattr(sources, name)
        if not source:
            continue
        if system.id not in folders:
            raise SpecError(f"{what} configuration not supported for distribution {system.tag}")
        keys = keys_of(sources.path_of(name), source)
        mounts = _add_config_map(files, source, folders[system.id], keys)
        files.driver_mounts += mounts
        files.package_mounts += mounts


def _add_config_map(files: Files, source: str, folder: str, keys: t.Sequence[str]) -> list[Item]:
    if source not in {item["name"] for item in files.volumes}:
        files.volumes.append(config_map(source, source, *keys))
    return [_file(source, f"{folder}/{key}", key) for key in keys]


def _add_subscription(files: Files, driver: Driver, system: OperatingSystem, runtime: str) -> None:
    """Mount the node's subscription to packages of its distribution."""
    if system.id == "rhel" and (runtime == "crio" or driver.sources.repositories):
        return
    for number, (path, inside, kind) in enumerate(
        sorted(_SUBSCRIPTIONS.get(system.id, ()), key=lambda item: item[1])
    ):
        name = f"subscription-config-{number}"
        files.volumes.append(host_path(name, path, kind))
        files.driver_mounts.append(mount(name, inside, read_only=True))
    if driver.is_precompiled and system.id in _ZYPPER:
        files.volumes.append(host_path("lib-modules", "/lib/modules"))
        files.driver_mounts.append(mount("lib-modules", "/run/host/lib/modules", read_only=True))


def _file(volume: str, path: str, key: str) -> Item:
    return mount(volume, path, read_only=True, key=key)
