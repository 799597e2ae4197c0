# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The API server of $KUBECONFIG over one kept connection: a client that costs the machine little."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import subprocess
import tempfile
import time
import typing as t
import urllib.parse

from .errors import HarnessError

Json = dict[str, t.Any]

NIMSERVICES = ("apis/apps.nvidia.com/v1alpha1", "nimservices")
NIMCACHES = ("apis/apps.nvidia.com/v1alpha1", "nimcaches")
DEPLOYMENTS = ("apis/apps/v1", "deployments")
DAEMONSETS = ("apis/apps/v1", "daemonsets")
CLUSTER_POLICIES = ("apis/nvidia.com/v1", "clusterpolicies")
NODES, PODS = ("api/v1", "nodes"), ("api/v1", "pods")
CHILDREN = (
    DEPLOYMENTS,
    ("api/v1", "services"),
    ("api/v1", "serviceaccounts"),
    ("api/v1", "configmaps"),
    ("api/v1", "events"),
    ("apis/rbac.authorization.k8s.io/v1", "roles"),
    ("apis/rbac.authorization.k8s.io/v1", "rolebindings"),
)

Resource = tuple[str, str]


class NotFoundError(HarnessError):
    """There is no such object."""


def kubectl(*arguments: str, stdin: str | None = None) -> str:
    """The output of kubectl; HarnessError with its words if it fails."""
    command = ["kubectl", *arguments]
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise HarnessError(
            "kubectl is not on PATH: start it by its make command, or see make sandbox"
        ) from None
    if done.returncode:
        raise HarnessError(f"kubectl {' '.join(arguments[:2])}: {done.stderr.strip()}")
    return done.stdout


def path_of(resource: Resource, namespace: str, name: str = "", **query: str) -> str:
    """The URL's path of a collection or an object; without a namespace, of all or of none."""
    where = f"namespaces/{namespace}/" if namespace else ""
    path = f"/{resource[0]}/{where}{resource[1]}" + (f"/{name}" if name else "")
    return path + (f"?{urllib.parse.urlencode(query)}" if query else "")


class Api:
    """Requests as the kubeconfig's user, by a token or a client certificate; or with another token."""

    def __init__(self, token: str = "") -> None:
        config = json.loads(
            kubectl("config", "view", "--raw", "--minify", "--flatten", "--output=json")
        )
        if not config.get("clusters"):
            raise HarnessError(
                "no cluster in KUBECONFIG: start it by its make command, or see make sandbox"
            )
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        url = urllib.parse.urlsplit(cluster["server"])
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self._context = ssl.create_default_context(cadata=authority)
        if token:
            user = {"token": token}
        if "client-certificate-data" in user:
            with tempfile.NamedTemporaryFile() as file:
                for key in ("client-certificate-data", "client-key-data"):
                    file.write(base64.b64decode(user[key]) + b"\n")
                file.flush()
                self._context.load_cert_chain(file.name)
        self._headers = {"Accept": "application/json"}
        if "token" in user:
            self._headers["Authorization"] = f"Bearer {user['token']}"
        self._host, self._port = url.hostname or "", url.port or 443
        self._connection = self._connect(30)

    def _connect(self, seconds: float) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(
            self._host, self._port, timeout=seconds, context=self._context
        )

    def request(
        self, method: str, path: str, body: Json | None = None, kind: str = "", accept: str = ""
    ) -> Json:
        """The answer's object; a connection that the server closed is opened anew, once."""
        status, text = self.exchange(method, path, body, kind, accept)
        if status == 404:
            raise NotFoundError(f"{method} {path}: not found")
        said: Json = json.loads(text)
        if status >= 300:
            raise HarnessError(f"{method} {path}: {said.get('message') or status}")
        return said

    def read_text(self, path: str) -> str:
        """An answer that is not JSON, such as metrics."""
        status, text = self.exchange("GET", path, None, "", "text/plain")
        if status >= 300:
            raise HarnessError(f"GET {path}: {status}")
        return text.decode()

    def exchange(
        self, method: str, path: str, body: Json | None = None, kind: str = "", accept: str = ""
    ) -> tuple[int, bytes]:
        """Status and text of the answer, whatever they are."""
        headers = self._headers | {"Content-Type": kind or "application/json"}
        headers |= {"Accept": accept} if accept else {}
        data = json.dumps(body) if body is not None else None
        for attempt in (1, 2):
            try:
                self._connection.request(method, path, data, headers)
                answer = self._connection.getresponse()
                return answer.status, answer.read()
            except (http.client.HTTPException, OSError) as error:
                self._connection.close()
                if attempt == 2:
                    raise HarnessError(f"{method} {path}: {error}") from error
        raise AssertionError("the loop returns or raises")

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
        """Watch events since a version, for so long; over a connection of its own."""
        path = path_of(
            resource, namespace, watch="1", resourceVersion=version, timeoutSeconds=str(seconds)
        )
        connection = self._connect(seconds + 30)
        try:
            connection.request("GET", path, headers=self._headers)
            answer = connection.getresponse()
            while line := answer.readline():
                event: Json = json.loads(line)
                if event["type"] == "ERROR":
                    raise HarnessError(f"watch of {resource[1]}: {event['object'].get('message')}")
                yield event
        except (http.client.HTTPException, OSError) as error:
            raise HarnessError(f"watch of {resource[1]}: {error}") from error
        finally:
            connection.close()

    def follow(
        self, resource: Resource, namespace: str, version: str, deadline: float
    ) -> t.Iterator[Json | None]:
        """Watch events until a monotonic time; None every ten seconds or so, to look around."""
        while (left := deadline - time.monotonic()) > 0:
            for event in self.watch(resource, namespace, version, max(1, min(10, round(left)))):
                version = event["object"]["metadata"]["resourceVersion"]
                yield event
            yield None
