# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest

Json = dict[str, t.Any]

COMMON = [
    "GITEA_APP_INI=/data/gitea/conf/app.ini",
    "GITEA_CUSTOM=/data/gitea",
    "GITEA_WORK_DIR=/data",
    "TMPDIR=/tmp/gitea",
    "GITEA_TEMP=/tmp/gitea",
    "HOME=/data/gitea/git",
    "GITEA__SERVER__LFS_JWT_SECRET<lfsjwt/jwtSecret",
    "GITEA__DATABASE__PASSWD<pg/password",
]
SSH = ["SSH_LISTEN_PORT=2222", "SSH_PORT=22"]
INIT = [
    *COMMON,
    "GITEA_ADMIN_USERNAME<giteaadmin/GITEA_ADMIN_USERNAME",
    "GITEA_ADMIN_PASSWORD<giteaadmin/GITEA_ADMIN_PASSWORD",
    "GITEA__DATABASE__SSL_MODE=disable",
    "GITEA__DATABASE__NAME=db",
    "GITEA__DATABASE__HOST=pg.ns.svc:5432",
    "GITEA__DATABASE__USER=me",
]
KEYS = ["GITEA__LFS__MINIO_ACCESS_KEY_ID=admin", "GITEA__LFS__MINIO_SECRET_ACCESS_KEY<minio/pw"]
STORE = {
    "endpoint": "minio:9000",
    "bucketName": "lfs",
    "region": "here",
    "ssl": True,
    "credentials": {"user": "admin", "secretName": "minio", "passwordKey": "pw"},
}
STORE_ROWS = [
    "GITEA__LFS__SERVE_DIRECT=true",
    "GITEA__LFS__STORAGE_TYPE=minio",
    "GITEA__LFS__MINIO_ENDPOINT=minio:9000",
    "GITEA__LFS__MINIO_BUCKET=lfs",
    "GITEA__LFS__MINIO_LOCATION=here",
    "GITEA__LFS__MINIO_USE_SSL=true",
]


@pytest.mark.parametrize(
    ("spec", "init", "main"),
    [
        pytest.param({}, [], [], id="none"),
        pytest.param({"objectStoreConfig": STORE}, [*STORE_ROWS, *KEYS], KEYS, id="object store"),
        pytest.param(
            {"objectStoreConfig": STORE | {"serveDirect": False, "ssl": False}},
            [
                "GITEA__LFS__SERVE_DIRECT=false",
                *STORE_ROWS[1:-1],
                "GITEA__LFS__MINIO_USE_SSL=false",
                *KEYS,
            ],
            KEYS,
            id="explicit false counts",
        ),
    ],
)
def test_env(nemo: t.Any, spec: Json, init: list[str], main: list[str]) -> None:
    pod = nemo.pod("NemoDatastore", spec)
    assert nemo.rows(pod["containers"][0]["env"]) == [*SSH, *COMMON, *main]
    for container in pod["initContainers"]:
        assert nemo.rows(container["env"]) == [*INIT, *init]


@pytest.mark.parametrize("host", ["fd00::1", "[fd00::1]"])
def test_env_ipv6_database(nemo: t.Any, host: str) -> None:
    spec = {"databaseConfig": nemo.database | {"host": host, "port": 1}}
    rows = nemo.rows(nemo.pod("NemoDatastore", spec)["initContainers"][0]["env"])
    assert "GITEA__DATABASE__HOST=[fd00::1]:1" in rows


def test_init_containers(nemo: t.Any) -> None:
    image = {"repository": "r", "tag": "1", "pullPolicy": "Always"}
    found = nemo.pod("NemoDatastore", {"image": image})["initContainers"]
    assert [(item["name"], item["command"], item.get("args")) for item in found] == [
        ("init-directories", ["/usr/sbin/init/init_directory_structure.sh"], None),
        ("init-app-ini", ["/usr/sbin/config_environment.sh"], None),
        ("configure-datastore", ["/bin/sh", "-c"], ["/usr/sbin/init/configure_gitea.sh"]),
    ]
    assert {(item["image"], item["imagePullPolicy"]) for item in found} == {("r:1", "Always")}


@pytest.mark.parametrize(
    ("pvc", "data", "sub_path"),
    [
        pytest.param(None, {"emptyDir": {}}, {}, id="none"),
        pytest.param({}, {"persistentVolumeClaim": {"claimName": "x-pvc"}}, {}, id="default name"),
        pytest.param(
            {"name": "c", "subPath": "s"},
            {"persistentVolumeClaim": {"claimName": "c"}},
            {"subPath": "s"},
            id="named",
        ),
    ],
)
def test_volumes_and_mounts(nemo: t.Any, pvc: Json | None, data: Json, sub_path: Json) -> None:
    pod = nemo.pod("NemoDatastore", {"pvc": pvc})
    assert pod["volumes"] == [
        {"name": "init", "secret": {"secretName": "datastoreinit", "defaultMode": 110}},
        {"name": "config", "secret": {"secretName": "datastoreconfig", "defaultMode": 110}},
        {
            "name": "inline-config-sources",
            "secret": {"secretName": "datastoreinlineconfig", "defaultMode": 420},
        },
        {"name": "temp", "emptyDir": {}},
        {"name": "data", **data},
    ]
    mount = {"name": "data", "mountPath": "/data"} | sub_path
    temp = {"name": "temp", "mountPath": "/tmp"}
    assert pod["containers"][0]["volumeMounts"] == [temp, mount]
    for container in pod["initContainers"]:
        assert container["volumeMounts"] == [
            {"name": "config", "mountPath": "/usr/sbin"},
            temp,
            {"name": "inline-config-sources", "mountPath": "/env-to-ini-mounts/inlines/"},
            {"name": "init", "mountPath": "/usr/sbin/init"},
            mount,
        ]


def test_inputs(nemo: t.Any) -> None:
    found = nemo.app("NemoDatastore", {"objectStoreConfig": STORE}).inputs()
    assert {(item.name, item.keys) for item in found} == {
        ("pg", ("password",)),
        ("giteaadmin", ("GITEA_ADMIN_USERNAME", "GITEA_ADMIN_PASSWORD")),
        ("lfsjwt", ("jwtSecret",)),
        ("datastoreinit", ("init_directory_structure.sh", "configure_gitea.sh")),
        ("datastoreconfig", ("config_environment.sh",)),
        ("datastoreinlineconfig", ()),
        ("minio", ("pw",)),
    }
    assert {item.kind for item in found} == {"Secret"}
