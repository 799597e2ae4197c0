# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Limits that the administrator sets on custom resources, in the operator's environment variables.

Everything is allowed by default. A switch with an invalid value forbids all that it controls, with
a message about the value.
"""

from __future__ import annotations

import posixpath
import re
import typing as t
from fnmatch import fnmatchcase

from .._base.errors import FORBIDDEN, NimError
from .._base.types import Fields
from .._engine.observed import OPERATOR, Observed

HOST_PATHS = "NIMOPS_HOST_PATHS"
ROOT_USER = "NIMOPS_ROOT_USER"
INGRESS_ANNOTATIONS = "NIMOPS_INGRESS_ANNOTATIONS"
POD_LABELS = "NIMOPS_POD_LABELS"
PROBE_HOSTS = "NIMOPS_PROBE_HOSTS"
EXPOSED_SERVICES = "NIMOPS_EXPOSED_SERVICES"

_ANY = "*"
_DEFAULTS = {
    HOST_PATHS: _ANY,
    ROOT_USER: "allow",
    INGRESS_ANNOTATIONS: _ANY,
    POD_LABELS: _ANY,
    PROBE_HOSTS: _ANY,
    EXPOSED_SERVICES: _ANY,
}
_SWITCHES = "switches"
_PATTERN = re.compile(r"[A-Za-z0-9._:/*?-]+")
_ROOT_USER = {"allow": False, "forbid": True}
_ROOT = 0
_MAX_SHOWN = 317
"""The maximum length of a label or annotation key."""


def read_switches(environment: t.Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The switches for pure code, as part of the operator's configuration."""
    return {_SWITCHES: {name: environment.get(name, _DEFAULTS[name]) for name in _DEFAULTS}}


def host_path_violations(observed: Observed, field: str, path: str) -> list[str]:
    """Violations by a hostPath volume at ``path``, which may be empty."""
    allowed = _listed(observed, HOST_PATHS)
    if not path or _ANY in allowed:
        return []
    bad = [item for item in allowed if not item.startswith("/") or ".." in item.split("/")]
    if bad:
        why = f"the operator's {HOST_PATHS} has {bad[0]!r}, which is not a plain path"
        return [_violation(field, path, why)]
    if path.startswith("/") and any(_is_below(path, item) for item in allowed):
        return []
    return [_violation(field, path, _allows(HOST_PATHS, allowed))]


def forbids_root(observed: Observed) -> bool:
    """Whether containers must not run as root."""
    return _ROOT_USER.get(_value(observed, ROOT_USER).strip(), True)


def root_violations(observed: Observed, field: str, value: t.Any) -> list[str]:
    """Violations by ``value``, which makes a container run as root."""
    if not forbids_root(observed):
        return []
    given = _value(observed, ROOT_USER)
    if given.strip() in _ROOT_USER:
        return [
            _violation(field, value, f"a container would run as root, but {ROOT_USER} is forbid")
        ]
    why = f"the operator's {ROOT_USER} is {given!r}: use allow or forbid"
    return [_violation(field, value, why)]


def security_violations(observed: Observed, field: str, security: Fields) -> list[str]:
    """Violations by a security context of the user."""
    added = (security.get("capabilities") or {}).get("add")
    given = {
        "allowPrivilegeEscalation": security.get("allowPrivilegeEscalation") is True,
        "capabilities.add": bool(added),
        "privileged": security.get("privileged") is True,
        "runAsNonRoot": security.get("runAsNonRoot") is False,
        "runAsUser": security.get("runAsUser") == _ROOT,
    }
    return [
        violation
        for name, is_bad in given.items()
        if is_bad
        for violation in root_violations(
            observed, f"{field}.{name}", added if name == "capabilities.add" else security[name]
        )
    ]


def root_user_violations(observed: Observed, user: int | None, config_map: str) -> list[str]:
    """Violations by a root user, or by certificates, which need a root container."""
    found = []
    if user == _ROOT:
        found += root_violations(observed, "spec.userID", _ROOT)
    if config_map:
        found += root_violations(observed, "spec.proxy.certConfigMap", config_map)
    return found


def key_violations(
    observed: Observed, switch: str, field: str, keys: t.Iterable[str] | None
) -> list[str]:
    """Violations by label or annotation keys.

    ``switch`` lists patterns of the allowed keys. A pattern may contain ``*`` and ``?``.
    """
    if not is_restricted(observed, switch):
        return []
    allowed, why = _patterns(observed, switch, "keys")
    return [
        _violation(field, key, why)
        for key in sorted(keys or ())
        if not any(fnmatchcase(key, item) for item in allowed)
    ]


def name_violations(observed: Observed, switch: str, field: str, name: str) -> list[str]:
    """Violations by the name of a host or an object, case-insensitive.

    ``switch`` lists patterns of the allowed names, as for `key_violations`.
    """
    if not is_restricted(observed, switch):
        return []
    allowed, why = _patterns(observed, switch, "names")
    if any(fnmatchcase(name.lower(), item.lower()) for item in allowed):
        return []
    return [_violation(field, name, why)]


def is_restricted(observed: Observed, switch: str) -> bool:
    """Whether a switch with a list of allowed values forbids anything."""
    return _ANY not in _listed(observed, switch)


def allows(observed: Observed, switch: str) -> str:
    """The values that a switch allows, for a message."""
    return _allows(switch, _listed(observed, switch))


def refuse(violations: t.Sequence[str]) -> None:
    """NimError if there are violations."""
    if violations:
        raise NimError(
            f"{'; '.join(violations)} (running workloads stay unchanged)", reason=FORBIDDEN
        )


def _patterns(observed: Observed, switch: str, what: str) -> tuple[list[str], str]:
    """The allowed patterns, and the reason for refusing others; a bad pattern empties the list."""
    allowed = _listed(observed, switch)
    if bad := [item for item in allowed if not _PATTERN.fullmatch(item)]:
        return [], f"the operator's {switch} has {bad[0]!r}, which is not a pattern of {what}"
    return allowed, _allows(switch, allowed)


def _violation(field: str, value: t.Any, why: str) -> str:
    shown = f'"{value[:_MAX_SHOWN]}"' if isinstance(value, str) else value
    return f"{field}: {shown} is forbidden: {why}"


def _allows(switch: str, allowed: t.Sequence[str]) -> str:
    return f"the operator's {switch} allows {', '.join(allowed) or 'none'}"


def _value(observed: Observed, switch: str) -> str:
    switches = (observed.get(OPERATOR) or {}).get(_SWITCHES) or {}
    return str(switches.get(switch, _DEFAULTS[switch]))


def _listed(observed: Observed, switch: str) -> list[str]:
    entries = (entry.strip() for entry in _value(observed, switch).split(","))
    return [entry for entry in entries if entry]


def _is_below(path: str, folder: str) -> bool:
    """Whether a path is ``folder`` or within it, as the kernel resolves both without links."""
    path, folder = (f"/{posixpath.normpath(item).lstrip('/')}" for item in (path, folder))
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")
