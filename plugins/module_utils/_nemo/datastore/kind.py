# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""NemoDatastore: stores data sets and models in Git repositories with large files."""

from __future__ import annotations

import typing as t
from functools import cached_property

from ..._builders.env import EnvVar, env, secret_env
from ..._builders.ignored_fields import IgnoredField
from ..._builders.inputs import Input
from ..._builders.pod import without_empty
from ..._engine.kind import Access
from ..app import Items, NemoApp
from ..kind import nemo_kind
from ..probes import probe, startup
from .spec import Spec, parse_spec

_SCRIPT_MODE, _FILE_MODE = 110, 420
"""Permission bits of mounted Secrets: octal 0156 and 0644, in decimal."""

_ADMIN_KEYS = ("GITEA_ADMIN_USERNAME", "GITEA_ADMIN_PASSWORD")
_JWT_KEY = "jwtSecret"
_INIT_SCRIPTS = ("init_directory_structure.sh", "configure_gitea.sh")
_CONFIG_SCRIPTS = ("config_environment.sh",)


class DatastoreApp(NemoApp):
    """The context of a pass over a NemoDatastore."""

    part_of = "nemo-datastore-service"
    selected_by = ("app.kubernetes.io/name", "app.kubernetes.io/instance")
    ports: t.ClassVar = {"api": 3000}
    probes: t.ClassVar = {
        "livenessProbe": probe("/v1/health", 15, 3),
        "readinessProbe": probe("/v1/health", 15, 3),
        "startupProbe": startup("/v1/health"),
    }

    ignored_fields = (
        *NemoApp.ignored_fields,
        IgnoredField("userID", why="the image determines the user"),
    )

    @cached_property
    def spec(self) -> Spec:
        """The spec."""
        return parse_spec(self.resource)

    def pod_security(self) -> dict[str, t.Any]:
        """The security context for the user of the image."""
        return {"fsGroup": self.spec.group}

    def inputs(self) -> list[Input]:
        """The Secrets with passwords and scripts."""
        secrets = self.spec.secrets
        needed: list[tuple[str, str, tuple[str, ...]]] = [
            ("giteaAdminSecret", secrets.admin, _ADMIN_KEYS),
            ("lfsJwtSecret", secrets.jwt, (_JWT_KEY,)),
            ("datastoreInitSecret", secrets.init, _INIT_SCRIPTS),
            ("datastoreConfigSecret", secrets.config, _CONFIG_SCRIPTS),
            ("datastoreInlineConfigSecret", secrets.inline_config, ()),
        ]
        found = [
            Input("Secret", name, f"spec.secrets.{field}", keys) for field, name, keys in needed
        ]
        if store := self.spec.object_store:
            password = store.password
            field = "spec.objectStoreConfig.credentials"
            found.append(Input("Secret", password.secret, field, (password.key,)))
        return [*super().inputs(), *found]

    def env(self) -> list[EnvVar]:
        """The variables of the container."""
        ports = env(SSH_LISTEN_PORT="2222", SSH_PORT="22")
        return [*ports, *self._common_env(), *self._object_store_keys()]

    def init_containers(self) -> Items:
        """Init containers that create the folders, the configuration and the first user."""
        scripts: dict[str, dict[str, t.Any]] = {
            "init-directories": {"command": ["/usr/sbin/init/init_directory_structure.sh"]},
            "init-app-ini": {"command": ["/usr/sbin/config_environment.sh"]},
            "configure-datastore": {
                "command": ["/bin/sh", "-c"],
                "args": ["/usr/sbin/init/configure_gitea.sh"],
            },
        }
        common = {"env": self._init_env(), "volumeMounts": self._init_mounts()}
        return [self.like_main(name, **script, **common) for name, script in scripts.items()]

    def volumes(self) -> Items:
        """The volumes with scripts and data."""
        claim, secrets = self.spec.claim, self.spec.secrets
        data = {"persistentVolumeClaim": {"claimName": claim.name}} if claim else {"emptyDir": {}}
        return [
            _secret_volume("init", secrets.init, _SCRIPT_MODE),
            _secret_volume("config", secrets.config, _SCRIPT_MODE),
            _secret_volume("inline-config-sources", secrets.inline_config, _FILE_MODE),
            {"name": "temp", "emptyDir": {}},
            {"name": "data", **data},
        ]

    def mounts(self) -> Items:
        """Mounts of the data and of a folder for temporary files."""
        return [{"name": "temp", "mountPath": "/tmp"}, self._data_mount()]

    def _data_mount(self) -> dict[str, t.Any]:
        sub_path = self.spec.claim.sub_path if self.spec.claim else ""
        return without_empty({"name": "data", "mountPath": "/data", "subPath": sub_path})

    def _init_mounts(self) -> Items:
        return [
            {"name": "config", "mountPath": "/usr/sbin"},
            {"name": "temp", "mountPath": "/tmp"},
            {"name": "inline-config-sources", "mountPath": "/env-to-ini-mounts/inlines/"},
            {"name": "init", "mountPath": "/usr/sbin/init"},
            self._data_mount(),
        ]

    def _common_env(self) -> list[EnvVar]:
        return [
            *env(
                GITEA_APP_INI="/data/gitea/conf/app.ini",
                GITEA_CUSTOM="/data/gitea",
                GITEA_WORK_DIR="/data",
                TMPDIR="/tmp/gitea",
                GITEA_TEMP="/tmp/gitea",
                HOME="/data/gitea/git",
            ),
            secret_env("GITEA__SERVER__LFS_JWT_SECRET", self.spec.secrets.jwt, _JWT_KEY),
            self.spec.database.password_env("GITEA__DATABASE__PASSWD"),
        ]

    def _init_env(self) -> list[EnvVar]:
        database = self.spec.database
        return [
            *self._common_env(),
            *(secret_env(key, self.spec.secrets.admin) for key in _ADMIN_KEYS),
            *env(
                GITEA__DATABASE__SSL_MODE="disable",
                GITEA__DATABASE__NAME=database.name,
                GITEA__DATABASE__HOST=database.address,
                GITEA__DATABASE__USER=database.user,
            ),
            *self._object_store_env(),
            *self._object_store_keys(),
        ]

    def _object_store_env(self) -> list[EnvVar]:
        store = self.spec.object_store
        if not store:
            return []
        return env(
            GITEA__LFS__SERVE_DIRECT=_flag(store.is_direct),
            GITEA__LFS__STORAGE_TYPE="minio",
            GITEA__LFS__MINIO_ENDPOINT=store.endpoint,
            GITEA__LFS__MINIO_BUCKET=store.bucket,
            GITEA__LFS__MINIO_LOCATION=store.region,
            GITEA__LFS__MINIO_USE_SSL=_flag(store.uses_tls),
        )

    def _object_store_keys(self) -> list[EnvVar]:
        store = self.spec.object_store
        if not store:
            return []
        password = store.password
        return [
            *env(GITEA__LFS__MINIO_ACCESS_KEY_ID=store.user),
            secret_env("GITEA__LFS__MINIO_SECRET_ACCESS_KEY", password.secret, password.key),
        ]


def _secret_volume(name: str, secret: str, mode: int) -> dict[str, t.Any]:
    return {"name": name, "secret": {"secretName": secret, "defaultMode": mode}}


def _flag(value: bool) -> str:
    return "true" if value else "false"


KIND = nemo_kind(
    DatastoreApp,
    "NemoDatastore",
    "nemods",
    access=(Access("PersistentVolumeClaim", "read write", "the repositories"),),
)
