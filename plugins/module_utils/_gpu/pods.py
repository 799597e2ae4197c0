# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Building blocks for the pods of the GPU stack."""

from __future__ import annotations

import typing as t

from .._base.printable import printable
from .._base.types import Fields
from .._builders.env import EnvVar, field_env
from .fields import SpecError
from .operand_spec import OperandSpec

Container = dict[str, t.Any]
Item = dict[str, t.Any]

APP = "app"
"""The label by which a DaemonSet selects its pods."""
DIRECTORY, CREATE, FILE = "Directory", "DirectoryOrCreate", "File"
FROM_HOST, BOTH_WAYS = "HostToContainer", "Bidirectional"

PRIVILEGED: t.Final = {"privileged": True}
AS_ROOT: t.Final = {"privileged": True, "runAsUser": 0}
"""Security context for the validator image, whose default user is not root."""
SE_LINUX: t.Final = {"seLinuxOptions": {"level": "s0"}}

_SHOWN = 100
"""Characters of a user's text in a message."""

NODE_NAME = field_env("NODE_NAME", "spec.nodeName")
POD_NAME = field_env("POD_NAME", "metadata.name")


def namespace_env(name: str) -> EnvVar:
    """A variable with the namespace of the pod as its value."""
    return field_env(name, "metadata.namespace")


def host_path(name: str, path: str, kind: str = "") -> Item:
    """A hostPath volume."""
    return {"name": name, "hostPath": {"path": path, **({"type": kind} if kind else {})}}


def config_map(name: str, source: str, *keys: str, mode: int | None = None) -> Item:
    """A volume from a ConfigMap, or from some of its keys."""
    fields: Item = {"name": source}
    if mode is not None:
        fields["defaultMode"] = mode
    if keys:
        fields["items"] = [{"key": key, "path": key} for key in keys]
    return {"name": name, "configMap": fields}


def mount(
    name: str, path: str, spread: str = "", *, read_only: bool = False, key: str = ""
) -> Item:
    """A volume mount; ``spread``: the mount propagation; ``key``: mount only this file."""
    found: Item = {"name": name, "mountPath": path}
    if spread:
        found["mountPropagation"] = spread
    if read_only:
        found["readOnly"] = True
    if key:
        found["subPath"] = key
    return found


def set_env(container: Container, name: str, value: str) -> None:
    """Set a variable to a value, replacing a variable of that name."""
    set_env_var(container, {"name": name, "value": value} if value else {"name": name})


def set_env_var(container: Container, item: EnvVar) -> None:
    """Set a variable, replacing one of that name; an empty value is omitted."""
    item = {key: value for key, value in item.items() if (key, value) != ("value", "")}
    variables = container.setdefault("env", [])
    for index, have in enumerate(variables):
        if have["name"] == item["name"]:
            variables[index] = item
            return
    variables.append(item)


def set_env_vars(container: Container, items: t.Iterable[EnvVar]) -> None:
    """Set several variables."""
    for item in items:
        set_env_var(container, item)


def env_value(container: Container, name: str) -> str | None:
    """The value of a variable; None if the container does not have it."""
    for item in container.get("env") or []:
        if item["name"] == name:
            return str(item.get("value") or "")
    return None


def apply_operand(container: Container, operand: OperandSpec, image: str) -> Container:
    """Set image, pull policy, resources and arguments from the spec of an operand."""
    container |= {"image": image, "imagePullPolicy": operand.pull_policy}
    if operand.resources:
        container["resources"] = dict(operand.resources)
    if operand.args:
        container["args"] = list(operand.args)
    return container


def pull_secrets(*operands: OperandSpec) -> list[dict[str, str]]:
    """The pull secrets of operands in order, without duplicates."""
    names = (name for operand in operands for name in operand.pull_secrets)
    return [{"name": name} for name in dict.fromkeys(names)]


def use_host_network(pod: Item) -> None:
    """Use the host network; the DNS policy still resolves Services of the cluster."""
    pod |= {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}


def complete_pod(pod: Item, operand: OperandSpec, *, before: t.Iterable[OperandSpec] = ()) -> Item:
    """Set the pull secrets, the network and the volumes of the user.

    The secrets of ``before`` come first. NimError if the pod has one of the volumes or mounts.
    """
    if secrets := pull_secrets(*before, operand):
        pod["imagePullSecrets"] = secrets
    if operand.host_network:
        use_host_network(pod)
    add_user_volumes(pod, operand)
    return pod


def add_user_volumes(pod: Item, operand: OperandSpec) -> None:
    """Add the volumes of the user, and their mounts in the main container, the first one.

    NimError if the pod has such a volume, or the container such a mount, or a mount has no volume.
    """
    if not (operand.volumes or operand.mounts):
        return
    volumes = pod.setdefault("volumes", [])
    mounts = pod["containers"][0].setdefault("volumeMounts", [])
    _add_new(volumes, operand.volumes, f"{operand.path}.extraVolumes", "name")
    field = f"{operand.path}.extraVolumeMounts"
    names = {item["name"] for item in volumes}
    for index, item in enumerate(operand.mounts):
        if item["name"] not in names:
            name = printable(item["name"], _SHOWN)
            raise SpecError(
                f'{field}[{index}].name: the pods have no volume "{name}": add it to'
                f" {operand.path}.extraVolumes"
            )
    _add_new(mounts, operand.mounts, field, "mountPath")


def _add_new(items: list[Item], new: t.Iterable[Fields], field: str, key: str) -> None:
    taken = {item[key] for item in items}
    for index, item in enumerate(new):
        if item[key] in taken:
            value = printable(item[key], _SHOWN)
            raise SpecError(
                f'{field}[{index}].{key}: "{value}" is in use in these pods already: choose'
                " another one"
            )
        taken.add(item[key])
        items.append(dict(item))


def containers_of(pod: Item) -> list[Container]:
    """The init containers and containers of a pod."""
    return [*(pod.get("initContainers") or []), *pod["containers"]]


def add_volumes(pod: Item, items: t.Iterable[Item]) -> None:
    """Add the volumes whose names the pod does not have."""
    names = {item["name"] for item in pod["volumes"]}
    pod["volumes"] += [item for item in items if item["name"] not in names]


def set_path(pod: Item, volume: str, path: str) -> None:
    """Set the path of a hostPath volume."""
    for item in pod["volumes"]:
        if item["name"] == volume:
            item["hostPath"] = {**item["hostPath"], "path": path}
