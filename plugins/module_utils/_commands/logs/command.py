# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Prints the logs of the pods of a custom resource."""

from __future__ import annotations

import typing as t

from ..._base.errors import NimError
from ..._base.types import Json
from ..._cluster.client import Client
from ..._engine.api_resources import KINDS, api_path, identity
from ..._http.stream import StreamError
from ..command import CONNECTION_SPEC, Command
from ..gather.support_views import Container
from ..references import parse_reference, services_of
from ..text import name_of
from ..wait.goal import describe
from .lines import merge, split_lines
from .pods import choose_container, find_pods, why_no_log

_SERVICE, _PIPELINE = "NIMService", "NIMPipeline"
_MAX_FOLLOWED, _MAX_EXPLAINED = 20, 3
_SECONDS = 600.0
"""The longest time for a log that is not followed."""


class LogsCommand(Command):
    """Reads logs, and writes nothing."""

    spec = CONNECTION_SPEC | {
        "resource": {"type": "str", "required": True},
        "namespace": {"type": "str"},
        "all_pods": {"type": "bool", "default": False},
        "container": {"type": "str", "default": ""},
        "follow": {"type": "bool", "default": False},
        "previous": {"type": "bool", "default": False},
        "tail": {"type": "int", "default": -1},
    }

    def act(self, arguments: Json) -> Json:
        """Print the log of the newest pod or, with the name of the pod, those of all."""
        client = self.connect(arguments)
        owner, owners = self._find_owners(client, arguments)
        namespace = owner["metadata"]["namespace"]
        pods = find_pods(owners, client.list_objects(api_path("Pod", namespace)) or [])
        if not pods:
            raise NimError(_why_no_pods(owner))
        sources = self._choose(pods, owners, arguments)
        query = _query(arguments)
        seconds = None if arguments["follow"] else _SECONDS
        logs = [_read(client, source, query, seconds) for source in sources]
        names = [f"[{source.pod}] " if arguments["all_pods"] else "" for source in sources]
        prefixed = [_prefix(log, name) for log, name in zip(logs, names, strict=True)]
        try:
            for lines in merge(prefixed) if arguments["follow"] else _chain(prefixed):
                self.print_data("\n".join(lines))
        except (StreamError, TimeoutError) as error:
            raise NimError(f"the log ends here: {error}") from error
        shown = [{"pod": source.pod, "container": source.name} for source in sources]
        return {"changed": False, "logs": shown}

    def _choose(self, pods: list[Json], owners: list[Json], arguments: Json) -> list[Container]:
        """The containers to read, and messages about the others. NimError if there is none."""
        is_all = arguments["all_pods"]
        found: list[Container] = []
        missing: list[str] = []
        for pod in pods[:_MAX_FOLLOWED]:
            if found and not is_all:
                break
            container = choose_container(pod, owners, arguments["container"] or "")
            why = why_no_log(pod, container, is_previous=arguments["previous"])
            missing += [why] if why else []
            found += [] if why else [container]
        if not found:
            raise NimError("; ".join(missing[:_MAX_EXPLAINED]))
        for why in missing:
            self.print_message(why)
        if is_all and len(pods) > _MAX_FOLLOWED:
            self.print_message(f"the {_MAX_FOLLOWED} newest of {len(pods)} pods")
        elif len(pods) > 1 and not is_all:
            self.print_message(f"Pod {found[0].pod}, of {len(pods)}; --all-pods prints all")
        return found

    @staticmethod
    def _find_owners(client: Client, arguments: Json) -> tuple[Json, list[Json]]:
        """The resource, and those whose pods count as its own."""
        kind, name = parse_reference(arguments["resource"], _SERVICE)
        if not KINDS[kind].is_namespaced:
            raise NimError(
                f"resource: a {kind} has pods on all nodes; kubectl nim gpu status shows those that"
                " have a problem, with their logs"
            )
        namespace = arguments["namespace"] or client.namespace
        owner = client.get(api_path(kind, namespace, name))
        if owner is None:
            raise NimError(
                f"{kind} {namespace}/{name} does not exist: kubectl nim status lists the existing"
                " ones; use --namespace for another namespace"
            )
        owner = {**owner, "kind": kind}
        if kind != _PIPELINE:
            return owner, [owner]
        return owner, services_of(client, owner)


def _why_no_pods(owner: Json) -> str:
    state, reason, message = describe(owner)
    why = ": ".join(filter(None, (reason, message)))
    if state == "Ready" and not why:
        why = "its work is done, so its pods are gone" if _is_job(owner) else "it has replicas 0"
    shown = ": ".join(filter(None, (state or "no status yet", why)))
    return f"{name_of(identity(owner))} has no pods ({shown})"


def _is_job(owner: Json) -> bool:
    return owner["kind"] in ("NIMCache", "NIMBuild")


def _query(arguments: Json) -> dict[str, str]:
    query = {name: "true" for name in ("follow", "previous") if arguments[name]}
    return query | ({"tailLines": str(arguments["tail"])} if arguments["tail"] >= 0 else {})


def _read(
    client: Client, source: Container, query: dict[str, str], seconds: float | None
) -> t.Iterator[list[str]]:
    """The lines of a log. ApiError if the API server refuses it."""
    path = f"{api_path('Pod', source.namespace, source.pod)}/log"
    yield from split_lines(client.stream_text(path, seconds, container=source.name, **query))


def _prefix(log: t.Iterable[list[str]], name: str) -> t.Iterator[list[str]]:
    return ([f"{name}{line}" for line in lines] for lines in log)


def _chain(logs: t.Iterable[t.Iterable[list[str]]]) -> t.Iterator[list[str]]:
    return (lines for log in logs for lines in log)
