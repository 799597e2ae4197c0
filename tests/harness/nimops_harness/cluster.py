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
from dataclasses import dataclass

import urllib3
from kubernetes import client, config

from .errors import HarnessError

Json = dict[str, t.Any]

_SERVED = {
    "api/v1": "ConfigMap Event Namespace Node PersistentVolumeClaim Pod ReplicationController Secret Service ServiceAccount",
    "apis/apps/v1": "DaemonSet Deployment ReplicaSet StatefulSet",
    "apis/batch/v1": "CronJob Job",
    "apis/autoscaling/v2": "HorizontalPodAutoscaler",
    "apis/networking.k8s.io/v1": "Ingress",
    "apis/node.k8s.io/v1": "RuntimeClass",
    "apis/coordination.k8s.io/v1": "Lease",
    "apis/rbac.authorization.k8s.io/v1": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "apis/apiextensions.k8s.io/v1": "CustomResourceDefinition",
    "apis/admissionregistration.k8s.io/v1": "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding",
    "apis/resource.k8s.io/v1": "ResourceClaimTemplate",
    "apis/apps.nvidia.com/v1alpha1": "NIMBuild NIMCache NIMPipeline NIMService NemoCustomizer NemoDatastore"
    " NemoEntitystore NemoEvaluator NemoGuardrail",
    "apis/nvidia.com/v1": "ClusterPolicy",
    "apis/nvidia.com/v1alpha1": "NVIDIADriver",
    "apis/gateway.networking.k8s.io/v1": "HTTPRoute",
    "apis/leaderworkerset.x-k8s.io/v1": "LeaderWorkerSet",
    "apis/monitoring.coreos.com/v1": "ServiceMonitor",
    "apis/serving.kserve.io/v1beta1": "InferenceService",
}
ROOT_OF = {kind: root for root, kinds in _SERVED.items() for kind in kinds.split()}
"""Kind → the URL path of its version."""

Kind = str | tuple[str, str]
"""A kind of the table, or for any other the URL path of its version and its plural name."""

CHILDREN = ("Deployment", "Service", "ServiceAccount", "ConfigMap", "Event", "Role", "RoleBinding")
APPLY, MERGE = "application/apply-patch+yaml", "application/merge-patch+json"

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


def serves_devices() -> bool:
    """Whether the API server serves DRA, which releases before 1.34 do not."""
    return "resource.k8s.io/v1" in kubectl("api-versions").splitlines()


def is_loopback(url: str) -> bool:
    """Whether a server is on this machine: tests change no other."""
    host = urllib.parse.urlsplit(url).hostname or ""
    return host.startswith("127.") or host in ("localhost", "::1")


def plural_of(kind: str) -> str:
    """The name of a kind in URL paths."""
    word = kind.lower()
    return (
        f"{word[:-1]}ies" if word.endswith("y") else f"{word}{'es' if word.endswith('s') else 's'}"
    )


def version_of(kind: str) -> str:
    """The apiVersion of a kind."""
    return ROOT_OF[kind].partition("/")[2]


def path_of(kind: Kind, namespace: str, name: str = "", **query: str) -> str:
    """The URL path of a collection or an object; without a namespace, cluster-wide."""
    root, plural = (ROOT_OF[kind], plural_of(kind)) if isinstance(kind, str) else kind
    where = f"namespaces/{namespace}/" if namespace else ""
    path = f"/{root}/{where}{plural}" + (f"/{name}" if name else "")
    return path + (f"?{urllib.parse.urlencode(query)}" if query else "")


@dataclass(frozen=True)
class Answer:
    """Any answer of the API server: also a refusal."""

    status: int
    body: Json

    @property
    def refusal(self) -> str:
        """The reason of a refusal; empty if the request was accepted."""
        return "" if self.status < 300 else str(self.body.get("message") or self.status)


class Api:
    """Requests as the kubeconfig's user, or with another token, over kept connections; also from threads."""

    def __init__(self, token: str = "") -> None:
        configuration = client.Configuration(connection_pool_maxsize=32)
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
        self.host = configuration.host
        self._pool = client.ApiClient(configuration).rest_client.pool_manager
        self._headers = {"Accept": "application/json"}
        self._headers |= {"Authorization": bearer} if bearer else {}

    def request(
        self, method: str, path: str, body: Json | None = None, kind: str = "", accept: str = ""
    ) -> Json:
        """The object in the answer; HarnessError with the API server's message if it refuses."""
        answer = self.ask(method, path, body, kind, accept)
        if answer.status == 404:
            raise NotFoundError(f"{method} {path}: not found")
        if answer.refusal:
            raise HarnessError(f"{method} {path}: {answer.refusal}")
        return answer.body

    def ask(
        self, method: str, path: str, body: Json | None = None, kind: str = "", accept: str = ""
    ) -> Answer:
        """Any answer, also a refusal. `kind`: the media type of the body, by default JSON."""
        status, text = self._exchange(method, path, body, kind, accept)
        try:
            return Answer(status, json.loads(text or b"{}"))
        except ValueError:
            return Answer(status, {"message": text.decode(errors="replace")})

    def merge(self, path: str, change: Json) -> Answer:
        """The answer to a merge patch."""
        return self.ask("PATCH", path, change, MERGE)

    def read_text(self, path: str) -> str:
        """An answer that is not JSON, such as metrics."""
        status, text = self._exchange("GET", path, None, "", "text/plain")
        if status >= 300:
            raise HarnessError(f"GET {path}: {status}")
        return text.decode()

    def _exchange(
        self, method: str, path: str, body: Json | None, kind: str, accept: str
    ) -> tuple[int, bytes]:
        """Status and text of any answer; a request on a closed connection is repeated once."""
        headers = self._headers | {"Content-Type": kind or "application/json"}
        headers |= {"Accept": accept} if accept else {}
        data = json.dumps(body) if body is not None else None
        try:
            answer = self._pool.request(
                method, self.host + path, body=data, headers=headers, timeout=30.0,
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

    def items(self, kind: Kind, namespace: str, **query: str) -> list[Json]:
        """All objects of a kind; HarnessError if it is not served."""
        return t.cast(list[Json], self.get(path_of(kind, namespace, **query))["items"])

    def list_metadata(self, kind: Kind, namespace: str) -> list[Json]:
        """The metadata of all objects of a kind: none if there is no such kind."""
        accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
        try:
            found = self.request("GET", path_of(kind, namespace), accept=accept)
        except NotFoundError:
            return []
        return t.cast(list[Json], found["items"] or [])

    def patch(self, path: str, change: Json) -> Json:
        """The object after a merge patch."""
        return self.request("PATCH", path, change, MERGE)

    def watch(self, kind: str, namespace: str, version: str, seconds: int) -> t.Iterator[Json]:
        """Watch events since a version, for this time."""
        query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": str(seconds)}
        path = path_of(kind, namespace, **query)
        try:
            answer = self._pool.request(
                "GET", self.host + path, headers=self._headers, timeout=seconds + 30.0,
                preload_content=False, retries=False,
            )  # fmt: skip
            with contextlib.closing(answer):
                while line := answer.readline():
                    event: Json = json.loads(line)
                    if event["type"] == "ERROR":
                        message = event["object"].get("message")
                        raise HarnessError(f"watch of {kind}: {message}")
                    yield event
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise HarnessError(f"watch of {kind}: {error}") from error

    def follow(
        self, kind: str, namespace: str, version: str, deadline: float
    ) -> t.Iterator[Json | None]:
        """Watch events until a monotonic time; None about every ten seconds."""
        while (left := deadline - time.monotonic()) > 0:
            for event in self.watch(kind, namespace, version, max(1, min(10, round(left)))):
                version = event["object"]["metadata"]["resourceVersion"]
                yield event
            yield None
