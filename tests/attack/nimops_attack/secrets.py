# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Canary secrets: values of Secrets must only be in Secrets."""

from __future__ import annotations

import base64
import tarfile
import typing as t
from pathlib import Path

from nimops_harness.cluster import SECRETS, path_of
from nimops_harness.workload import make_nimcache, make_nimservice

from .fields import Json
from .harness import KINDS, Harness, Seen, attack, path_to
from .people import play

CANARIES = {
    "ngc-api-secret": "canary-of-the-auth-secret-4711",
    "ngc-secret": "canary-of-the-pull-secret-4712",
    "tls-secret": "canary-of-the-tls-secret-4713",
    "proxy-secret": "canary-of-the-proxy-secret-4714",
}
_SHORTEST = 12


def fill_secrets(harness: Harness, namespace: str) -> None:
    """Create the Secrets of our resources with canaries."""
    canaries = CANARIES
    login = base64.b64encode(f"$oauthtoken:{canaries['ngc-secret']}".encode()).decode()
    config = (
        f'{{"auths": {{"nvcr.io": {{"password": "{canaries["ngc-secret"]}", "auth": "{login}"}}}}}}'
    )
    for name, kind, data in (
        ("ngc-secret", "kubernetes.io/dockerconfigjson", {".dockerconfigjson": config}),
        ("ngc-api-secret", "Opaque", {"NGC_API_KEY": canaries["ngc-api-secret"], "HF_TOKEN": canaries["ngc-api-secret"]}),
        ("tls-secret", "kubernetes.io/tls", {"tls.key": canaries["tls-secret"], "tls.crt": "c"}),
        ("proxy-secret", "Opaque", {"httpsProxy": canaries["proxy-secret"]}),
    ):  # fmt: skip
        place = path_of(SECRETS, namespace, name)
        harness.cluster.ask("DELETE", place)
        body = {"metadata": {"name": name}, "type": kind, "stringData": data}
        harness.cluster.request("POST", path_of(SECRETS, namespace), body)


def list_needles(harness: Harness, namespace: str) -> dict[str, str]:
    """Values of all Secrets, also of those that the operator created → their Secret."""
    needles: dict[str, str] = {}
    for secret in harness.cluster.get(path_of(SECRETS, namespace))["items"]:
        for key, encoded in (secret.get("data") or {}).items():
            value = base64.b64decode(encoded).decode(errors="replace")
            whose = f"{secret['metadata']['name']}[{key}]"
            lines = [line.strip() for line in value.splitlines()]
            inner = [line for line in lines if len(line) >= _SHORTEST and "PRIVATE KEY" not in line]
            if key.endswith(".pub") or key in ("tls.crt", "ca.crt", "authorized_keys", "config"):
                continue
            needles |= {line: whose for line in inner if not line.startswith("ssh-")}
            needles[encoded] = whose
    needles |= {text: name for name, text in CANARIES.items()}
    return {text: whose for text, whose in needles.items() if len(text) >= _SHORTEST}


def find_needles(texts: t.Iterable[tuple[str, str]], needles: dict[str, str]) -> list[str]:
    found = {
        f"{whose} in {where}" for where, text in texts for needle, whose in needles.items() if needle in text
    }  # fmt: skip
    return sorted(found)


def make_resources() -> list[Json]:
    """A resource for each use of a Secret."""
    cache = make_nimcache("cache")
    plain = make_nimservice("plain")
    plain["spec"]["proxy"] = {"httpsProxy": "http://proxy.example:3128", "certConfigMap": "certs"}
    plain["spec"]["env"] = [
        {
            "name": "TOKEN",
            "valueFrom": {"secretKeyRef": {"name": "proxy-secret", "key": "httpsProxy"}},
        }
    ]
    plain["spec"]["expose"]["router"] = {
        "hostDomainName": "apps.example.com",
        "ingress": {"ingressClass": "nginx", "tlsSecretName": "tls-secret"},
    }
    group = make_nimservice("group")
    group["spec"]["multiNode"] = {"parallelism": {"pipeline": 2, "tensor": 1}}
    return [cache, plain, group]


@attack(
    "secrets", "values of Secrets are in no log, event, status, artifact, diff, archive or file"
)
def attack_secrets(harness: Harness) -> Seen:
    namespace = harness.namespace("secrets")
    fill_secrets(harness, namespace)
    harness.start(ANSIBLE_DIFF_ALWAYS="true")
    resources = make_resources()
    refusals = [harness.create(namespace, resource) for resource in resources]
    problems = [f"refused: {refusal}" for refusal in refusals if refusal]
    for resource in resources:
        kind, name = resource["kind"], resource["metadata"]["name"]
        problems += harness.find_unanswered(kind, namespace, [name])
    harness.wait_for("the keys of the group", lambda: harness.cluster.find(path_of(SECRETS, namespace, "group-ssh-pk")), 30)  # fmt: skip
    change = {"spec": {"image": {"tag": "1.13.0"}}}
    for name in ("plain", "group"):
        harness.cluster.patch(path_to("NIMService", namespace, name), change)
    problems += harness.find_unanswered("NIMService", namespace, ["plain", "group"])  # fmt: skip
    needles = list_needles(harness, namespace)
    if not any(whose.startswith("group-ssh-pk[") for whose in needles.values()):
        problems.append("no private key was made: that part of the attack did not take place")
    problems += find_needles(harness.list_texts(namespace), needles)
    problems += find_needles(read_archive(harness, namespace), needles)
    for kind in KINDS:
        problems += harness.find_undeleted(kind, namespace, ["cache", "plain", "group"])  # fmt: skip
    problems += find_needles(harness.list_own_texts(), needles)
    return Seen.of(
        problems, f"{len(needles)} values of Secrets: in no log, diff, object, archive or file"
    )


def read_archive(harness: Harness, namespace: str) -> t.Iterator[tuple[str, str]]:
    """The archive and the output of `gather`."""
    path = harness.sandbox.folder / f"{harness.side}-gather.tar.gz"
    _, said = play(harness, "nimops.nim.gather", {"nim_namespace": namespace, "path": str(path)})
    yield "what gather prints", said
    yield from read_tar(path)


def read_tar(path: Path) -> t.Iterator[tuple[str, str]]:
    with tarfile.open(path) as archive:
        for member in archive.getmembers():
            if file := archive.extractfile(member):
                yield f"gather {member.name}", file.read().decode(errors="replace")
