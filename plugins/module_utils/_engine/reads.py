# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The reads of a pass: one class for each kind of read, with its answer.

A read gets its answer from a `Source`: a live cluster (`_cluster/reader.py`), or objects in memory
(`_cluster/facts.py`).
"""

from __future__ import annotations

import typing as t
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial

from .._base.types import Manifest
from .api_resources import KINDS, ObjectKey, object_identity, object_key
from .digests import ASSUMED, digest_key, find_digest
from .redacted_pods import redact
from .secret_placeholders import replace_values

LATER = "later"
"""Answer while the response of a registry is pending: draw no conclusion from it."""

LOG_LIMIT = 4 << 20
"""Maximum bytes to read of a log; a manifest of a thousand profiles has some hundred KiB."""

_MAIN_CONTAINER = "kubectl.kubernetes.io/default-container"
MAX_PODS, _MAX_LISTED = 500, 5000
_TAIL_LINES = 60
_FAILED_CREATE = "FailedCreate"


class Source(t.Protocol):
    """Access to a cluster, registries and model servers. Methods may raise `ApiError`."""

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """An object; None if it, or its kind, does not exist."""

    def get_presence(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """{"metadata": …} of an object with labels and owners; None if it does not exist."""

    def get_secret(self, namespace: str, name: str) -> Manifest | None:
        """A Secret, the same for all reads of a pass; they do not return its values."""

    def serves_group(self, group: str) -> bool:
        """Whether the API server serves an API group."""

    def is_assumed(self, _kind: str, _namespace: str, _name: str) -> bool:
        """Whether a missing object is assumed to exist."""
        return False

    def list_objects(
        self, kind: str, namespace: str = "", *, selector: str = "", field: str = "", limit: int = 0
    ) -> list[Manifest] | None:
        """The objects in one or all namespaces; None if the API server does not serve the kind.

        ``selector``: a label, or a label and its value. ``field``: a field and its value. With a
        ``limit``, only the first ones, which the runtime's cache may answer.
        """

    def list_nodes(self) -> list[Manifest]:
        """{"metadata": …} of each node."""

    def list_node_rows(self) -> list[Manifest]:
        """The nodes in the form of `_engine/node_rows.py`."""

    def list_unready(self, namespace: str, selector: str) -> list[str]:
        """The names of a few unready pods with a label."""

    def get_log(self, namespace: str, pod: str, container: str, lines: int = 0) -> str:
        """The log of a container, or its last lines; empty while it has none.

        The last lines are also empty if the kubelet does not answer.
        """

    def fetch(self, url: str, namespace: str, service: str) -> Manifest:
        """The response of a model server, as documented on `ReadHttp`."""

    def find_protocol(self, image: str, namespace: str, pull_secrets: t.Iterable[str]) -> str:
        """The response of a registry, as documented on `ReadProtocol`."""

    def now(self) -> str:
        """The current time in ISO 8601; empty where no time passes."""


class Read(ABC):
    """One read.

    ``is_child``: the object is a child of the custom resource. A resource that has never been
    reconciled has no children yet; if one exists anyway, creating it is refused.
    ``is_lasting``: all passes share the answer for a while. ``is_optional``: without permission,
    the answer is an empty list. ``is_whole``: the answer needs the whole object of ``target``.
    """

    is_child: t.ClassVar[bool] = False
    is_lasting: t.ClassVar[bool] = False
    is_optional: t.ClassVar[bool] = False
    is_whole: t.ClassVar[bool] = False

    @property
    @abstractmethod
    def key(self) -> str:
        """The key of the answer in the answers of a pass."""

    @property
    def target(self) -> ObjectKey | None:
        """The object that is read; None for other reads."""
        return None

    @property
    def listed(self) -> str:
        """The kind of the listed objects; empty for other reads."""
        return ""

    @property
    def is_past_cache(self) -> bool:
        """Whether it reads one whole object that the runtime does not cache."""
        return bool(self.is_whole and self.target and not KINDS[self.target.kind].is_cached)

    @abstractmethod
    def answer(self, source: Source) -> t.Any:
        """The answer, as plain data. Raises `ApiError`."""


def claims_of_pod(pod: Manifest) -> list[str]:
    """The names of the claims that a pod mounts."""
    volumes = (pod.get("spec") or {}).get("volumes") or []
    claims = (volume.get("persistentVolumeClaim") or {} for volume in volumes)
    return [str(claim["claimName"]) for claim in claims if claim.get("claimName")]


def folders_of_pod(pod: Manifest, claim: str) -> list[str]:
    """The folders of a claim that a pod mounts; empty text for the whole volume."""
    spec = pod.get("spec") or {}
    volumes = {
        item.get("name")
        for item in spec.get("volumes") or []
        if (item.get("persistentVolumeClaim") or {}).get("claimName") == claim
    }
    containers = [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]
    mounts = [mount for item in containers for mount in item.get("volumeMounts") or []]
    found = {
        "" if mount.get("subPathExpr") else str(mount.get("subPath") or "")
        for mount in mounts
        if mount.get("name") in volumes
    }
    return sorted(found)


def list_key(kind: str, namespace: str = "", selector: str = "") -> str:
    """The key of a list in the observed answers; no object name contains these characters."""
    where = f"{kind}/{namespace}/*" if namespace else f"{kind}/*"
    return f"{where}?{selector}" if selector else where


@dataclass(frozen=True)
class _ReadOne(Read):
    kind: str
    namespace: str
    name: str

    @property
    def key(self) -> str:
        return object_key(self.kind, self.namespace, self.name)

    @property
    def target(self) -> ObjectKey:
        return object_identity(self.kind, self.namespace, self.name)


class ReadObject(_ReadOne):
    """One object. Answer: the object, or None."""

    is_whole = True

    def answer(self, source: Source) -> Manifest | None:
        return source.get(self.kind, self.namespace, self.name)


class ReadChild(ReadObject):
    """A child of the custom resource: see `Read.is_child`."""

    is_child = True


class ReadUnlabeledChild(ReadChild):
    """A child without our label: nimops-apiproxy keeps it out of the runtime's cache.

    DaemonSets are cached without the label.
    """

    @property
    def is_past_cache(self) -> bool:
        return self.kind != "DaemonSet"


class ReadPresence(_ReadOne):
    """Whether an object that may contain secrets exists.

    Answer: {"metadata": …} with labels and owners, or None.
    """

    def answer(self, source: Source) -> Manifest | None:
        return source.get_presence(self.kind, self.namespace, self.name)


class ReadImage(_ReadOne):
    """The image of a pod's main container; all passes share the answer.

    Answer: the image, or an empty text if the pod does not exist.
    """

    is_lasting = True
    is_optional = True

    @property
    def key(self) -> str:
        return f"{super().key}#image"

    def answer(self, source: Source) -> str:
        pod = source.get(self.kind, self.namespace, self.name) or {}
        name = ((pod.get("metadata") or {}).get("annotations") or {}).get(_MAIN_CONTAINER)
        containers = (pod.get("spec") or {}).get("containers") or []
        named = [item for item in containers if item.get("name") == name] or containers
        return str(named[0].get("image") or "") if named else ""


@dataclass(frozen=True)
class ReadSecretPlaceholders(_ReadOne):
    """A Secret whose values placeholders describe. Answer: see `replace_values`.

    ``wanted``: pairs of a key and its placeholder.
    """

    wanted: tuple[tuple[str, str], ...]
    is_whole = True

    def answer(self, source: Source) -> Manifest | None:
        """The Secret without its values; their origins stay in the source."""
        found = source.get(self.kind, self.namespace, self.name)
        find = partial(source.get_secret, self.namespace)
        return found and replace_values(found, dict(self.wanted), find)


@dataclass(frozen=True)
class ReadDigest(_ReadOne):
    """Whether a Secret or ConfigMap has ``keys``, and whether their values have changed.

    Without keys, all values count. ``known``: the version whose digest is already known.
    Answer: see `_engine/digests.py`; None if the object does not exist.
    """

    keys: tuple[str, ...]
    salt: str
    known: str
    is_whole = True

    @property
    def key(self) -> str:
        return digest_key(self.kind, self.namespace, self.name, self.keys)

    def answer(self, source: Source) -> Manifest | None:
        if self.kind == "Secret":
            found = source.get_secret(self.namespace, self.name)
        else:
            found = source.get(self.kind, self.namespace, self.name)
        if found is None:
            return dict(ASSUMED) if source.is_assumed(*self.target) else None
        return find_digest(found, self.keys, self.salt, self.known)


@dataclass(frozen=True)
class _ReadMany(Read):
    kind: str

    @property
    def listed(self) -> str:
        return self.kind


@dataclass(frozen=True)
class ReadObjects(_ReadMany):
    """All objects of a namespace, or of the cluster if it is empty.

    Answer: a list, None if the API server does not serve the kind.
    """

    namespace: str

    @property
    def key(self) -> str:
        return list_key(self.kind, self.namespace)

    def answer(self, source: Source) -> list[Manifest] | None:
        return source.list_objects(self.kind, self.namespace)


@dataclass(frozen=True)
class ReadRedacted(_ReadMany):
    """The objects with a label and a field such as `spec.nodeName=a`, redacted.

    Answer: a list of objects in the form of `_engine/redacted_pods.py`, None if the API server does
    not serve the kind.
    """

    namespace: str = ""
    selector: str = ""
    field: str = ""

    @property
    def key(self) -> str:
        return f"{list_key(self.kind, self.namespace, self.selector)}#{self.field}"

    def answer(self, source: Source) -> list[Manifest] | None:
        found = source.list_objects(
            self.kind, self.namespace, selector=self.selector, field=self.field
        )
        return None if found is None else [redact(self.kind, item) for item in found]


@dataclass(frozen=True)
class ReadLabelled(_ReadMany):
    """The objects in all namespaces with a label. Answer: a list of {"metadata": …}."""

    selector: str
    is_optional = True
    limit: t.ClassVar[int] = 0

    @property
    def key(self) -> str:
        return list_key(self.kind, selector=self.selector)

    def answer(self, source: Source) -> list[Manifest]:
        found = source.list_objects(self.kind, selector=self.selector, limit=self.limit)
        return [{"metadata": item["metadata"]} for item in found or []]


class ReadAny(ReadLabelled):
    """One object in any namespace with a label; all passes share the answer.

    Answer: a list of at most one {"metadata": …}.
    """

    is_lasting = True
    limit = 1


@dataclass(frozen=True)
class _ReadPods(Read):
    namespace: str
    selector: str

    @property
    def listed(self) -> str:
        return "Pod"

    @property
    def key(self) -> str:
        return list_key("Pod", self.namespace, self.selector)


class ReadPods(_ReadPods):
    """The state of the first hundreds of pods with a label; their specs may contain credentials.

    Answer: a list of {"metadata": …, "status": …}.
    """

    def answer(self, source: Source) -> list[Manifest]:
        found = source.list_objects("Pod", self.namespace, selector=self.selector, limit=MAX_PODS)
        return [
            {"metadata": item["metadata"], "status": item.get("status") or {}}
            for item in found or []
        ]


@dataclass(frozen=True)
class ReadClaimUsers(Read):
    """Pods that mount a claim, among the first 500 of a namespace; they keep it from deletion.

    Answer: a list of {"metadata": …, "status": …}.
    """

    namespace: str
    claim: str
    is_optional = True

    @property
    def listed(self) -> str:
        return "Pod"

    @property
    def key(self) -> str:
        return f"{list_key('Pod', self.namespace)}#claim={self.claim}"

    def answer(self, source: Source) -> list[Manifest]:
        found = source.list_objects("Pod", self.namespace, limit=MAX_PODS)
        return [
            {"metadata": item["metadata"], "status": item.get("status") or {}}
            for item in found or []
            if self.claim in claims_of_pod(item)
        ]


@dataclass(frozen=True)
class ReadClaimFolders(Read):
    """The folders of a claim that pods mount, to remove the others.

    Answer: a list of {"metadata": …, "status": …, "folders": […]}, where an empty folder is the
    whole volume; None if a namespace has too many pods to know it.
    """

    namespace: str
    claim: str

    @property
    def listed(self) -> str:
        return "Pod"

    @property
    def key(self) -> str:
        return f"{list_key('Pod', self.namespace)}#folders={self.claim}"

    def answer(self, source: Source) -> list[Manifest] | None:
        found = source.list_objects("Pod", self.namespace, limit=_MAX_LISTED)
        if found is None or len(found) >= _MAX_LISTED:
            return None
        return [
            {"metadata": item["metadata"], "status": item.get("status") or {}, "folders": folders}
            for item in found
            if (folders := folders_of_pod(item, self.claim))
        ]


class ReadUnready(_ReadPods):
    """A few unready pods with a label, to explain the problem.

    Answer: a list of pods in the form of `_engine/redacted_pods.py`.
    """

    @property
    def key(self) -> str:
        return f"{super().key}#unready"

    def answer(self, source: Source) -> list[Manifest]:
        namespace, selector = self.namespace, self.selector
        fields = [f"metadata.name={name}" for name in source.list_unready(namespace, selector)]
        reads = [ReadRedacted("Pod", namespace, selector, field) for field in fields]
        return [pod for read in reads for pod in read.answer(source) or []]


@dataclass(frozen=True)
class _ReadNodes(Read):
    @property
    def listed(self) -> str:
        return "Node"

    @property
    def key(self) -> str:
        return list_key("Node")


class ReadNodes(_ReadNodes):
    """All nodes. Answer: a list of {"metadata": …}."""

    is_optional = True

    def answer(self, source: Source) -> list[Manifest]:
        return source.list_nodes()


class ReadNodeRows(_ReadNodes):
    """All nodes: their labels, annotations, state and container runtime.

    Answer: a list of nodes in the form of `_engine/node_rows.py`.
    """

    def answer(self, source: Source) -> list[Manifest]:
        return source.list_node_rows()


@dataclass(frozen=True)
class ReadServed(Read):
    """Whether the API server serves a group; all passes share the answer. Answer: a boolean."""

    group: str
    is_lasting = True
    is_optional = True

    @property
    def key(self) -> str:
        return f"apis/{self.group}"

    def answer(self, source: Source) -> bool:
        return source.serves_group(self.group)


@dataclass(frozen=True)
class ReadRefusals(Read):
    """The last refusal of a pod of a Job or DaemonSet, or of a LeaderWorkerSet's StatefulSets.

    One StatefulSet has the name of the LeaderWorkerSet; that of each group ends with its number.
    Answer: the API server's message from the controller's event; empty if there is no event.
    """

    kind: str
    namespace: str
    name: str
    is_optional = True

    @property
    def key(self) -> str:
        return f"{object_key(self.kind, self.namespace, self.name)}#refusals"

    def answer(self, source: Source) -> str:
        has_groups = self.kind == "StatefulSet"
        field = f"reason={_FAILED_CREATE}" if has_groups else f"involvedObject.name={self.name}"
        event = _last_event(source, self.namespace, field, self._is_mine)
        return str(event.get("message") or "")

    def _is_mine(self, event: Manifest) -> bool:
        about = event.get("involvedObject") or {}
        name = str(about.get("name") or "")
        group = name.removeprefix(f"{self.name}-") if self.kind == "StatefulSet" else ""
        return (
            event.get("reason") == _FAILED_CREATE
            and about.get("kind") == self.kind
            and (name == self.name or group.isdecimal())
        )


@dataclass(frozen=True)
class ReadLastEvent(Read):
    """The last event of a reason about an object. Answer: the event; empty if there is none."""

    kind: str
    namespace: str
    name: str
    reason: str
    is_optional = True

    @property
    def key(self) -> str:
        return f"{object_key(self.kind, self.namespace, self.name)}#{self.reason}"

    def answer(self, source: Source) -> Manifest:
        field = f"involvedObject.name={self.name}"
        return _last_event(source, self.namespace, field, self._is_meant)

    def _is_meant(self, event: Manifest) -> bool:
        kind = (event.get("involvedObject") or {}).get("kind")
        return (kind, event.get("reason")) == (self.kind, self.reason)


def _last_event(
    source: Source, namespace: str, field: str, is_meant: t.Callable[[Manifest], bool]
) -> Manifest:
    """The last event of those that a field selector finds; empty if there is none."""
    found = source.list_objects("Event", namespace, field=field, limit=MAX_PODS)
    return max(filter(is_meant, found or []), key=_precise_time, default={})


def time_of_event(event: Manifest) -> str:
    """The time of an event in whole seconds, as in conditions; the last one if it repeats."""
    time = _precise_time(event).partition(".")[0]
    return f"{time}Z" if time else ""


def _precise_time(event: Manifest) -> str:
    """The same with any fraction, as text that sorts by time: without its end."""
    series = event.get("series") or {}
    found = (event.get("lastTimestamp"), series.get("lastObservedTime"), event.get("eventTime"))
    return str(next(filter(None, found), "")).removesuffix("Z")


@dataclass(frozen=True)
class ReadTime(Read):
    """The current time, for kinds that limit their waits.

    Answer: ISO 8601; empty where no time passes.
    """

    @property
    def key(self) -> str:
        return "time"

    def answer(self, source: Source) -> str:
        return source.now()


@dataclass(frozen=True)
class ReadLog(Read):
    """The log of a container, with the key ``label``. Answer: text, empty while there is none."""

    label: str
    namespace: str
    pod: str
    container: str

    @property
    def key(self) -> str:
        return self.label

    def answer(self, source: Source) -> str:
        """The first bytes, up to `LOG_LIMIT`."""
        return source.get_log(self.namespace, self.pod, self.container)


class ReadLogTail(ReadLog):
    """The last lines of a log, in which a program reports its progress."""

    is_optional = True

    def answer(self, source: Source) -> str:
        """The text; a line that a carriage return updates is split after 16 KiB."""
        return source.get_log(self.namespace, self.pod, self.container, _TAIL_LINES)


@dataclass(frozen=True)
class ReadHttp(Read):
    """A GET of ``url`` of a model server in ``namespace``, behind ``service`` if that is given.

    Answer: {"status": int, "body": str, "error": str, "late": bool}.
    """

    url: str
    namespace: str = ""
    service: str = ""

    @property
    def key(self) -> str:
        return self.url

    def answer(self, source: Source) -> Manifest:
        return source.fetch(self.url, self.namespace, self.service)


@dataclass(frozen=True)
class ReadProtocol(Read):
    """The model-download protocol of an image, with the key ``label``.

    Answer: "native", "legacy", "" if the registry did not answer, or `LATER`.
    """

    label: str
    image: str
    namespace: str = ""
    pull_secrets: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return self.label

    def answer(self, source: Source) -> str:
        return source.find_protocol(self.image, self.namespace, self.pull_secrets)
