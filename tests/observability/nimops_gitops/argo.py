# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Argo CD's view of resources: their health, and whether they differ from Git."""

from __future__ import annotations

import copy
import json
import typing as t
from dataclasses import dataclass
from pathlib import Path

import yaml
from lupa import lua51

Json = dict[str, t.Any]

ROOT = Path(__file__).resolve().parents[3]
CHECKS = ROOT / "config/gitops/argocd/resource_customizations"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
TRACKING_LABEL, TRACKING_ANNOTATION = "app.kubernetes.io/instance", "argocd.argoproj.io/tracking-id"
STATUSES = ("Healthy", "Progressing", "Degraded", "Suspended")
KEPT = (
    *("assert", "error", "getfenv", "getmetatable", "ipairs", "loadstring", "next", "pairs"),
    *("pcall", "print", "rawequal", "rawget", "rawset", "select", "setfenv", "setmetatable"),
    *("table", "tonumber", "tostring", "type", "unpack", "xpcall", "_G", "_VERSION"),
)
"""The globals of Argo CD's interpreter, which loads only Lua's libraries base and table."""
RESTRICT = """
local kept = ...
debug.setmetatable("", nil)
local names = {}
for name in pairs(_G) do names[#names + 1] = name end
for _, name in ipairs(names) do
  if not kept[name] then _G[name] = nil end
end
"""


class Health(t.NamedTuple):
    """The health of a resource, as Argo CD shows it."""

    status: str
    message: str


@dataclass(frozen=True)
class Recorded:
    """A resource of `testdata`, and its expected health."""

    group: str
    kind: str
    name: str
    expected: Health
    resource: Json


def find_script(group: str, kind: str) -> str:
    """The health check of a kind."""
    return (CHECKS / group / kind / "health.lua").read_text()


def read_recorded() -> list[Recorded]:
    """All tests of health checks, in Argo CD's layout."""
    return [
        Recorded(
            path.parent.parent.name,
            path.parent.name,
            Path(test["inputPath"]).stem,
            Health(test["healthStatus"]["status"], test["healthStatus"].get("message", "")),
            yaml.safe_load((path.parent / test["inputPath"]).read_text()),
        )
        for path in sorted(CHECKS.rglob("health_test.yaml"))
        for test in yaml.safe_load(path.read_text())["tests"]
    ]


def judge(script: str, resource: Json) -> Health:
    """The health by a script; LuaError if it fails, ValueError if Argo CD would not take it."""
    runtime = lua51.LuaRuntime(unpack_returned_tuples=True, register_eval=False)
    runtime.execute(RESTRICT, _to_lua(runtime, dict.fromkeys(KEPT, True)))
    runtime.globals().obj = _to_lua(runtime, resource)
    found = runtime.execute(script)
    if lua51.lua_type(found) != "table" or not set(found.keys()) <= {"status", "message"}:
        raise ValueError("the script does not return a table with status and message")
    message = "" if found["message"] is None else found["message"]
    if found["status"] not in STATUSES or not isinstance(message, str):
        raise ValueError(f"the health is {dict(found)}")
    return Health(found["status"], message)


def _to_lua(runtime: t.Any, value: t.Any) -> t.Any:
    """Plain data as Argo CD converts it: all numbers are floats."""
    if isinstance(value, dict):
        return runtime.table_from({key: _to_lua(runtime, item) for key, item in value.items()})
    if isinstance(value, list):
        return runtime.table_from([_to_lua(runtime, item) for item in value])
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if is_number else value


def track(resource: Json, application: str) -> Json:
    """The resource as Argo CD applies it for an application, with both kinds of tracking."""
    tracked = copy.deepcopy(resource)
    metadata = tracked["metadata"]
    group = tracked["apiVersion"].rpartition("/")[0]
    place = f"{metadata.get('namespace', '')}/{metadata['name']}"
    mark = f"{application}:{group}/{tracked['kind']}:{place}"
    metadata["labels"] = {**(metadata.get("labels") or {}), TRACKING_LABEL: application}
    metadata["annotations"] = {**(metadata.get("annotations") or {}), TRACKING_ANNOTATION: mark}
    return tracked


def is_adopted(live: Json, application: str) -> bool:
    """Whether Argo CD counts an object as one of the application, and prunes it if Git lacks it.

    It never does so with an object that has an owner. By default, Argo CD 2 compares the label,
    and Argo CD 3 the annotation.
    """
    metadata = live["metadata"]
    if metadata.get("ownerReferences"):
        return False
    mark = (metadata.get("annotations") or {}).get(TRACKING_ANNOTATION, "")
    label = (metadata.get("labels") or {}).get(TRACKING_LABEL)
    return bool(label == application or mark.startswith(f"{application}:"))


def find_drift(wanted: Json, live: Json) -> Json:
    """The differences in the client-side comparison of Argo CD: path → [live, expected].

    The expected object is the live one with a three-way JSON merge patch: from the last applied
    manifest, or else the wanted one, to the wanted one. Fields that the manifest does not have,
    also those in items of lists, are those of others.
    """
    annotations = live["metadata"].get("annotations") or {}
    applied = json.loads(annotations.get(LAST_APPLIED) or "null") or wanted
    expected = _merge(copy.deepcopy(live), applied, wanted, _reduce(applied, live))
    return _compare(live, expected)


def _reduce(applied: t.Any, live: t.Any) -> t.Any:
    """The live value without the fields that the last applied one lacks."""
    if isinstance(applied, dict) and isinstance(live, dict):
        return {key: _reduce(applied[key], live[key]) for key in applied if key in live}
    if isinstance(applied, list) and isinstance(live, list):
        pairs = zip(applied, live, strict=False)
        return [_reduce(*pair) for pair in pairs] + live[len(applied) :]
    return live


def _merge(live: Json, applied: t.Any, wanted: Json, reduced: Json) -> Json:
    """The live object after the three-way merge patch."""
    for key in applied if isinstance(applied, dict) else ():
        if key not in wanted:
            live.pop(key, None)
    for key, value in wanted.items():
        old = reduced.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            before = applied.get(key) if isinstance(applied, dict) else {}
            live[key] = _merge(live[key], before, value, old)
        elif value != old and value is not None:
            live[key] = value
    return live


def _compare(live: t.Any, expected: t.Any, path: str = "") -> Json:
    if isinstance(live, dict) and isinstance(expected, dict):
        found: Json = {}
        for key in {**live, **expected}:
            found |= _compare(live.get(key), expected.get(key), f"{path}.{key}".lstrip("."))
        return found
    return {} if live == expected else {path: [live, expected]}
