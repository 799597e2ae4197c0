# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Names that suggest a credential, and values that cannot be one."""

from __future__ import annotations

import re
import typing as t
from functools import lru_cache

from .confusables import fold

MARK = "(redacted)"

HINTS = (
    r"pass|secret|cred|token|key|auth|bearer|jwt|pat|psk|pwd?|sig|cookie|dockerc|otp|hmac|sas"
    r"|[cx]srf|session|mnemonic|salt|sid|kennwort|contrase|senha"
)
"""Every sensitive name contains one of these: a cheap filter for `is_sensitive_name`."""

REFERENCES = frozenset(
    {
        *("authSecret", "pullSecret", "pullSecrets", "imagePullSecret", "imagePullSecrets"),
        *("secretName", "tlsSecretName", "hfSecret", "ngcAPISecret", "lfsJwtSecret"),
        *("apiKeySecret", "apiKeyKey", "passwordKey", "giteaAdminSecret", "secretEnv"),
        *("gmsaCredentialSpecName", "datastoreConfigSecret", "datastoreInitSecret"),
        *("datastoreInlineConfigSecret", "existingSecret", "secretNamespace"),
    }
)
"""Fields that contain the name of a Secret, or of a key in a Secret."""

REFERENCE_FIELDS = REFERENCES | {
    *("name", "key", "optional", "namespace", "kind", "apiVersion", "apiGroup", "defaultMode"),
    *("items", "path", "mode", "user", "expirationSeconds", "audience", "enabled"),
}
"""Fields of a reference to a credential, such as a ``secretKeyRef``."""

_PARTS = (
    *("password", "passwd", "passphrase", "passcode", "secret", "credential", "apikey"),
    *("accesskey", "privatekey", "dockerconfig", "dockercfg", "signature", "cookie", "mnemonic"),
    *("sessionid", "passwort", "kennwort", "contrasena", "contrasenya"),
)
_WORDS = {
    *("auth", "auths", "bearer", "cred", "creds", "csrf", "hmac", "jwt", "otp", "pass", "pat"),
    *("psk", "pw", "pwd", "salt", "sas", "sid", "sig", "xsrf", "passe", "senha"),
}
_COUNTED = ("token", "tokens")
_TEXT_TOKENS = {"bos", "cls", "eos", "mask", "pad", "sep", "stop", "unk"}
"""Words before ``token`` that denote a token of a language model."""

_HEADER_NAME = "authorization"
_KEYS = ("key", "keys")
_KINDS_OF_KEY = {
    *("access", "account", "api", "auth", "client", "encryption", "host", "license", "master"),
    *("ngc", "nvidia", "private", "rsa", "service", "session", "shared", "signing", "ssh", "tls"),
    *("app", "application", "deploy", "subscription", "symmetric", "storage"),
    *("admin", "certificate", "decryption", "preshared", "root", "wrapping"),
}
_OF_A_KEY = {"base64", "b64", "content", "contents", "data", "id", "material", "pem", "raw"}
_HARMLESS_ENDS = {"error", "exception", "stdin"}
_NOT_PASS = {"bypass", "compass", "surpass", "trespass"}
_PASSWORD = re.compile(r"(?i)pass|pwd|psk")

_NOTHING = {"", "true", "false", "null", "none", "nil", "~", "{}", "[]", "|", ">", "|-", ">-"}
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_FOLDER = re.compile(
    r"(?:/(?:app|config|data|etc|home|mnt|model-store|models|opt|root|run|secrets|tmp|usr|var"
    r"|workspace)/|\./|\.\./|~/)[\w./-]{1,200}"
)
_PATH = re.compile(r"(?:/|\./|\.\./|~/)[\w./@-]{1,200}")
_PATH_WORDS = {"dir", "directory", "file", "filename", "files", "folder", "mount", "path", "paths"}
_RECOGNIZABLE = re.compile(r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])(?!\w+://|[./~$@])\S+")
_OBJECT_NAME = re.compile(
    r"(?![0-9a-f]{8}-[0-9a-f]{4}-)[a-z][a-z0-9]{0,40}(?:[-./:_][a-z0-9]{1,40})+"
    r"|\d+(?:\.\d+)*[A-Za-z]{0,3}|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"
)
"""Harmless values: names of objects, hosts, images and variables, and quantities."""

_VARIABLE = re.compile(r"\$\([A-Z_][A-Z0-9_]*\)|\$\{[A-Z_][A-Z0-9_]*\}")


@lru_cache(maxsize=4096)
def is_sensitive_name(name: str) -> bool:
    """Whether a name suggests a credential."""
    return bool(_sensitive_words(name))


@lru_cache(maxsize=4096)
def may_hide(name: str) -> bool:
    """Whether the name suggests a credential rather than the name of a Secret."""
    return name not in REFERENCES and is_sensitive_name(name) and not _is_name_of_secret(name)


def is_password(name: str) -> bool:
    """Whether the name suggests a credential that may contain spaces."""
    return bool(_PASSWORD.search(name))


def is_harmless(name: str, value: t.Any) -> bool:
    """Whether a value cannot be a secret: a boolean, a token count, a path, a variable."""
    text = str(value)
    if len(text) > 4096:
        return False
    text = text.strip().strip("\\\"'`,;").strip()
    if text.lower() in _NOTHING or not re.search(r"\w", text.replace(MARK, "")):
        return True
    if _FOLDER.fullmatch(text) or _VARIABLE.fullmatch(text):
        return True
    words = split_words(name)
    if words and words[-1] in _PATH_WORDS:
        return bool(_PATH.fullmatch(text))
    return bool(_NUMBER.fullmatch(text)) and _is_count(words, text)


def is_recognizable(name: str, value: str) -> bool:
    """Whether a credential is long and distinctive enough to hide wherever it appears.

    An unrelated word, such as ``kubernetes`` from an ``AUTH_TYPE``, must stay in logs.
    """
    text = value.strip()
    if not 8 <= len(text) <= 4096 or is_harmless(name, text) or MARK in text:
        return False
    return bool(_RECOGNIZABLE.fullmatch(text)) and not _OBJECT_NAME.fullmatch(text)


def is_reference(value: t.Any) -> bool:
    """Whether a block, or a list of blocks, only refers to a credential."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(item, dict) and is_reference(item) for item in value)
    return isinstance(value, dict) and all(
        key in REFERENCE_FIELDS and (not isinstance(item, (dict, list)) or is_reference(item))
        for key, item in value.items()
    )


def split_words(name: str) -> list[str]:
    """The words of a name, in lower case."""
    return [word.lower() for word in _WORD.findall(fold(name))]


def _is_count(words: list[str], number: str) -> bool:
    if not all(word.endswith(_COUNTED) for word in _suspicious(words)):
        return False
    return any(word.endswith("tokens") for word in words) or len(number) <= 5


def _is_name_of_secret(name: str) -> bool:
    return split_words(name)[-2:] in (["secret", "name"], ["secret", "ref"], ["key", "ref"])


def _sensitive_words(name: str) -> list[str]:
    words = split_words(name)
    if words and words[-1] in _HARMLESS_ENDS:
        return []
    found = _suspicious(words)
    if words and words[-1] == _HEADER_NAME:  # but not rbac.authorization.k8s.io
        found.append(words[-1])
    return found + _find_keys(name, words)


def _suspicious(words: list[str]) -> list[str]:
    found = [word for word in words if word in _WORDS or any(part in word for part in _PARTS)]
    found += [
        word
        for word in words
        if word.endswith(("auth", "pass", "pw", "pwd")) and word not in _NOT_PASS | _WORDS
    ]
    for before, word in zip(["", *words], words, strict=False):
        if word.endswith(_COUNTED) and before not in _TEXT_TOKENS:
            found.append(word)
    return found


def _find_keys(name: str, words: list[str]) -> list[str]:
    """Words such as ``key`` after a word that makes them a credential."""
    is_loud = name == name.upper()
    last = len(words) - 1
    while last > 0 and words[last] in _OF_A_KEY:
        last -= 1
    if last < 0 or not words[last].endswith(_KEYS):
        return []
    kind = words[last].removesuffix("s").removesuffix("key")
    if kind:
        return [words[last]] if kind in _KINDS_OF_KEY else []
    is_one = last > 0 and (is_loud or words[last - 1] in _KINDS_OF_KEY)
    return [words[last]] if is_one else []
