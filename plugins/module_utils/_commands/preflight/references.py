# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Secrets, ConfigMaps, ServiceAccounts and classes that pods and resources name."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from ..._base.types import Fields, Json
from ..._engine.api_resources import ObjectKey as Key
from ..._http.image_registry import host_of, parse_reference
from ..._http.registry_auth import RegistryError
from ..text import name_of
from .check import Reporter
from .facts import ClusterFacts
from .pod_resources import containers_of
from .workloads import PodGroup, Rendered

SECRET, CONFIG_MAP = "Secret", "ConfigMap"
_ACCOUNT = "ServiceAccount"
_NGC_KEY, _HF_KEY = "NGC_API_KEY", "HF_TOKEN"
_DOWNLOAD_KEYS = (_NGC_KEY, _HF_KEY)
_PULL_KEYS = (".dockerconfigjson", ".dockercfg")
_NEEDS_CREDENTIALS = ("nvcr.io/nim/", "nvcr.io/nvidia/nemo-microservices/")
"""Prefixes of images that NVIDIA's registry never serves without credentials."""


@dataclass(frozen=True)
class Reference:
    """A Secret or ConfigMap that a pod or a resource needs.

    ``key``: empty for all keys. ``field``: where it is named. ``is_optional``: the container starts
    without it.
    """

    kind: str
    name: str
    key: str
    field: str
    is_optional: bool = False


def references_of(spec: Fields) -> list[Reference]:
    """The Secrets and ConfigMaps of a pod: in environments and volumes."""
    found: list[Reference] = []
    for container in containers_of(spec):
        name = f"container {container.get('name')}"
        for variable in container.get("env") or []:
            source = variable.get("valueFrom") or {}
            where = f"{name}, env {variable.get('name')}"
            for kind, field in ((SECRET, "secretKeyRef"), (CONFIG_MAP, "configMapKeyRef")):
                if given := source.get(field):
                    found.append(_reference(kind, given, given.get("key"), where))
        for source in container.get("envFrom") or []:
            for kind, field in ((SECRET, "secretRef"), (CONFIG_MAP, "configMapRef")):
                if given := source.get(field):
                    found.append(_reference(kind, given, "", f"{name}, envFrom"))
    for volume in spec.get("volumes") or []:
        where = f"volume {volume.get('name')}"
        for source in [volume, *((volume.get("projected") or {}).get("sources") or [])]:
            found += _of_volume(source, where)
    return [item for item in found if item.name]


def _of_volume(source: Fields, where: str) -> list[Reference]:
    found = []
    for kind, field in ((SECRET, "secret"), (CONFIG_MAP, "configMap")):
        if given := source.get(field):
            keys = [item.get("key") for item in given.get("items") or []] or [""]
            found += [_reference(kind, given, key, where) for key in keys]
    return found


def _reference(kind: str, given: Fields, key: t.Any, where: str) -> Reference:
    name = given.get("name") or given.get("secretName") or ""
    return Reference(kind, str(name), str(key or ""), where, bool(given.get("optional")))


def named_secrets(spec: t.Any, path: str = "spec") -> t.Iterator[Reference]:
    """The Secrets that fields of a custom resource name.

    `env` and other parts of a pod are left to `references_of`, pull Secrets to `check_images`.
    """
    if isinstance(spec, list):
        for number, item in enumerate(spec):
            yield from named_secrets(item, f"{path}[{number}]")
    elif isinstance(spec, dict):
        for name, value in spec.items():
            where = f"{path}.{name}"
            if name == "authSecret" and isinstance(value, str) and value:
                yield Reference(SECRET, value, _key_in(path), where, _uses_cache(spec))
            else:
                yield from named_secrets(value, where)


def _key_in(path: str) -> str:
    """The key that the download of a NIMCache needs; of a NIMService, its pods name the key."""
    if path.endswith("source.ngc"):
        return _NGC_KEY
    return _HF_KEY if path.endswith(("source.hf", "source.dataStore")) else ""


def _uses_cache(spec: Fields) -> bool:
    """Whether the model comes from a NIMCache, so that nothing is downloaded with a key."""
    storage = spec.get("storage")
    cache = storage.get("nimCache") if isinstance(storage, dict) else None
    return bool(isinstance(cache, dict) and cache.get("name"))


def tls_secrets(manifest: Fields) -> list[Reference]:
    """The Secrets with certificates of an Ingress, which works without them, but not by TLS."""
    if manifest["kind"] != "Ingress":
        return []
    entries = (manifest.get("spec") or {}).get("tls") or []
    names = [item.get("secretName") for item in entries]
    where = f"tls of Ingress {manifest['metadata']['name']}"
    return [Reference(SECRET, name, "", where, is_optional=True) for name in names if name]


def check_references(
    groups: t.Iterable[PodGroup], rendered: Rendered, facts: ClusterFacts
) -> list[Reporter]:
    """Check the Secrets and ConfigMaps of pods, and the Secrets in specs."""
    wanted: dict[Key, list[tuple[str, Reference]]] = {}
    for key, resource in rendered.resources.items():
        named = [(key.namespace, item) for item in named_secrets(resource.get("spec"))]
        wanted.setdefault(key, []).extend(named)
    for made in rendered.planned:
        certificates = [(made.key.namespace, item) for item in tls_secrets(made.manifest)]
        wanted.setdefault(made.parent, []).extend(certificates)
    for group in groups:
        given = [(group.namespace, item) for item in references_of(group.spec)]
        wanted.setdefault(group.parent, []).extend(given)
    reporters = []
    for key, references in wanted.items():
        reporters += _check_each(key, references, rendered, facts)
    return reporters


def _check_each(
    key: Key,
    references: list[tuple[str, Reference]],
    rendered: Rendered,
    facts: ClusterFacts,
) -> list[Reporter]:
    """One line for each object that does not exist, and for each key of those that do."""
    by_object: dict[tuple[str, str, str], list[Reference]] = {}
    for namespace, item in references:
        by_object.setdefault((item.kind, namespace, item.name), []).append(item)
    reporters = []
    for (kind, namespace, name), given in by_object.items():
        reporter = Reporter(key, "secret" if kind == SECRET else "config map")
        live = facts.find(kind, namespace, name)
        keys = () if live is None else tuple(live["keys"])
        is_absent = facts.is_missing(kind, namespace, name)
        for item in _strictest(given, keys, is_absent=is_absent):
            _check_reference(reporter, namespace, item, rendered, facts)
        reporters.append(reporter)
    return reporters


def _strictest(
    given: list[Reference], keys: t.Sequence[str], *, is_absent: bool
) -> list[Reference]:
    """The strictest reference to an object, or to each of its keys.

    ``keys``: of the object. The pods of a NIMService name the keys for downloads as optional,
    although it cannot download without one of them: then the field of the spec counts.
    """
    is_needed = any(not item.is_optional and not item.key for item in given)
    has_one = bool(set(_DOWNLOAD_KEYS) & set(keys))
    found: dict[str, Reference] = {}
    for item in given:
        is_download = item.is_optional and item.key in _DOWNLOAD_KEYS
        is_spare = has_one and item.key not in keys
        if is_download and (is_spare or set(_DOWNLOAD_KEYS) & found.keys()):
            continue
        is_optional = item.is_optional and not (is_needed and is_download)
        known = found.get(item.key)
        if known is None or (known.is_optional and not is_optional):
            found[item.key] = replace(item, is_optional=is_optional)
    if is_absent:
        order = sorted(found.values(), key=lambda item: (item.is_optional, not item.key))
        return order[:1]
    return [item for key, item in found.items() if key] or list(found.values())


def _check_reference(
    reporter: Reporter, namespace: str, item: Reference, rendered: Rendered, facts: ClusterFacts
) -> None:
    if rendered.find(item.kind, namespace, item.name):
        return
    live = facts.find(item.kind, namespace, item.name)
    report = reporter.warn if item.is_optional else reporter.fail
    tail = "" if not item.is_optional else " (optional)"
    create = "generic " if item.kind == SECRET else ""
    if live is None:
        if facts.is_missing(item.kind, namespace, item.name):
            literal = f" --from-literal={item.key}=…" if item.key else " …"
            report(
                f"{item.kind} {item.name} does not exist in namespace {namespace}; named in"
                f" {item.field}{tail}",
                f"kubectl -n {namespace} create {item.kind.lower()} {create}{item.name}{literal}",
            )
    elif item.key and item.key not in live["keys"]:
        report(
            f"{item.kind} {item.name} has no key {item.key}; named in {item.field}{tail}",
            f"add the key {item.key}; the {item.kind} has: {', '.join(live['keys']) or 'none'}",
        )
    else:
        key = f" has the key {item.key}" if item.key else " exists"
        reporter.ok(f"{item.kind} {item.name}{key}")


def account_of(spec: Fields) -> str:
    """The name of the ServiceAccount of a pod."""
    return str(spec.get("serviceAccountName") or "default")


def pull_secrets_of(group: PodGroup, rendered: Rendered, facts: ClusterFacts) -> list[str]:
    """The pull Secrets of a pod; without its own, those of its ServiceAccount."""
    own = [item.get("name") for item in group.spec.get("imagePullSecrets") or []]
    if not own:
        name = account_of(group.spec)
        account = rendered.find(_ACCOUNT, group.namespace, name)
        account = facts.find(_ACCOUNT, group.namespace, name) or account or {}
        own = [item.get("name") for item in account.get("imagePullSecrets") or []]
    return [name for name in own if name]


def check_images(
    groups: t.Iterable[PodGroup], rendered: Rendered, facts: ClusterFacts
) -> list[Reporter]:
    """Check the pull Secrets, and whether they are for the registries of the images."""
    reporters = []
    for group in groups:
        names = pull_secrets_of(group, rendered, facts)
        reporter = Reporter(group.parent, "pull secret")
        images = sorted({str(item.get("image") or "") for item in containers_of(group.spec)} - {""})
        for name in names:
            _check_pull_secret(reporter, group, name, rendered, facts)
        unknown = [name for name in names if not facts.knows(Key(SECRET, group.namespace, name))]
        if not unknown:
            for image in images:
                _check_image(reporter, image, group.namespace, names, facts)
        reporters.append(reporter)
    return reporters


def _check_pull_secret(
    reporter: Reporter, group: PodGroup, name: str, rendered: Rendered, facts: ClusterFacts
) -> None:
    namespace, workload = group.namespace, group.workload
    if rendered.find(SECRET, namespace, name):
        return
    live = facts.find(SECRET, namespace, name)
    create = f"kubectl -n {namespace} create secret docker-registry {name} …"
    if live is None:
        if facts.is_missing(SECRET, namespace, name):
            reporter.fail(
                f"the pull Secret {name} does not exist in namespace {namespace}; named in"
                f" imagePullSecrets of {workload.kind} {workload.name}",
                create,
            )
    elif not set(_PULL_KEYS) & set(live["keys"]):
        reporter.fail(f"Secret {name} is not a pull Secret: it has no {_PULL_KEYS[0]}", create)


def _check_image(
    reporter: Reporter, image: str, namespace: str, names: list[str], facts: ClusterFacts
) -> None:
    try:
        host = host_of(parse_reference(image).host)
    except RegistryError:
        reporter.fail(f"{image} is not a valid image", "correct image in the spec")
        return
    found = [facts.find(SECRET, namespace, name) for name in names]
    if any(_covers(item, host) for item in found if item):
        reporter.ok(f"a pull Secret is for the registry {host}")
    elif any(item is None for item in found):
        return
    elif names or image.startswith(_NEEDS_CREDENTIALS):
        has = f"no pull Secret ({', '.join(names)}) is" if names else "there is no pull Secret"
        reporter.warn(
            f"{has} for the registry {host} of the image {image}",
            f"kubectl -n {namespace} create secret docker-registry … --docker-server={host}, and"
            " name it in pullSecrets; not needed if nodes have credentials or the image is public",
        )


def _covers(secret: Json, host: str) -> bool:
    """Whether a pull Secret has credentials for the registry; like the kubelet, with wildcards."""
    return any(_is_host(pattern, host) for pattern in secret.get("registries") or [])


def _is_host(pattern: str, host: str) -> bool:
    wanted, given = pattern.lower().split("."), host.lower().split(".")
    return len(wanted) == len(given) and all(
        want in ("*", part) for want, part in zip(wanted, given, strict=True)
    )


def check_accounts(
    groups: t.Iterable[PodGroup], rendered: Rendered, facts: ClusterFacts
) -> list[Reporter]:
    """Check ServiceAccounts, which admission requires."""
    reporters = []
    for group in groups:
        reporter = Reporter(group.parent, "service account")
        name = account_of(group.spec)
        is_made = rendered.find(_ACCOUNT, group.namespace, name)
        if not is_made and facts.is_missing(_ACCOUNT, group.namespace, name):
            reporter.fail(
                f"ServiceAccount {name} does not exist in namespace {group.namespace}",
                f"kubectl -n {group.namespace} create serviceaccount {name}",
            )
        reporters.append(reporter)
    return reporters


def check_classes(groups: t.Iterable[PodGroup], facts: ClusterFacts) -> list[Reporter]:
    """Check PriorityClasses and RuntimeClasses, which admission requires."""
    reporters = []
    for group in groups:
        for kind, field in CLASSES.items():
            name = group.spec.get(field)
            reporter = Reporter(group.parent, "class")
            if name and facts.is_missing(kind, "", name):
                reporter.fail(
                    f"{kind} {name} does not exist; named in {field}",
                    f"create it, or change {field} in the spec: kubectl get {kind.lower()}",
                )
            elif name and facts.find(kind, "", name):
                reporter.ok(f"{kind} {name} exists")
            reporters.append(reporter)
    return reporters


CLASSES = {"PriorityClass": "priorityClassName", "RuntimeClass": "runtimeClassName"}
"""Kind → the field of a pod that refers to an object of it."""


def check_absent(rendered: Rendered) -> list[Reporter]:
    """Resources of our kinds that others refer to, such as the NIMCache of a NIMService."""
    reporters = []
    for key in sorted(rendered.absent):
        reporter = Reporter(key, "reference")
        reporter.fail(
            f"{name_of(key)} does not exist and is not among the files, although another resource"
            " refers to it",
            "add it to the files, or correct its name",
        )
        reporters.append(reporter)
    return reporters
