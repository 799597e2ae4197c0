# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Random documents: no part of a secret survives, and redaction takes linear time."""

from __future__ import annotations

import itertools
import json
import random
import time
import typing as t
from xml.sax.saxutils import escape

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._commands.gather.redact import (
    redact_object,
    redact_rest,
    redact_text,
)

FIRST, SECOND = "Qz7", "xV9"
"""Each secret begins with one and continues with the other after a sign."""

SENSITIVE = [
    *("password", "NGC_API_KEY", "hfToken", "client-key-data", "aws_secret_access_key", "auth"),
    *("X-Api-Key", "db.password", "credentials", "passwords", "SECRET", "privateKey", "jwt"),
    *("refresh_token", "PGPASSWORD", "sessionCookie", "sas", "apikeys", "pwd", "passphrase"),
]
HARMLESS = ["model", "path", "replicas", "tokenizer", "topologyKey", "author", "image", "max_len"]
SIGNS = ["", "-", ".", "/", "+", "=", "_", "!", "$", "*", "~", "^", "?"]
QUOTED_SIGNS = [
    *SIGNS,
    " ",
    ",",
    ";",
    ":",
    "}",
    "]",
    ")",
    "{",
    "(",
    "[",
    "&",
    "|",
    "#",
    "@",
    "%",
    "<",
]


def secret(rng: random.Random, signs: list[str]) -> str:
    letters = "".join(rng.choices("abcdefghkmnpqrstuvw", k=6))
    return f"{FIRST}{letters}{rng.choice(signs)}{SECOND}{letters}"


def is_left(text: str) -> bool:
    return FIRST in text or SECOND in text


def make(rng: random.Random, depth: int, is_secret: bool, kept: list[str]) -> t.Any:
    """A tree with secrets below sensitive keys."""
    kind = rng.choice(["map", "list", "text"] if depth else ["text"])
    if kind == "text":
        if is_secret:
            return secret(rng, QUOTED_SIGNS)
        kept.append(f"kept{len(kept)}x")
        return kept[-1]
    if kind == "list":
        return [make(rng, depth - 1, is_secret, kept) for _ in range(rng.randint(1, 3))]
    names = [*rng.sample(HARMLESS, rng.randint(1, 3)), *rng.sample(SENSITIVE, rng.randint(1, 3))]
    rng.shuffle(names)
    return {name: make(rng, depth - 1, is_secret or name in SENSITIVE, kept) for name in names}


def xml(value: t.Any, name: str = "x") -> str:
    if isinstance(value, dict):
        inner = "\n".join(xml(item, key) for key, item in value.items())
    elif isinstance(value, list):
        inner = "".join(xml(item, "item") for item in value)
    else:
        inner = escape(value)
    return f"<{name}>{inner}</{name}>"


def go(value: t.Any) -> str:
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{go(item)}" for key, item in value.items()) + "]"
    if isinstance(value, list):
        return "[" + " ".join(go(item) for item in value) + "]"
    return json.dumps(value)


def hcl(value: dict[str, t.Any]) -> str:
    return "\n".join(f"{key} = {json.dumps(item)}" for key, item in value.items())


def commented(text: str, sign: str) -> str:
    return "".join(f"{sign}{line}\n" for line in text.splitlines())


class Wide(yaml.SafeDumper):
    """Lists are indented."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        return super().increase_indent(flow, False)


def dump_by_libyaml(text: str) -> str:
    """A ConfigMap as Go's and C's libraries write it: they fold strings at spaces."""
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return yaml.dump({"data": {"x": text}}, Dumper=dumper)


LOSSY = ("Go", "YAML, flow", "YAML, flow in several lines", "YAML, flow, narrow", "YAML in JSON")

DOCUMENTS: dict[str, t.Callable[[dict[str, t.Any]], str]] = {
    "YAML": yaml.safe_dump,
    "YAML, indented": lambda tree: yaml.dump(tree, Dumper=Wide, indent=4),
    "YAML, quoted": lambda tree: yaml.safe_dump(tree, default_style='"'),
    "YAML, single": lambda tree: yaml.safe_dump(tree, default_style="'"),
    "YAML, blocks": lambda tree: yaml.safe_dump(tree, default_style="|"),
    "YAML, narrow": lambda tree: yaml.safe_dump(tree, width=8),
    "YAML, flow": lambda tree: yaml.safe_dump(tree, default_flow_style=True, width=1e6),
    "YAML, flow in several lines": lambda tree: yaml.safe_dump(tree, default_flow_style=True),
    "YAML, flow, narrow": lambda tree: yaml.safe_dump(tree, default_flow_style=True, width=8),
    "YAML in comments": lambda tree: commented(yaml.safe_dump(tree), "# "),
    "YAML in comments, indented": lambda tree: commented(yaml.safe_dump(tree, indent=4), "  // "),
    "YAML in a diff": lambda tree: commented(yaml.safe_dump(tree), "+"),
    "YAML blocks in comments": lambda tree: commented(yaml.safe_dump(tree, default_style="|"), "#"),
    "JSON": json.dumps,
    "JSON, pretty": lambda tree: json.dumps(tree, indent=2),
    "JSON, compact": lambda tree: json.dumps(tree, separators=(",", ":")),
    "JSON in JSON": lambda tree: json.dumps({"log": json.dumps(tree), "x": 1}),
    "JSON in JSON in JSON": lambda tree: json.dumps([json.dumps({"log": json.dumps(tree)})]),
    "YAML in JSON": lambda tree: json.dumps({"log": yaml.safe_dump(tree)}),
    "JSON in YAML": lambda tree: yaml.safe_dump({"data": {"x": json.dumps(tree, indent=1)}}),
    "JSON in YAML of libyaml": lambda tree: dump_by_libyaml(json.dumps(tree, indent=1)),
    "JSON in YAML, in one line": lambda tree: yaml.safe_dump({"data": {"x": json.dumps(tree)}}),
    "JSON in YAML of libyaml, in one line": lambda tree: dump_by_libyaml(json.dumps(tree)),
    "Python": repr,
    "Go": go,
    "XML": xml,
    "settings": hcl,
}


def in_log(text: str) -> str:
    return "\n".join(f"2026-01-01T00:00:00.123456789Z {line}" for line in text.split("\n"))


PLACES = {
    "a file": lambda text: text,
    "a log": in_log,
    "windows": lambda text: text.replace("\n", "\r\n"),
    "after a line": lambda text: f"starting with model llama\n{text}\nkept",
}


SEEDS = [
    pytest.param(range(4), id="few"),
    pytest.param(range(4, 20), id="more", marks=pytest.mark.nightly),
]


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("form", DOCUMENTS)
def test_redact_document(form: str, place: str, seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(f"{form} {place} {seed}")
        kept: list[str] = []
        tree = {"first": "x"}
        while len(tree) < 2:
            made = make(rng, 4, False, kept)
            tree |= made if isinstance(made, dict) else {}
        text = PLACES[place](DOCUMENTS[form](tree))
        found = redact_text(text)
        assert not is_left(found), f"{seed}\n{text}\n---\n{found}"
        if form not in LOSSY:  # in case of doubt, the rest of a line
            lost = [word for word in kept if word in text and word not in found]
            assert not lost, f"{seed} lost {lost}\n{text}\n---\n{found}"


@pytest.mark.parametrize("form", DOCUMENTS)
def test_redact_cut_document(form: str) -> None:
    """A log may end anywhere."""
    for seed in range(20):
        rng = random.Random(f"{form} {seed}")
        made = make(rng, 4, False, [])
        text = DOCUMENTS[form]({"x": "y"} | (made if isinstance(made, dict) else {}))
        text = text[: rng.randint(0, len(text))]
        found = redact_text(text)
        assert not is_left(found), f"{seed}\n{text}\n---\n{found}"
        assert not is_left(redact_rest(f"kept: x\n{text}"))


def test_redact_object() -> None:
    for seed in range(100):
        rng = random.Random(seed)
        kept: list[str] = []
        found = json.dumps(redact_object({"spec": make(rng, 5, False, kept)}))
        assert not is_left(found), f"{seed} {found}"
        assert [word for word in kept if word not in found] == [], seed


ASSIGNED = {
    "environment": "{name}={bare}",
    "export": "export {name}={bare}",
    "export, single": "export {name}='{quoted}'",
    "export, double": 'export {name}="{quoted}"',
    "YAML": "{name}: {bare}",
    "YAML, single": "{name}: '{quoted}'",
    "YAML, double": '{name}: "{quoted}"',
    "YAML, item": "- {name}: {bare}",
    "YAML, list": "{name}:\n- {bare}\n- {bare}",
    "YAML, block": "{name}: |\n  {quoted}\n  {quoted}",
    "flow": "{{{name}: {bare}, x: y}}",
    "JSON": '{{"{name}":"{quoted}","x":1}}',
    "JSON in JSON": '"{{\\"{name}\\":\\"{quoted}\\",\\"x\\":1}}"',
    "INI": "{name} = {bare}",
    "Python": "{{'{name}': '{quoted}'}}",
    "Go": "{{{name}:{bare} X:y}}",
    "flag": "--{name} {bare} --x",
    "flag and =": "--{name}={bare} --x",
    "flag, quoted": "--{name} '{quoted}' --x",
    "flag in JSON": '["--{name}","{quoted}","--x"]',
    "query": "https://host/?x=y&{name}={bare}&z",
    "element": "<{name}>{bare}</{name}>",
    "attribute": '<x {name}="{quoted}"/>',
    "pair": "- name: {name}\n  value: {bare}",
    "pair, reversed": '- value: "{quoted}"\n  name: {name}',
    "pair in JSON": '{{"name":"{name}","value":"{quoted}"}}',
    "is": "the {name} is {bare}",
    "call": "set('{name}', '{quoted}')",
    "two words": "{name} {bare}",
}
AROUND = ["{}", "2026-01-01T00:00:00Z {}", "INFO x y: {}", "{}\nx: kept", "  {}\nx", "a\n{}"]
IN_LINES = ("YAML, list", "YAML, block", "two words")
"""Names that only count on a line of their own; elsewhere, they are prose."""


PARTS = {"a quarter": (0,), "the rest": (1, 2, 3)}


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(rests, id=part, marks=pytest.mark.nightly if part == "the rest" else ())
        for part, rests in PARTS.items()
    ],
)
@pytest.mark.parametrize("form", ASSIGNED)
def test_redact_every_name_in_every_format(form: str, part: tuple[int, ...]) -> None:
    """Each part has each name, each place and each sign, and a part of their combinations."""
    rng = random.Random(f"{form} {part}")
    for number, (name, around) in enumerate(itertools.product(SENSITIVE, AROUND)):
        if form in IN_LINES and around != "{}":
            continue
        for sign in (sign for index, sign in enumerate(SIGNS) if (index + number) % 4 in part):
            if sign == "=" and form in ("query",):
                continue
            bare, quoted = secret(rng, [sign]), secret(rng, QUOTED_SIGNS)
            text = around.format(ASSIGNED[form].format(name=name, bare=bare, quoted=quoted))
            found = redact_text(text)
            assert not is_left(found), f"{text}\n---\n{found}"


HARD = [
    *(
        "-----BEGIN A-----\n",
        "-----BEGIN A-----",
        "-----END A-----\n",
        "name: ",
        "a",
        "\\",
        '"',
        "'",
    ),
    *(" ", "://", "--key ", "key: |\n", "a-key.", 'password="', "password='x\n", 'password=\\"'),
    *("token\n", "=", "token=(", "token=[", "token={", "x=(((", "password: \\", "password is "),
    *("<password>x\n", "<password>", "<password a=", "&lt;token&gt;", "# token:\n", "token:\n"),
    *(
        "- token:\n",
        "token:\n\n",
        "value: x ",
        '"name":"token",',
        '{"value":',
        "name: token\n",
        "- ",
    ),
    *(
        "authorization: x ",
        "Authorization: Basic ",
        "cookie=",
        "a,token\n",
        "a,token,",
        "token,",
        "|",
    ),
    *(
        "-p ",
        "mysql -p",
        "-u a:",
        "echo x ",
        "echo x|",
        "htpasswd ",
        "basic ",
        "a:1:b:c:d",
        "a:",
        "1:",
    ),
    *("[token]\n", "[token", "token ", "token\t", "token: 5, ", "password: true, ", "eyJaaaaaaaa."),
    *(
        "kind: Secret\n",
        "data:\n",
        '"\\n',
        "\\n",
        '"a\\nb" ',
        '\\"',
        "\x1b[",
        "$6$",
        "machine x ",
        "?key=",
    ),
    *(
        "passwords:\n # x\n",
        "password: a\\\n",
        'token"',
        "token',",
        '"token", "',
        "('token', '",
        "<!--",
    ),
    *(
        "{token: a\n",
        "{token: a ",
        "token: &a *a ",
        "x: &a\npassword: *a\n",
        "<<EOF\n",
        "<<token\n",
    ),
    *("token <<E1\n", "# token: |\n", "+token:\n", "A  TOKEN\n", "A  TOKEN  B\nx  ", "token  a  "),
    *(
        "<value>",
        "<value>x</value>",
        "<token1>",
        'value: "',
        "value: 'x ",
        'token=["',
        "token='a'+",
    ),
    *("token: (a) ", "token=a\\\n", "\u0430token: ", "\u0430", "\\u0070", "://a:b/", "AUTH PLAIN "),
    *(
        "into x (token) values (1,\n",
        "| token | ",
        "path: /a/token ",
        'env: Invalid value: "',
        "$1 = 'a",
    ),
    *("token\0", "path: /a/b/", "Secret{", "token: # x\n", "token is:\n", "x \\x61"),
    *("password: '", "token: {it's ", "('token', \"", "token:\n\n", 'name="token"\n\n'),
    *("password = '''", "SECRET", "%3D", "token%3D", "\\u003ctoken\\u003e", "secret: {name: x}\n"),
]


@pytest.mark.nightly
@pytest.mark.parametrize("piece", HARD, ids=lambda text: text.strip() or "space")
def test_redact_time_linear(piece: str) -> None:
    """Doubling any text about doubles the time."""

    def measure(size: int) -> float:
        text = piece * (size // len(piece))
        start = time.process_time()
        redact_text(text)
        return time.process_time() - start

    # The bound leaves room for noise: quadratic time is 64 times as long, linear time eight times.
    first, second = measure(2_000), measure(16_000)
    assert second < 24 * max(first, 0.004), f"{first:.3f} s, then {second:.3f} s"


OPEN = ['x: "a \\"b', 'log: 5" \\"disk', '{"a": "\\"b']
BELOW = ["password = Qz7 xV9", "password: Qz7 xV9", "password: |\n    Qz7\n    xV9"]


@pytest.mark.parametrize("below", BELOW)
@pytest.mark.parametrize("first", OPEN)
def test_redact_below_open_quote(first: str, below: str) -> None:
    """Lines that only seem to belong to a folded string are redacted as strictly as alone."""
    for end in ("", "\n  kept: y", '\n  kept"'):
        found = redact_text(f"{first}\n  {below}{end}")
        assert not is_left(found), found


def test_redact_folded_kept() -> None:
    text = dump_by_libyaml(json.dumps({"model": "kept " * 40, "path": "kept"}, indent=1))
    assert redact_text(text) == text
