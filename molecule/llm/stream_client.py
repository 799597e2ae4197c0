# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Asks a model for streamed answers: stream_client.py ADDRESS MODEL FILE.

It asks in several threads as long as the file exists. The output is JSON: the number of complete
`answers` and of their `tokens`, the `failures` as texts, the number of answers of each of the
`pods`, and how many answers ran when the kubelet began to stop their pod, or began afterwards:
`running` and `late`.
"""

from __future__ import annotations

import collections
import datetime
import http.client
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

THREADS = 4
TOKENS = 96
SECONDS = 900
"""The longest answer."""
_EVENTS = "kubectl get events --all-namespaces --field-selector reason=Killing --output json"


class FailedError(Exception):
    """An answer that is not complete."""


@dataclass(frozen=True)
class Answer:
    """Times in seconds since the epoch. `failure`: empty for a complete answer."""

    pod: str
    started: float
    ended: float
    tokens: int
    failure: str


def read_stream(lines: Iterable[bytes]) -> int:
    """The number of tokens of a complete answer; FailedError for another one."""
    tokens = 0
    for line in lines:
        data = line.strip().removeprefix(b"data: ")
        if data == b"[DONE]":
            return tokens
        if data:
            usage = json.loads(data).get("usage") or {}
            tokens = usage.get("completion_tokens", tokens)
    raise FailedError("the stream ended early")


def ask(address: str, model: str) -> Answer:
    """Ask once, in a connection of its own."""
    question = {
        "model": model,
        "messages": [{"role": "user", "content": "Tell me a long story about a ship."}],
        "max_tokens": TOKENS,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    started, pod, tokens, failure = time.time(), "", 0, ""
    connection = http.client.HTTPConnection(address, timeout=SECONDS)
    try:
        connection.request("POST", "/v1/chat/completions", json.dumps(question))
        answer = connection.getresponse()
        pod = answer.headers.get("X-Pod") or ""
        if answer.status != http.HTTPStatus.OK:
            raise FailedError(f"status {answer.status}")
        tokens = read_stream(answer)
    except (OSError, http.client.HTTPException, FailedError) as error:
        failure = f"{type(error).__name__}: {error}"
    finally:
        connection.close()
    return Answer(pod, started, time.time(), tokens, failure)


def ask_while(file: Path, address: str, model: str) -> list[Answer]:
    """Ask in several threads; answers are read to their ends."""
    found: list[Answer] = []

    def run() -> None:
        while file.exists():
            found.append(ask(address, model))
            if found[-1].failure:
                time.sleep(0.1)

    threads = [threading.Thread(target=run) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def read_killed(events: Mapping[str, Any]) -> dict[str, float]:
    """The times, in seconds since the epoch, at which the kubelet began to stop pods."""
    return {
        event["involvedObject"]["name"]: datetime.datetime.fromisoformat(
            event["firstTimestamp"]
        ).timestamp()
        for event in events["items"]
    }


def summarize(answers: Iterable[Answer], killed: Mapping[str, float]) -> dict[str, Any]:
    """Sum up the answers. The times of events are whole seconds."""
    complete = [answer for answer in answers if not answer.failure]
    of_killed = [(answer, killed[answer.pod]) for answer in complete if answer.pod in killed]
    return {
        "answers": len(complete),
        "tokens": sum(answer.tokens for answer in complete),
        "failures": [answer.failure for answer in answers if answer.failure],
        "pods": collections.Counter(answer.pod for answer in complete),
        "running": sum(answer.started < at < answer.ended for answer, at in of_killed),
        "late": sum(answer.started > at + 1 for answer, at in of_killed),
    }


def main() -> None:
    """Ask, and print the summary."""
    address, model, file = sys.argv[1:]
    answers = ask_while(Path(file), address, model)
    events = subprocess.run(_EVENTS.split(), stdout=subprocess.PIPE, check=True).stdout
    print(json.dumps(summarize(answers, read_killed(json.loads(events)))))


if __name__ == "__main__":
    main()
