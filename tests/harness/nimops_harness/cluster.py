# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The API server of $KUBECONFIG: kubectl, and a client that costs the machine little."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import time
import typing as t
import urllib.parse

import urllib3
from kubernetes import client, config

from .errors import HarnessError

Json = dict[str, t.Any]

RBAC = "apis/rbac.authorization.k8s.io/v1"
NIMSERVICES, NIMCACHES = (
    ("apis/apps.nvidia.com/v1alpha1", plural) for plural in ("nimservices", "nimcaches")
)
DEPLOYMENTS, DAEMONSETS, REPLICA_SETS = (
    ("apis/apps/v1", plural) for plural in ("deployments", "daemonsets", "replicasets")
)
NODES, PODS, SERVICES, ACCOUNTS, SECRETS, CONFIG_MAPS, CLAIMS, EVENTS = (
    ("api/v1", plural)
    for plural in (
        *("nodes", "pods", "services", "serviceaccounts", "secrets", "configmaps"),
        *("persistentvolumeclaims", "events"),
    )
)
JOBS = ("apis/batch/v1", "jobs")
INGRESSES = ("apis/networking.k8s.io/v1", "ingresses")
AUTOSCALERS = ("apis/autoscaling/v2", "horizontalpodautoscalers")
CLAIM_TEMPLATES = ("apis/resource.k8s.io/v1", "resourceclaimtemplates")
ROLES, BINDINGS = (RBAC, "roles"), (RBAC, "rolebindings")
CLUSTER_POLICIES = ("apis/nvidia.com/v1", "clusterpolicies")
CHILDREN = (DEPLOYMENTS, SERVICES, ACCOUNTS, CONFIG_MAPS, EVENTS, ROLES, BINDINGS)

Resource = tuple[str, str]

DEPRECATED = re.compile("^Warning: .*deprecated", re.MULTILINE)

RETRY = urllib3.Retry(1, redirect=False, allowed_methods=None, respect_retry_after_header=False)
"""For connections that the server closed meanwhile."""


class NotFoundError(HarnessError):
    """There is no such object."""


def kubectl(*arguments: str, stdin: str | None = None) -> str:
    """The output of kubectl; HarnessError if it fails, or warns of what is deprecated."""
    command = ["kubectl", *arguments]
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise HarnessError(
            "kubectl is not on PATH: start it by its make command, or see make sandbox"
        ) from None
    if done.returncode or DEPRECATED.search(done.stderr):
        raise HarnessError(f"kubectl {' '.join(arguments[:2])}: {done.stderr.strip()}")
    return done.stdout


def path_of(resource: Resource, namespace: str, name: str = "", **query: str) -> str:
    """The URL path of a collection or an object; without a namespace, cluster-wide."""
    where = f"namespaces/{namespace}/" if namespace else ""
    path = f"/{resource[0]}/{where}{resource[1]}" + (f"/{name}" if name else "")
    return path + (f"?{urllib.parse.urlencode(query)}" if query else "")


class Api:
    """Requests as the kubeconfig's user, or with another token, over one kept connection."""

    def __init__(self, token: str = "") -> None:
        configuration = client.Configuration()
        try:
            config.load_kube_config(
                os.environ.get("KUBECONFIG"), client_configuration=configuration
            )
        except config.ConfigException as error:
            raise HarnessError(
                f"no cluster in KUBECONFIG ({error}): start it by its make command, or see make sandbox"
            ) from None
        bearer = (configuration.auth_settings().get("BearerToken") or {}).get("value")
        if token:
            bearer = f"Bearer {token}"
            configuration.cert_file = configuration.key_file = None
        self._host = configuration.host
        self._pool = client.ApiClient(configuration).rest_client.pool_manager
        self._headers = {"Accept": "application/json"}
        self._headers |= {"Authorization": bearer} if bearer else {}

    def request(
        self, method: str, path: str, body: Json | None = None, kind: str = "", accept: str = ""
    ) -> Json:
        """The object in the answer; HarnessError with the API server's message if it refuses."""
        status, text = self.exchange(method, path, body, kind, accept)
        if status == 404:
            raise NotFoundError(f"{method} {path}: not found")
        answer: Json = json.loads(text)
        if status >= 300:
            raise HarnessError(f"{method} {path}: {answer.get('message') or status}")
        return answer

    def read_text(self, path: str) -> str:
        """An answer that is not JSON, such as metrics."""
        status, text = self.exchange("GET", path, None, "", "text/plain")
        if status >= 300:
            raise HarnessError(f"GET {path}: {status}")
        return text.decode()

    def exchange(
        self, method: str, path: str, body: Json | None = None, kind: str = "", accept: str = ""
    ) -> tuple[int, bytes]:
        """Status and text of any answer; a request on a closed connection is repeated once."""
        headers = self._headers | {"Content-Type": kind or "application/json"}
        headers |= {"Accept": accept} if accept else {}
        data = json.dumps(body) if body is not None else None
        try:
            answer = self._pool.request(
                method, self._host + path, body=data, headers=headers, timeout=30.0,
                retries=RETRY,
            )  # fmt: skip
        except urllib3.exceptions.HTTPError as error:
            raise HarnessError(f"{method} {path}: {error}") from error
        return answer.status, answer.data

    def get(self, path: str) -> Json:
        return self.request("GET", path)

    def find(self, path: str) -> Json | None:
        """The object, None if there is none."""
        try:
            return self.get(path)
        except NotFoundError:
            return None

    def list_metadata(self, resource: Resource, namespace: str) -> list[Json]:
        """The metadata of all objects of a kind: none if there is no such kind."""
        accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
        try:
            found = self.request("GET", path_of(resource, namespace), accept=accept)
        except NotFoundError:
            return []
        return t.cast(list[Json], found["items"] or [])

    def patch(self, path: str, change: Json) -> Json:
        """The object after a merge patch."""
        return self.request("PATCH", path, change, "application/merge-patch+json")

    def watch(
        self, resource: Resource, namespace: str, version: str, seconds: int
    ) -> t.Iterator[Json]:
        """Watch events since a version, for this time."""
        query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": str(seconds)}
        path = path_of(resource, namespace, **query)
        try:
            answer = self._pool.request(
                "GET", self._host + path, headers=self._headers, timeout=seconds + 30.0,
                preload_content=False, retries=False,
            )  # fmt: skip
            with contextlib.closing(answer):
                while line := answer.readline():
                    event: Json = json.loads(line)
                    if event["type"] == "ERROR":
                        message = event["object"].get("message")
                        raise HarnessError(f"watch of {resource[1]}: {message}")
                    yield event
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise HarnessError(f"watch of {resource[1]}: {error}") from error

    def follow(
        self, resource: Resource, namespace: str, version: str, deadline: float
    ) -> t.Iterator[Json | None]:
        """Watch events until a monotonic time; None about every ten seconds."""
        while (left := deadline - time.monotonic()) > 0:
            for event in self.watch(resource, namespace, version, max(1, min(10, round(left)))):
                version = event["object"]["metadata"]["resourceVersion"]
                yield event
            yield None
