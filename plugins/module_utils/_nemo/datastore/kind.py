# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""NemoDatastore: stores data sets and models, in Git repositories with large files."""

from __future__ import annotations

import typing as t

from ..._builders.env import EnvVar, env, secret_env
from ..._builders.inputs import Input
from ..._builders.pod import without_empty
from ..._engine.kind import Access
from ..app import Claim, Items, NemoApp
from ..kind import nemo_kind
from ..probes import probe, startup

_GROUP = 1000
_SCRIPT_MODE, _FILE_MODE = 110, 420
"""Permission bits of mounted Secrets, as decimal numbers: 0156 and 0644."""

_ADMIN_KEYS = ("GITEA_ADMIN_USERNAME", "GITEA_ADMIN_PASSWORD")
_JWT_KEY = "jwtSecret"
_SCRIPTS = {
    "datastoreInitSecret": ("init_directory_structure.sh", "configure_gitea.sh"),
    "datastoreConfigSecret": ("config_environment.sh",),
    "datastoreInlineConfigSecret": (),
}
"""Secret → the files that it must have"""


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

    def pod_security(self) -> dict[str, t.Any]:
        """The image has a user of its own."""
        given = self.fields.get("groupID")
        return {"fsGroup": _GROUP if given is None else given}

    @property
    def claim(self) -> Claim | None:
        """The claim for the repositories."""
        given = self.fields.get("pvc")
        if given is None:
            return None
        return Claim(given, given.get("name") or f"{self.name}-pvc", "spec.pvc")

    def inputs(self) -> list[Input]:
        """The Secrets with passwords and scripts."""
        needed = {
            "giteaAdminSecret": _ADMIN_KEYS,
            "lfsJwtSecret": (_JWT_KEY,),
            **_SCRIPTS,
        }
        found = [
            Input("Secret", self._secret(name), f"spec.secrets.{name}", keys)
            for name, keys in needed.items()
        ]
        if store := self._object_store:
            given = store["credentials"]
            field = "spec.objectStoreConfig.credentials"
            found.append(Input("Secret", given["secretName"], field, (given["passwordKey"],)))
        return [*super().inputs(), *found]

    def env(self) -> list[EnvVar]:
        """The variables of the container."""
        ports = env(SSH_LISTEN_PORT="2222", SSH_PORT="22")
        return [*ports, *self._common_env(), *self._object_store_keys()]

    def init_containers(self) -> Items:
        """Make the folders, the configuration, and the first user."""
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
        """The scripts, and the data."""
        claim = self.claim
        data = {"persistentVolumeClaim": {"claimName": claim.name}} if claim else {"emptyDir": {}}
        return [
            self._secret_volume("init", "datastoreInitSecret", _SCRIPT_MODE),
            self._secret_volume("config", "datastoreConfigSecret", _SCRIPT_MODE),
            self._secret_volume("inline-config-sources", "datastoreInlineConfigSecret", _FILE_MODE),
            {"name": "temp", "emptyDir": {}},
            {"name": "data", **data},
        ]

    def mounts(self) -> Items:
        """The data, and a place for temporary files."""
        return [{"name": "temp", "mountPath": "/tmp"}, self._data_mount()]

    @property
    def _object_store(self) -> t.Mapping[str, t.Any]:
        return self.block("objectStoreConfig")

    def _secret(self, name: str) -> str:
        return str(self.fields["secrets"][name])

    def _secret_volume(self, name: str, secret: str, mode: int) -> dict[str, t.Any]:
        source = {"secretName": self._secret(secret), "defaultMode": mode}
        return {"name": name, "secret": source}

    def _data_mount(self) -> dict[str, t.Any]:
        sub_path = self.block("pvc").get("subPath")
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
            secret_env("GITEA__SERVER__LFS_JWT_SECRET", self._secret("lfsJwtSecret"), _JWT_KEY),
            self.needed_database.password_env("GITEA__DATABASE__PASSWD"),
        ]

    def _init_env(self) -> list[EnvVar]:
        database = self.needed_database
        return [
            *self._common_env(),
            *(secret_env(key, self._secret("giteaAdminSecret")) for key in _ADMIN_KEYS),
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
        store = self._object_store
        if not store:
            return []
        return env(
            GITEA__LFS__SERVE_DIRECT=_flag(store.get("serveDirect", True)),
            GITEA__LFS__STORAGE_TYPE="minio",
            GITEA__LFS__MINIO_ENDPOINT=store["endpoint"],
            GITEA__LFS__MINIO_BUCKET=store["bucketName"],
            GITEA__LFS__MINIO_LOCATION=store["region"],
            GITEA__LFS__MINIO_USE_SSL=_flag(store["ssl"]),
        )

    def _object_store_keys(self) -> list[EnvVar]:
        store = self._object_store
        if not store:
            return []
        given = store["credentials"]
        return [
            *env(GITEA__LFS__MINIO_ACCESS_KEY_ID=given["user"]),
            secret_env(
                "GITEA__LFS__MINIO_SECRET_ACCESS_KEY", given["secretName"], given["passwordKey"]
            ),
        ]


def _flag(value: bool) -> str:
    return "true" if value else "false"


KIND = nemo_kind(
    DatastoreApp,
    "NemoDatastore",
    access=(Access("PersistentVolumeClaim", "read write", "the repositories"),),
)
