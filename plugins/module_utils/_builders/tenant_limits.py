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
from .app import App

HOST_PATHS = "NIMOPS_HOST_PATHS"
ROOT_USER = "NIMOPS_ROOT_USER"
INGRESS_ANNOTATIONS = "NIMOPS_INGRESS_ANNOTATIONS"
POD_LABELS = "NIMOPS_POD_LABELS"
PROBE_HOSTS = "NIMOPS_PROBE_HOSTS"
EXPOSED_SERVICES = "NIMOPS_EXPOSED_SERVICES"
POD_SECURITY = "NIMOPS_POD_SECURITY"
POD_SECURITY_ANNOTATION = "nimops.nim/pod-security"
"""Annotation of a custom resource that restricts its pods even if the switch does not."""

_ANY = "*"
_DEFAULTS = {
    HOST_PATHS: _ANY,
    ROOT_USER: "allow",
    INGRESS_ANNOTATIONS: _ANY,
    POD_LABELS: _ANY,
    PROBE_HOSTS: _ANY,
    EXPOSED_SERVICES: _ANY,
    POD_SECURITY: "reference",
}
_SWITCHES = "switches"
_PATTERN = re.compile(r"[A-Za-z0-9._:/*?-]+")
_ROOT_USER = {"allow": False, "forbid": True}
_POD_SECURITY = {"reference": False, "restricted": True}
_ROOT, _UNCONFINED = 0, "Unconfined"
_MAX_SHOWN = 317
"""The maximum length of a label or annotation key."""


def read_switches(environment: t.Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The switches for pure code, as part of the operator's configuration."""
    return {_SWITCHES: {name: environment.get(name, _DEFAULTS[name]) for name in _DEFAULTS}}


def host_path_violations(app: App, field: str, path: str) -> list[str]:
    """Violations by a hostPath volume at ``path``, which may be empty."""
    if not path:
        return []
    if restricts_pods(app):
        return [_violation(field, path, f"{_restricted_by(app)}, which allows no hostPath volume")]
    allowed = _listed(app.observed, HOST_PATHS)
    if _ANY in allowed:
        return []
    bad = [item for item in allowed if not item.startswith("/") or ".." in item.split("/")]
    if bad:
        why = f"the operator's {HOST_PATHS} has {bad[0]!r}, which is not a plain path"
        return [_violation(field, path, why)]
    if path.startswith("/") and any(_is_below(path, item) for item in allowed):
        return []
    return [_violation(field, path, _allows(HOST_PATHS, allowed))]


def forbids_root(observed: Observed) -> bool:
    """Whether no container of any resource may run as root."""
    return _ROOT_USER.get(_value(observed, ROOT_USER).strip(), True) or _restricts_all(observed)


def restricts_pods(app: App) -> bool:
    """Whether the pods of this resource must pass the Pod Security Standard `restricted`."""
    return _restricts_all(app.observed) or _POD_SECURITY.get(_annotated(app), True)


def may_be_root(app: App) -> bool:
    """Whether the containers of this resource may run as root."""
    return not (forbids_root(app.observed) or restricts_pods(app))


def root_violations(app: App, field: str, value: t.Any) -> list[str]:
    """Violations by ``value``, which makes a container run as root."""
    if may_be_root(app):
        return []
    given = _value(app.observed, ROOT_USER)
    is_forbidden = _ROOT_USER.get(given.strip())
    if is_forbidden is None:
        why = f"the operator's {ROOT_USER} is {given!r}: use allow or forbid"
    else:
        switch = f"{ROOT_USER} is forbid" if is_forbidden else _restricted_by(app)
        why = f"a container would run as root, but {switch}"
    return [_violation(field, value, why)]


def security_violations(app: App, field: str, security: Fields) -> list[str]:
    """Violations by a security context of the user."""
    added = (security.get("capabilities") or {}).get("add")
    given = {
        "allowPrivilegeEscalation": security.get("allowPrivilegeEscalation") is True,
        "capabilities.add": bool(added),
        "privileged": security.get("privileged") is True,
        "runAsNonRoot": security.get("runAsNonRoot") is False,
        "runAsUser": security.get("runAsUser") == _ROOT,
    }
    found = [
        violation
        for name, is_bad in given.items()
        if is_bad
        for violation in root_violations(
            app, f"{field}.{name}", added if name == "capabilities.add" else security[name]
        )
    ]
    profile = (security.get("seccompProfile") or {}).get("type")
    if profile == _UNCONFINED and restricts_pods(app):
        found.append(_violation(f"{field}.seccompProfile.type", profile, _restricted_by(app)))
    return found


def root_user_violations(app: App, user: int | None) -> list[str]:
    """Violations by a root user."""
    return root_violations(app, "spec.userID", _ROOT) if user == _ROOT else []


def _restricts_all(observed: Observed) -> bool:
    return _POD_SECURITY.get(_value(observed, POD_SECURITY).strip(), True)


def _annotated(app: App) -> str:
    given = (app.resource["metadata"].get("annotations") or {}).get(POD_SECURITY_ANNOTATION)
    return _DEFAULTS[POD_SECURITY] if given is None else str(given).strip()


def _restricted_by(app: App) -> str:
    """The setting that restricts the pods, for a message."""
    if not _restricts_all(app.observed):
        return _setting(f"the annotation {POD_SECURITY_ANNOTATION}", _annotated(app))
    return _setting(f"the operator's {POD_SECURITY}", _value(app.observed, POD_SECURITY).strip())


def _setting(name: str, value: str) -> str:
    if value in _POD_SECURITY:
        return f"{name} is {value}"
    return f"{name} is {value[:_MAX_SHOWN]!r}: use {' or '.join(_POD_SECURITY)}"


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
