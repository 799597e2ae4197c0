# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Asks the model of a NIMService."""

from __future__ import annotations

import json

from ..._base.errors import ApiError, NimError
from ..._base.printable import name_some, printable
from ..._base.types import Json
from ..._cluster.client import Client
from ..._engine.api_resources import api_path
from ..command import CONNECTION_SPEC, Command
from ..references import parse_reference, services_of
from ..wait.goal import describe
from .ask import Conversation, Reply, choose_model
from .servers import (
    RefusedError,
    Server,
    UnreachableError,
    external_endpoint,
    find_direct,
    find_proxy,
    parse_endpoint,
    status_model,
)
from .tasks import DEFAULT_PROMPT, TASKS, Question

FAILED = 2
"""The exit code for an empty answer, a missing model, a timeout, and other failures to answer."""

_SERVICE, _PIPELINE = "NIMService", "NIMPipeline"
_DIRECT_SECONDS = 2.0
_MAX_TEXT = 253
_MAX_SHOWN = 20


class AskCommand(Command):
    """Sends one question, and writes nothing to the cluster."""

    spec = CONNECTION_SPEC | {
        "name": {"type": "str"},
        "namespace": {"type": "str"},
        "prompt": {"type": "str"},
        "model": {"type": "str"},
        "task": {"type": "str", "choices": list(TASKS)},
        "max_tokens": {"type": "int", "default": 256},
        "timeout": {"type": "int", "default": 120},
        "endpoint": {"type": "str"},
        "output": {"type": "str", "choices": ["text", "json"], "default": "text"},
    }

    def act(self, arguments: Json) -> Json:
        """Print the answer on stdout, models and times on stderr."""
        for option in ("max_tokens", "timeout"):
            if arguments[option] < 1:
                raise NimError(f"{option}: is {arguments[option]}; use 1 or more")
        if not arguments["name"] and not arguments["endpoint"]:
            raise NimError("name: missing; name a NIMService, or set --endpoint")
        service: Json = {}
        try:
            if arguments["name"]:
                service = self._find_service(arguments)
            return self._ask(service, arguments)
        except (ApiError, NimError, TimeoutError) as error:
            if isinstance(error, ApiError) and not error.status:
                raise
            late = f"no complete answer within {arguments['timeout']} s: raise --timeout"
            text = late if isinstance(error, TimeoutError) else str(error)
            is_away = isinstance(error, (TimeoutError, UnreachableError))
            msg = text + _explain_state(service, is_away=is_away)
        return {"changed": False, "failed": True, "exit_code": FAILED, "msg": msg}

    def _ask(self, service: Json, arguments: Json) -> Json:
        talk, models = self._connect_to(service, arguments)
        names = list(models)
        model = choose_model(models, arguments["model"] or "", status_model(service))
        self.print_message(f"models: {name_some(names, _MAX_SHOWN)}")
        prompt = arguments["prompt"] or DEFAULT_PROMPT
        if prompt == "-":
            prompt = self.console.read_stdin("-")
        self.print_message(f"asking {model}")
        reply = talk.ask(Question(model, prompt, arguments["max_tokens"]), arguments["task"] or "")
        asked = {"models": names, "model": model, "server": talk.server.name}
        return self._report(reply, asked, arguments)

    def _report(self, reply: Reply, asked: Json, arguments: Json) -> Json:
        found = asked | reply.to_dict()
        if arguments["output"] == "json":
            self.print_data(json.dumps(found, indent=2))
        else:
            self.print_data(reply.text)
            self.print_message(f"{reply.request.task}: {reply.timing}")
        return {"changed": False, "exit_code": 0} | found

    def _connect_to(self, service: Json, arguments: Json) -> tuple[Conversation, dict[str, Json]]:
        """A server, and its models: the endpoint, or the one behind the Service.

        Where the API server cannot reach the pods, or reaches a proxy of its network instead, the
        address in the status is used, if the model of the status is served there: another network
        may have a foreign server at this address, which must not get the prompt.
        """
        seconds = arguments["timeout"]
        server: Server
        if arguments["endpoint"]:
            server = parse_endpoint(arguments["endpoint"])
        else:
            server = find_proxy(self.connect(arguments), service)
        talk = Conversation(server, seconds)
        try:
            return talk, talk.list_models()
        except (RefusedError, UnreachableError) as error:
            direct = None if arguments["endpoint"] else find_direct(service)
            models = _list_at(direct) if direct else {}
            if direct is None or status_model(service) not in models:
                raise error
            return Conversation(direct, seconds), models

    def _find_service(self, arguments: Json) -> Json:
        """The NIMService, also as the only one of a NIMPipeline."""
        client: Client = self.connect(arguments)
        namespace = arguments["namespace"] or client.namespace
        kind, name = parse_reference(arguments["name"], _SERVICE)
        if kind not in (_SERVICE, _PIPELINE):
            raise NimError(f"name: is a {kind}, which answers no questions; name a {_SERVICE}")
        found = client.get(api_path(kind, namespace, name))
        if found is None:
            raise NimError(
                f"{kind} {namespace}/{name} does not exist: kubectl nim status lists the existing"
                " ones; use --namespace for another namespace"
            )
        if kind == _SERVICE:
            return {**found, "kind": kind}
        services = services_of(client, found)
        if len(services) != 1:
            names = name_some([item["metadata"]["name"] for item in services], _MAX_SHOWN)
            raise NimError(
                f"name: {kind} {name} has {len(services)} NIMServices; name one: {names}"
            )
        return services[0]


def _list_at(server: Server) -> dict[str, Json]:
    """The models of a server; none if it does not answer soon."""
    try:
        return Conversation(server, _DIRECT_SECONDS).list_models()
    except (NimError, TimeoutError):
        return {}


def _explain_state(service: Json, *, is_away: bool) -> str:
    """Why the NIMService may not answer, as far as its status shows, and what else to try.

    ``is_away``: its model server did not answer at all.
    """
    if not service:
        return ""
    state, reason, message = describe(service)
    name = service["metadata"]["name"]
    if state != "Ready":
        why = ": ".join(filter(None, (state or "has no status yet", reason, message)))
        return f". NIMService {name} is not Ready ({why}): kubectl nim wait nimservice/{name}"
    if not is_away:
        return ""
    if external := printable(external_endpoint(service), _MAX_TEXT):
        return f". NIMService {name} is Ready; set --endpoint to its external one, {external}"
    return f". NIMService {name} is Ready: kubectl nim logs {name} shows its logs"
