# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Formats in which credentials appear: they are removed, and the text around them is kept.

``S`` is the secret, and ``KEPT`` is text that must stay.
"""

from __future__ import annotations

import base64
import json

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._commands.gather.redact import (
    MARK,
    redact_object,
    redact_rest,
    redact_text,
)

S = "Zq7Xw2canary9Lk"
LINE = "MIIEowIBAAKCAQEAZq7Xw2canary9LkabcdefghijklmnopqrstuvwxyzABCDEFG"
B64 = base64.b64encode(f"user:{S}".encode()).decode()

FORMATS = {
    # YAML
    "list at the same indentation": "passwords:\n- S\n- 'S S'\nother: KEPT",
    "list, indented": "db:\n  passwords:\n    - S\n    # S\n    - a: S\n      b: S\n  other: KEPT",
    "list in a list item": "- passwords:\n  - S\n  other: KEPT",
    "list after a comment": "passwords: # of S\n# of users\n- S\nother: KEPT",
    "list with a blank line": "passwords:\n\n- S\n\n- S\n\nother: KEPT",
    "list with a tag": "passwords: !!set\n- S\nother: KEPT",
    "map": "credentials:\n  bob: S\n  alice:\n    x: S\nother: KEPT",
    "map of keys": "apiKeys:\n  S: bob\nother: KEPT",
    "literal block": "password: |\n  a\n\n  S\nother: KEPT",
    "literal block with comment": "password: |- # why\n  S\nother: KEPT",
    "block with indentation": "password: |2-\n    S\n  S\nother: KEPT",
    "folded block": "password: >-\n  a\n  S\nother: KEPT",
    "plain in several lines": "password: a\n  S\n  S\nother: KEPT",
    "double quotes in several lines": 'password: "a\n  S\n  S"\nother: KEPT',
    "single quotes in several lines": "password: 'a\n\n  it''s S'\nother: KEPT",
    "tag": "password: !!str S\nother: KEPT",
    "tag and block": "password: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  S\nother: KEPT",
    "anchor": "password: &pw S\nother: KEPT",
    "flow map": "credentials: {bob: S, alice: {x: 'S}', y: \"{S\"}}\nother: KEPT",
    "flow map in several lines": "credentials: {\n bob: S,\n x: S\n}\nother: KEPT",
    "flow list": "passwords: [S, 'S', \"S\"]\nother: KEPT",
    "flow list in several lines": "passwords: [\nS,\nS\n]\nother: KEPT",
    "flow list, unclosed": "other: KEPT\npasswords: [S,\n S,\n S",
    "inside a flow": "x: {password: S, other: KEPT}",
    "inside a flow with a space": "x: {password: S S, other: KEPT}",
    "flow pair": "x: [password, S]\nother: KEPT",
    "quoted key": "'password': S S\nother: KEPT",
    "complex key": "? password\n: S\nother: KEPT",
    "comment": "# password: S S\nother: KEPT",
    "item of a list": "- password: S S\n  other: KEPT",
    "item in an item": "- - password: S S\n    other: KEPT",
    "below its key": "password:\n  S\nother: KEPT",
    "CRLF": "passwords:\r\n- S\r\n- S\r\nother: KEPT\r\n",
    "tab": "password:\tS\nother: KEPT",
    "value with many signs": "password: S,S;S&S<S>S)S]S}S\\S'S\"S\nother: KEPT",
    "value with a hash": "password: a#S\nother: KEPT",
    # Kubernetes
    "name and value": "- name: NGC_API_KEY\n  value: S\n- name: KEPT",
    "value and name": "- value: S\n  name: NGC_API_KEY\n- name: X\n  value: KEPT",
    "comment between": "- name: NGC_API_KEY\n  # the {key} - of x.\n  value: S\n- name: KEPT",
    "comments between, reversed": "- value: S\n  # the key\n\n  # of x\n  name: HF_TOKEN\n- name: KEPT",
    "field between": "- name: NGC_API_KEY\n  scope: KEPT\n  value: S\n",
    "value in a block": "- name: NGC_API_KEY\n  value: |\n    S\n    S\n- name: KEPT",
    "value in quotes": "- name: 'NGC_API_KEY'\n  value: \"a S\"\n- name: KEPT",
    "pretty JSON pair": '{\n "name": "HF_TOKEN",\n "value": "S"\n},\n{"name": "KEPT"}',
    "JSON pair, reversed": '[{"value":"S","name":"HF_TOKEN"},{"name":"X","value":"KEPT"}]',
    "flow pair, reversed": "[{value: S, name: HF_TOKEN}, {name: X, value: KEPT}]",
    "Key and Value": '{"Key":"db-password","Value":"S"},{"Key":"x","Value":"KEPT"}',
    "pair in Go, reversed": "{Value:S Name:HF_TOKEN} KEPT",
    "Secret": "apiVersion: v1\nkind: Secret\ndata:\n  x: S\nmetadata:\n  name: KEPT",
    "Secret, reversed": "data:\n  x: S\nkind: Secret\nmetadata:\n  name: KEPT",
    "Secret in JSON": '{"data":{"x":"S"},"kind":"Secret","metadata":{"name":"KEPT"}}',
    "kubeconfig": (
        "users:\n- name: KEPT\n  user:\n    client-key-data: S\n    token: S\n    password: S\n"
        "    exec:\n      env:\n      - name: AWS_SECRET_ACCESS_KEY\n        value: S\n"
    ),
    "docker config": '{"auths":{"nvcr.io":{"username":"u","password":"S","auth":"S"}},"x":"KEPT"}',
    "docker auth": '"nvcr.io": {\n  "auth": "S"\n}, KEPT',
    # JSON
    "pretty JSON": '{\n  "password": "S",\n  "passwords": [\n    "S"\n  ],\n  "x": "KEPT"\n}',
    "JSON map": '{"credentials":{"bob":"S","b":["S",{"c":"S"}]},"x":"KEPT"}',
    "JSON value on the next line": '{"password":\n"S",\n"x":"KEPT"}',
    "JSON number": '{"pin_password":1234567890,"x":"KEPT"}',
    "JSON with an escape": r'{"password":"a\"S\\","x":"KEPT"}',
    "JSON in JSON": r'{"x":"{\"password\":\"S\",\"other\":\"KEPT\"}"}',
    "JSON map in JSON": r'{"x":"{\"credentials\":{\"b\":\"S\"},\"other\":\"KEPT\"}"}',
    "JSON in JSON in JSON": r'"{\"x\":\"{\\\"tokens\\\":[\\\"S\\\"],\\\"y\\\":\\\"KEPT\\\"}\"}"',
    "text in JSON": r'{"log":"KEPT\npassword: S\nauth: S\ntoken=S\n","x":"KEPT"}',
    "YAML in JSON": r'{"log":"KEPT\npasswords:\n- S"}',
    "JSON, truncated": '{"x":"KEPT","password":"S',
    "JSON map, truncated": '{"x":"KEPT","credentials":{"a":"S","b":"S',
    "JSON5": "{password: 'S', other: 'KEPT'}",
    "JSON with escaped signs": r'{"url":"x?token=S\u0026y=KEPT"}',
    "JSON with escaped tags": r'{"x":"\u003cpassword\u003eS\u003c/password\u003eKEPT"}',
    # settings
    "INI": "[db]\npassword = S S ; S\nother = KEPT",
    "INI section": "[credentials]\nbob = S\nalice=S\n[other]\nx = KEPT",
    "INI in several lines": "password =\n  S\n  S\nother = KEPT",
    "TOML": 'password = "S"\nother = "KEPT"',
    "TOML in several lines": 'password = """\nS\n"S" S"""\nother = "KEPT"',
    "TOML table": '[servers.a.credentials]\nx = "S"\n\n[other]\nx = "KEPT"',
    "TOML list": 'passwords = [\n  "S", # x\n  "S",\n]\nother = "KEPT"',
    "TOML inline table": 'credentials = { bob = "S", x = "S" }\nother = "KEPT"',
    "properties": "db.password=S\ndb.password.old=S\nother=KEPT",
    "properties with colon": "db.password:S\nother:KEPT",
    "properties with spaces": "db.password S\nother KEPT",
    "properties in several lines": "db.password=a\\\n   S\\\n   S\nother=KEPT",
    "dotenv": "DB_PASSWORD=S;S=S&S\nOTHER=KEPT",
    "dotenv in quotes": "DB_PASSWORD=\"S S\"\nPGPASSWORD='S'\nOTHER=KEPT",
    "dotenv, quotes in several lines": 'SSH_KEY="a\nS\nS"\nOTHER=KEPT',
    "export": "export HF_TOKEN=S; export X=KEPT",
    "export with quotes": "export HF_TOKEN='S' X=KEPT",
    "quotes in a word": "PASSWORD='it'\"'\"'S'S\nX=KEPT",
    "escaped spaces": "PASSWORD=a\\ S\nX=KEPT",
    "setx": "setx HF_TOKEN S\nKEPT",
    "Dockerfile": "ENV HF_TOKEN S\nENV X=KEPT",
    "Dockerfile with =": "ENV X=KEPT HF_TOKEN=S",
    "declare": 'declare -x HF_TOKEN="S"\nKEPT',
    "redis": "requirepass S\nmasterauth S\nport KEPT",
    "HCL": 'variable "db_password" {\n default = "S"\n}\nKEPT',
    "ruby": ":password => 'S', :other => 'KEPT'",
    "nginx": 'proxy_set_header Authorization "Basic S";\nKEPT',
    "AWS credentials": "[default]\naws_access_key_id = S\naws_secret_access_key = S\nregion = KEPT",
    "GCP account": '{"private_key_id": "S", "private_key": "S\\nS", "client_email": "KEPT"}',
    "connection string": "Server=KEPT;User Id=u;Password=S;Pwd=S",
    "account key": "AccountName=KEPT;AccountKey=S==;EndpointSuffix=x",
    # commands
    "flag": "--password S --model KEPT",
    "flag and =": "--password=S --model KEPT",
    "flag in quotes": "--password 'S S' --model KEPT",
    "flag and = in quotes": '--password="S S" --model KEPT',
    "flag with one dash": "-password S -model KEPT",
    "flag with a line continued": "x --password \\\n  S \\\n  --model KEPT",
    "flag in JSON": '["--password", "S", "--model", "KEPT"]',
    "flag in JSON with =": '["--password=S S", "--model", "KEPT"]',
    "flag in YAML": "- --password\n- S\n- --model\n- KEPT",
    "flag in YAML in quotes": '- "--password"\n- "S S"\n- "--model"\n- KEPT',
    "flag with a dash in the value": "--password -S --model KEPT",
    "-p": "login -u bob -p S --model KEPT",
    "-p of mysql": "mysql -u root -pS KEPT",
    "-p in quotes": "mysql -p'S S' KEPT",
    "-p of mysql, apart": "mysql -u root -p S KEPT",
    "-p of mysql, a number": "mysql -u root -p 123456 KEPT".replace("123456", "1S"),
    "-p of sshpass": "sshpass -p 'S' ssh KEPT",
    "-p in JSON": '["mysql", "-p", "S", "KEPT"]',
    "-a of redis": "redis-cli -h KEPT -a S ping",
    "-w of ldap": "ldapsearch -D cn=KEPT -w S -x",
    "-p of docker": "docker login -u u -p S KEPT",
    "curl": "curl -u user:S https://KEPT",
    "curl without a space": "curl -uuser:S https://KEPT",
    "curl in quotes": "curl -u 'user:S S' https://KEPT".replace("S S", "S"),
    "curl --user": "curl --user user:S https://KEPT",
    "curl --user=": "curl --user=user:S https://KEPT",
    "curl proxy": "curl -U user:S --proxy-user user:S https://KEPT",
    "curl in JSON": '["curl", "-u", "user:S", "KEPT"]',
    "curl with a header": "curl -H 'X-Api-Key: S' -H \"Authorization: Token S\" KEPT",
    "curl with data": 'curl -d \'{"password":"S"}\' KEPT',
    "curl with a form": "curl -d 'user=KEPT&password=S' x",
    "docker -e": "docker run -e NGC_API_KEY=S KEPT",
    "helm --set": "helm install --set auth.password=S KEPT",
    "kubectl": "kubectl create secret generic KEPT --from-literal=password=S",
    "piped": "echo S | docker login --password-stdin KEPT",
    "piped to chpasswd": "echo 'user:S' | chpasswd; KEPT",
    "htpasswd -b": "htpasswd -nb user S; KEPT",
    "openssl": "openssl enc -pass pass:S -in KEPT",
    "aws configure": "aws configure set aws_secret_access_key S; KEPT",
    "property of Java": "java -Ddb.password=S -jar KEPT",
    "SQL": "CREATE USER KEPT WITH PASSWORD 'S it''s S'",
    "SQL identified": "CREATE USER KEPT IDENTIFIED BY 'S'",
    "SQL for": "SET PASSWORD FOR 'u' = 'S'; KEPT",
    # HTTP
    "basic": "Authorization: Basic S\nX: KEPT",
    "bearer": "Authorization: Bearer S\nX: KEPT",
    "scheme of its own": "Authorization: Own S S\nX: KEPT",
    "digest": 'Authorization: Digest username="u", response="S"\nX: KEPT',
    "AWS4": "Authorization: AWS4-HMAC-SHA256 Credential=S/x, Signature=S\nX: KEPT",
    "digest in quotes": 'curl -H \'Authorization: Digest u="x", response="S"\' KEPT',
    "in a log": "KEPT Authorization: Bearer S KEPT",
    "proxy": "Proxy-Authorization: Basic S\nX: KEPT",
    "in JSON": '{"Authorization":"Token S","X":"KEPT"}',
    "list in JSON": '{"Authorization":["Bearer S"],"X":["KEPT"]}',
    "in Go": "map[Authorization:[Bearer S] X:[KEPT]]",
    "in Python": "[('Authorization', 'Token S'), ('X', 'KEPT')]",
    "in ASGI": "[(b'authorization', b'Token S'), (b'x', b'KEPT')]",
    "cookie": "Cookie: a=S; b=S\nX: KEPT",
    "set cookie": "Set-Cookie: a=S; Path=/; HttpOnly\nX: KEPT",
    "cookie in JSON": '{"Cookie":"a=S; b=S","X":"KEPT"}',
    "user in URL": "https://user:S@KEPT/x",
    "user in URL in JSON": r'"https:\/\/user:S@KEPT\/x"',
    "user in URL, encoded": "next=https%3A%2F%2Fuser:S@KEPT",
    "query": "https://KEPT/x?token=S&x=KEPT&sig=S&key=S",
    "query of S3": "https://KEPT/x?X-Amz-Credential=S&X-Amz-Signature=S&X-Amz-Security-Token=S",
    "query of GCS": "https://KEPT/x?X-Goog-Signature=S",
    "query of Azure": "https://KEPT/x?sv=2020&sig=S%2BS%3D&se=KEPT",
    "query, escaped": "https://KEPT/x?a=b&amp;token=S&amp;x=KEPT",
    "query, encoded": "next=https%3A%2F%2FKEPT%3Ftoken%3DS%26x%3DKEPT",
    "query with code": "GET /callback?code=S&state=KEPT",
    "fragment": "https://KEPT/#access_token=S&x=KEPT",
    # files
    "netrc": "machine KEPT login u password S",
    "netrc in several lines": "machine KEPT\n  login u\n  password S\nmachine KEPT",
    "netrc by default": "default login KEPT password S",
    "netrc with an account": "machine KEPT login u account x password S",
    "netrc after times": "2026-01-01T00:00:00Z machine KEPT\n2026-01-01T00:00:00Z password S",
    "pgpass": "KEPT:5432:db:user:S",
    "pgpass with stars": "*:*:*:KEPT:S\\:S",
    "pgpass with spaces": "KEPT:5432:db:user:a S\nKEPT",
    "pgpass after a time": "2026-01-01T00:00:00Z KEPT:5432:db:user:S",
    "pgpass in JSON": r'{".pgp":"KEPT:5432:db:user:S\nKEPT:*:*:u:S"}',
    "htpasswd": "KEPT:$apr1$S$S/S.\nKEPT:{SHA}S=\nKEPT:$2y$05$S",
    "shadow": "KEPT:$6$S$S:19000:0:99999:7:::",
    "git credentials": "https://user:S@KEPT",
    "CSV": "user,password\nKEPT,S\nKEPT,S\n",
    "CSV in quotes": '"user","password","x"\n"KEPT","a,""S","KEPT"\n',
    "CSV first": "token,user\nS,KEPT",
    "TSV": "user\tpassword\nKEPT\tS\n",
    "semicolons": "user;password;x\nKEPT;S;KEPT\n",
    "markdown": "| user | password |\n|---|---|\n| KEPT | S |\n",
    # XML
    "element": "<x><password>S</password><y>KEPT</y></x>",
    "element with attributes": '<password type="x">S S</password><y>KEPT</y>',
    "element with a prefix": "<a:password>S</a:password><y>KEPT</y>",
    "element in several lines": "<password>\n  S\n  S\n</password>\n<y>KEPT</y>",
    "element with CDATA": "<password><![CDATA[S<S]]></password><y>KEPT</y>",
    "element with elements": "<credentials><u>S</u><p>S</p></credentials><y>KEPT</y>",
    "element, truncated": "<y>KEPT</y><password>\nS\nS",
    "element, escaped": "&lt;password&gt;S&lt;/password&gt; KEPT",
    "attribute": "<user name='KEPT' password='S'/>",
    "attribute pair": '<add key="DbPassword" value="S"/><add key="x" value="KEPT"/>',
    "property": '<property name="password">S</property><y>KEPT</y>',
    "Hadoop": "<name>fs.s3a.secret.key</name>\n<value>S</value>\n<y>KEPT</y>",
    "HTML": '<input type="password" value="S"> <b>KEPT</b>',
    "HTML meta": '<meta name="csrf-token" content="S"> <b>KEPT</b>',
    # PEM
    "PEM": f"-----BEGIN PRIVATE KEY-----\n{LINE}\nS=\n-----END PRIVATE KEY-----\nKEPT",
    "PEM, indented": f"x: |\n  -----BEGIN KEY-----\n  {LINE}\n  -----END KEY-----\nKEPT",
    "PEM, truncated": f"KEPT\n-----BEGIN KEY-----\n{LINE}\n{LINE}\nS",
    "PEM, truncated, with headers": f"-----BEGIN KEY-----\nProc-Type: 4,S\nDEK-Info: A,S\n\n{LINE}\nS",
    "PEM without its beginning": f"{LINE}\nS==\n-----END KEY-----\nKEPT",
    "PEM without its beginning, later": f"KEPT x\n{LINE}\nS==\n-----END KEY-----\nKEPT",
    "PEM in JSON": f'{{"x":"-----BEGIN KEY-----\\n{LINE}\\n-----END KEY-----\\n","y":"KEPT"}}',
    "PGP": f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{LINE}\n=S\n-----END PGP PRIVATE KEY BLOCK-----",
    "SSH2": f"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n{LINE}\n---- END SSH2 ENCRYPTED PRIVATE KEY ----",
    # programs
    "Python": "{'password': 'S', 'x': 'KEPT'}",
    "Python list": "{'tokens': ['S', 'S'], 'x': 'KEPT'}",
    "Python bytes": "{'password': b'S', 'x': 'KEPT'}",
    "Python object": "Settings(password='S', x='KEPT')",
    "Python SecretStr": "api_key=SecretStr('S') x='KEPT'",
    "Python annotation": 'password: str = "S"\nx = "KEPT"',
    "Python item": "os.environ['HF_TOKEN'] = 'S'\nKEPT",
    "Python call": "client.set_password('S', x='KEPT')",
    "Go struct": 'Config{Password:"S", Host:"KEPT"}',
    "Go struct, plain": "{Host:KEPT Password:S Port:1}",
    "Go map": "map[host:KEPT password:S port:1]",
    "Go map of a map": "map[credentials:map[a:S b:S] host:KEPT]",
    "Go list": "{Tokens:[S S] Host:KEPT}",
    "Go pointer": '&Auth{Secret:&X{Name:"n", P:"S"}, Host:"KEPT"}',
    "Go declaration": 'var password string = "S"\nKEPT',
    "Java": "User{name=KEPT, password=S}",
    "Rust": 'Config { password: Some("S"), host: "KEPT" }',
    "JavaScript": "const apiKey = 'S'; KEPT",
    "PHP": "$db['password'] = 'S'; KEPT",
    # logs
    "is": "KEPT: the password is S",
    "was": "KEPT the token was S",
    "set to": "password set to S",
    "is, in quotes": "password is 'S S' KEPT",
    "in quotes": "wrong password 'S' for KEPT",
    "spaced": "using password S for KEPT",
    "name with a space": "API Key: S",
    "name with two spaces": "Secret Access Key = S",
    "logfmt": 'level=info token=S msg="KEPT"',
    "with spaces": "KEPT x, password: S S S",
    "colors": "KEPT \x1b[36mtoken\x1b[0m=\x1b[35mS\x1b[0m",
    "after a time, a list": "2026-01-01T00:00:00Z passwords:\n2026-01-01T00:00:00Z - S\n2026-01-01T00:00:00Z x: KEPT",
    "after a time, a block": "2026-01-01T00:00:00Z password: |\n2026-01-01T00:00:00Z   S\n2026-01-01T00:00:00Z x: KEPT",
    "after a time, JSON": '2026-01-01T00:00:00Z "tokens": [\n2026-01-01T00:00:00Z  "S"\n2026-01-01T00:00:00Z ], KEPT',
    "below": "KEPT, password:\nS\nKEPT x",
    "at the end": "password:",
    "a long value": "password: " + "x" * 20_000 + "S\nKEPT",
    "a long value in quotes": 'password="' + "x" * 15_000 + 'S" KEPT',
    "a long name": "X" * 300 + "_PASSWORD=S\nKEPT",
    "a name in prose": "wrong token: S, KEPT",
    "a diff": "-  password: S S\n+  password: S S\n   x: KEPT",
}


@pytest.mark.parametrize("text", FORMATS.values(), ids=FORMATS)
def test_redact_text(text: str) -> None:
    text = _fill(text)
    found = redact_text(text)
    assert not _shown(found), found
    assert found.count("KEPT") >= min(1, text.count("KEPT")), found
    assert not _shown(redact_text(found))
    assert redact_text(found).count(MARK) <= found.count(MARK), "redacting again adds nothing"


def _fill(text: str) -> str:
    """The text with each S that is a separate word replaced by the secret."""
    import re

    return re.sub(r"(?<![A-Za-z_])S(?![A-Za-z_])", lambda _found: S, text)


def _shown(text: str) -> bool:
    return "canary" in text or "1234567890" in text


LOOKS = {
    "JWT": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.canary",
    "JWE": "eyJhbGciOiJIUzI1NiJ9.canary.canary.canary.canary",
    "NGC": "nvapi-canary",
    "Hugging Face": "hf_canaryABCDEFGH",
    "GitHub": "ghs_canary0123456789",
    "GitHub, fine": "github_pat_canary0123456789",
    "GitLab": "glpat-canary0123456789",
    "Slack": "xoxb-canary-01",
    "Slack hook": "https://hooks.slack.com/services/T0/B0/canary",
    "OpenAI": "sk-proj-canary0123456789",
    "Stripe": "sk_live_canary01",
    "Google": "AIzacanary0123456789012345678901234567",
    "Google OAuth": "ya29.canary01",
    "npm": "npm_canary01234567890123",
    "PyPI": "pypi-canary0123456789",
    "Vault": "hvs.canary0123456789",
    "Docker": "dckr_pat_canary01",
    "OpenShift": "sha256~canary0123456789abcdef",
    "bearer": "bearer canary0123",
    "basic": f"Basic {base64.b64encode(b'canary:canary').decode()}",
    "PEM in base64": "LS0tLS1CRUdJTicanary",
}


@pytest.mark.parametrize("token", LOOKS.values(), ids=LOOKS)
@pytest.mark.parametrize(
    "text", ["{}", "got {}, x", '"{}"', "a/{}/b", "2026Z {}\nnext", "a\\n{}\\nb"]
)
def test_redact_text_known_formats(token: str, text: str) -> None:
    found = redact_text(text.format(token))
    assert "canary" not in found
    assert "Y2FuYXJ5" not in found
    assert MARK in found


STAYS = [
    "volumes:\n- name: v\n  secret:\n    secretName: ngc\n    defaultMode: 420\n    items:\n    - key: a\n      path: b",
    "valueFrom:\n  secretKeyRef:\n    name: ngc-api-secret\n    key: NGC_API_KEY",
    "secretKeyRef: {name: ngc-api-secret, key: NGC_API_KEY, optional: true}",
    '"secretKeyRef": {"name": "ngc-api-secret", "key": "NGC_API_KEY"}',
    '{"secretKeyRef":{"name":"ngc-api-secret","key":"HF_TOKEN"}}',
    "imagePullSecrets:\n- name: ngc-secret\nother: x",
    "pullSecrets:\n- ngc-secret\nother: x",
    "envFrom:\n- secretRef:\n    name: ngc-api-secret",
    "authSecret: ngc-api-secret\ntlsSecretName: tls\nsecretName: x",
    "credentials:\n  user: bob\n  secretName: db\n  passwordKey: password",
    "- name: NGC_API_KEY\n  valueFrom:\n    secretKeyRef:\n      name: ngc\n      key: NGC_API_KEY",
    "tokenizer: /models/tokenizer.json\nNIM_TOKENIZER_MODE=auto\ntokenizer_config.json",
    "max_tokens: 5\nmax_completion_tokens: 4096\nprompt_tokens=12 completion_tokens=30",
    "--max-num-batched-tokens 8192 --max-model-len 4096",
    "--max-tokens=8192",
    '["--max-num-batched-tokens", "8192"]',
    '"eos_token": "</s>", "pad_token": "<pad>"',
    "password_file: /run/secrets/db",
    "AWS_WEB_IDENTITY_TOKEN_FILE=/var/run/secrets/eks/token",
    "GOOGLE_APPLICATION_CREDENTIALS=/var/secrets/google/key.json",
    "--tls-private-key-file=/etc/tls/tls.key",
    "sslKeyPath: /etc/tls/tls.key",
    "the password is wrong, the token is expired",
    "NGC_API_KEY is not set; HF_TOKEN must be set",
    'secret "ngc-api-2" not found',
    "secrets ngc-api-v2 not found",
    "KeyError: 'x'",
    "jwt.exceptions.InvalidTokenError: Not enough segments",
    "export X=$(NGC_API_KEY) NGC_API_KEY=$(NGC_API_KEY)",
    "automountServiceAccountToken: false",
    "serviceAccountToken:\n  path: token\n  expirationSeconds: 3600",
    "mkdir -p /opt/nim && docker run -p 8000:8000 --user 1000:1000 -u 1000:1000 nim",
    "ssh -p 22 host; ps -p 1; cp -p a/b c/d",
    "image: nvcr.io/nim/meta/llama:1.0\nhost: a:8000",
    "12:34:56:78:90 00:11:22:33:44:55 a.py:12:5:E501:x",
    "user,model\nbob,llama\n",
    "<path>x</path><tokenizer>y</tokenizer>",
    "-----END of the log-----",
    "kind: Pod\ndata: x",
    "passthrough: x\ncompass: y\nbypass: 1",
    "keys:\n- a\nmonkeys:\n- b",
    "topologyKey: zone\nkey: nvidia.com/gpu\nvalue: present",
    "sum by (key) value: 3",
    "INFO 3 tokens/s, 12 tokens, TTFT 3 ms per token",
    "| events in every pass | x |\n| no events | y |",
    "_add_secret(container, driver)\nreturn _with_resources(container, driver)",
    "NAME   READY   STATUS    AGE\nllm    1/1     Running   3d",
    "# tokens per second\n#   are low\n# max_tokens: 5\n# x: y",
    '"""Hides a credential."""\n\nfrom x import y',
    "{max_tokens: 5,\n  model: a b\n  c}",
    "x: &a 1\nmodel: *a\ncat <<EOF\nx: y\nEOF",
    "[INFO] listening, on [port 8000\nmodel: a b c\n",
    "mo\u0434\u0435\u043b\u044c: x, \u043a\u043b\u044e\u0447: y",
]


@pytest.mark.parametrize("text", STAYS, ids=lambda text: text[:30])
def test_redact_text_keeps(text: str) -> None:
    assert redact_text(text) == text


OBJECTS = {
    "map": {"credentials": {"bob": S, "x": [S]}},
    "keys of a map": {"apiKeys": {S: "bob"}},
    "list of maps": {"tokens": [{"x": S}]},
    "empty names": {"credentials": {"name": {"x": S}}},
    "value and name": {"env": [{"value": S, "name": "HF_TOKEN"}]},
    "value that is a map": {"env": [{"name": "HF_TOKEN", "value": {"x": S}}]},
    "key and value": {"tags": [{"Key": "db-password", "Value": S}]},
    "-p": {"args": ["mysql", "-p", S]},
    "-pX": {"command": ["mysql", f"-p{S}"]},
    "-p of something": {"args": ["-p", S]},
    "curl": {"args": ["curl", "-u", f"user:{S}"]},
    "curl --user": {"args": ["--user", f"user:{S}"]},
    "header": {"args": ["-H", f"X-Api-Key: {S}"]},
    "pair": {"headers": [["Authorization", S]]},
    "probe": {"httpGet": {"httpHeaders": [{"name": "X-Api-Key", "value": S}]}},
    "a script": {"command": ["sh", "-c", f"curl -u u:{S} x && mysql -p{S}"]},
    "netrc": {"kind": "ConfigMap", "data": {"x": f"machine h\nlogin u\npassword {S}"}},
    "JSON text": {"x": json.dumps({"credentials": {"a": S}})},
    "YAML text": {"x": yaml.safe_dump({"passwords": [S, {"a": S}]})},
    "a Secret in a Secret": {"kind": "List", "items": [{"kind": "Secret", "data": {"x": S}}]},
    "a Secret in JSON": {
        "kind": "ConfigMap",
        "data": {"x": f'{{"data":{{"x":"{S}"}},"kind":"Secret"}}'},
    },
    "a Secret as text": {"x": f"kind: Secret\ndata:\n  x: {S}"},
}


@pytest.mark.parametrize("value", OBJECTS.values(), ids=OBJECTS)
def test_redact_object(value: object) -> None:
    assert S not in json.dumps(redact_object(value))


def test_redact_object_keeps_references() -> None:
    spec = {
        "credentials": {"user": "bob", "secretName": "db", "passwordKey": "password"},
        "secrets": {"lfsJwtSecret": "a", "giteaAdminSecret": "b"},
        "imagePullSecrets": [{"name": "ngc"}],
        "volumes": [{"secret": {"secretName": "s", "items": [{"key": "a", "path": "b"}]}}],
        "env": [{"name": "X_TOKEN", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
        "args": ["--max-num-batched-tokens", "8192", "-p", "8000", "--tokenizer", "/x"],
    }
    found = redact_object(spec)
    assert found == spec


@pytest.mark.parametrize(
    "text",
    [
        f"  {S}\n  - {S}\nKEPT: x",
        f"2026-01-01T00:00:00Z   {S}\n2026-01-01T00:00:00Z KEPT",
        f"{LINE}\n{LINE}\nKEPT x",
        f"{LINE}\n-----END KEY-----\nKEPT",
    ],
)
def test_redact_rest(text: str) -> None:
    found = redact_rest(text)
    assert "canary" not in found
    assert "KEPT" in found
