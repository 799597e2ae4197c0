# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Values of Secrets, in what the operator and the commands of users write; files that it leaves in its /tmp."""

from __future__ import annotations

import base64
import html
import json
import subprocess
import tarfile
import typing as t
from pathlib import Path

from nimops_harness.cluster import Json
from nimops_harness.workload import make_nimbuild, make_nimcache, make_nimservice

from .harness import Scene, attack

CANARIES = {
    "ngc-api-secret": "canary-of-the-auth-secret-4711",
    "ngc-secret": "canary-of-the-pull-secret-4712",
    "tls-secret": "canary-of-the-tls-secret-4713",
    "proxy-secret": "canary-of-the-proxy-secret-4714",
}
_SHORTEST = 12
PLAIN = "plain-value-of-an-environment-4715"


def fill_secrets(scene: Scene) -> None:
    """Create the Secrets of our resources with canaries."""
    pull, token = CANARIES["ngc-secret"], CANARIES["ngc-api-secret"]
    login = base64.b64encode(f"$oauthtoken:{pull}".encode()).decode()
    config = json.dumps({"auths": {"nvcr.io": {"password": pull, "auth": login}}})
    for name, kind, data in (
        ("ngc-secret", "kubernetes.io/dockerconfigjson", {".dockerconfigjson": config}),
        ("ngc-api-secret", "Opaque", {"NGC_API_KEY": token, "HF_TOKEN": token}),
        ("tls-secret", "kubernetes.io/tls", {"tls.key": CANARIES["tls-secret"], "tls.crt": "c"}),
        ("proxy-secret", "Opaque", {"httpsProxy": CANARIES["proxy-secret"]}),
    ):
        scene.cluster.ask("DELETE", scene.path("Secret", name))
        scene.plant("Secret", name, {"type": kind, "stringData": data})


def list_needles(scene: Scene) -> dict[str, str]:
    """Values of all Secrets, also of those that the operator created → their Secret."""
    needles: dict[str, str] = {}
    for secret in scene.cluster.items("Secret", scene.namespace):
        for key, encoded in (secret.get("data") or {}).items():
            if key.endswith(".pub") or key in ("tls.crt", "ca.crt", "authorized_keys", "config"):
                continue
            whose = f"{secret['metadata']['name']}[{key}]"
            value = base64.b64decode(encoded).decode(errors="replace")
            lines = (line.strip() for line in value.splitlines())
            public = ("ssh-", "-----")
            needles |= {line: whose for line in lines if not line.startswith(public)}
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
    proxy = {"httpsProxy": "http://proxy.example:3128", "certConfigMap": "certs"}
    source = {"secretKeyRef": {"name": "proxy-secret", "key": "httpsProxy"}}
    plain = make_nimservice("plain", proxy=proxy, env=[{"name": "TOKEN", "valueFrom": source}])
    plain["spec"]["expose"]["router"] = {
        "hostDomainName": "apps.example.com",
        "ingress": {"ingressClass": "nginx", "tlsSecretName": "tls-secret"},
    }
    parallel = {"parallelism": {"pipeline": 2, "tensor": 1}}
    return [make_nimcache("cache"), plain, make_nimservice("group", multiNode=parallel)]


@attack(
    "secrets", "values of Secrets are in no log, event, status, artifact, diff, archive or file"
)
def attack_secrets(scene: Scene) -> str:
    fill_secrets(scene)
    scene.harness.start(ANSIBLE_DIFF_ALWAYS="true")
    scene.make(*make_resources())
    scene.expect_answered()
    scene.wait_for(lambda: scene.find("Secret", "group-ssh-pk"), 30)
    for name in ("plain", "group"):
        scene.change(name, {"spec": {"image": {"tag": "1.13.0"}}})
    scene.expect_answered()
    needles = list_needles(scene)
    has_key = any(whose.startswith("group-ssh-pk[") for whose in needles.values())
    scene.expect(has_key, "no private key was made: that part of the attack did not take place")
    for texts in (scene.list_texts(), read_verb(scene, "gather"), read_verb(scene, "report")):
        scene.problems += find_needles(texts, needles)
    scene.expect_deleted()
    scene.problems += find_needles(scene.list_own_texts(), needles)
    return f"{len(needles)} values of Secrets: in no log, diff, object, archive or file"


def read_verb(scene: Scene, verb: str) -> t.Iterator[tuple[str, str]]:
    """The output of `gather` or `report`, and the content of the file that it wrote."""
    ending = "tar.gz" if verb == "gather" else "html"
    path = scene.harness.sandbox.folder / f"{scene.side}-{verb}.{ending}"
    variables = json.dumps({"nim_namespace": scene.namespace, "path": str(path)})
    done = subprocess.run(
        ["ansible-playbook", f"nimops.nim.{verb}", "--extra-vars", variables],
        cwd=path.parent, capture_output=True, text=True, check=False, timeout=180,
    )  # fmt: skip
    yield f"what {verb} prints", done.stdout + done.stderr
    yield from read_tar(path) if verb == "gather" else [(verb, html.unescape(path.read_text()))]


def read_tar(path: Path) -> t.Iterator[tuple[str, str]]:
    with tarfile.open(path) as archive:
        for member in archive.getmembers():
            if file := archive.extractfile(member):
                yield f"gather {member.name}", file.read().decode(errors="replace")


@attack("leftovers", "the work folder is as before when resources are gone")
def attack_leftovers(scene: Scene) -> str:
    """Create and delete resources."""
    operator = scene.harness.ensure()
    count = 10 if scene.quick else 20 if scene.side == "stock" else 200
    for number in range(count):
        make = make_nimbuild if number % 4 else make_nimservice
        scene.make(make(f"s{number}", env=[{"name": "A", "value": PLAIN}]))
    scene.expect_answered(300)
    scene.expect_deleted(300)

    def list_rest() -> list[str]:
        """The files in the folder of the namespace."""
        inside = f"/{scene.namespace}/"
        return [path for path in operator.list_files() if path.partition(inside)[2]]

    scene.wait_for(lambda: not list_rest(), 60)
    rest = list_rest()
    scene.expect(not rest, f"{len(rest)} files and empty folders are left, such as {rest[:1]}")
    for where, text in scene.list_own_texts():
        scene.expect(PLAIN not in text, f"a plain value of env is left in {where}")
    return f"{count} resources made and deleted: nothing of them is left in /tmp"
