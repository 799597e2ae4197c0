# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What a NeMo service is: a Deployment behind a Service, and what distinguishes it from others.

A kind subclasses `NemoApp` and overrides what it has of its own.
"""

from __future__ import annotations

import typing as t
from functools import cached_property

from .._base.types import Fields, Manifest
from .._builders.app import App
from .._builders.autoscaler import choose_replicas
from .._builders.env import EnvVar
from .._builders.expose import Expose, parse_expose
from .._builders.inputs import Input, Missing, missing_input
from .._builders.pod import group_id, image_reference, user_id
from .._engine.metadata import Labels
from .._engine.reads import Read
from .database import Database, url_secret

Items = list[dict[str, t.Any]]

PORT_API = "api"


class Claim(t.NamedTuple):
    """A claim that the spec describes; ``field`` is where."""

    given: Fields
    name: str
    field: str


class NemoApp(App):
    """The context of a pass over a NeMo service."""

    ports: t.ClassVar[t.Mapping[str, int]]
    """The ports of the container, by name; `api` is the first."""

    probes: t.ClassVar[t.Mapping[str, t.Any]]
    """The probe fields of the container."""

    selected_by: t.ClassVar[tuple[str, ...]] = ("app.kubernetes.io/name",)
    """The labels by which the Service finds the pods; each has the name of the resource."""

    url_key: t.ClassVar[str] = ""
    """The key of our Secret with the URL of the database; empty if pods need no URL."""

    @property
    def security_constraint(self) -> str:
        """The OpenShift SCC that its pods need and are granted."""
        return "nonroot"

    # What kinds override

    def env(self) -> list[EnvVar]:
        """The variables of the container, beside the user's."""
        return []

    def init_containers(self) -> Items:
        """The init containers; empty fields are left out."""
        return []

    def volumes(self) -> Items:
        """The volumes of the pod."""
        return []

    def mounts(self) -> Items:
        """Where the container mounts them."""
        return []

    def rules(self) -> list[dict[str, t.Any]]:
        """Rules of the Role, beside the one for the SCC."""
        return []

    def inputs(self) -> list[Input]:
        """The Secrets and ConfigMaps that pods need at their start."""
        return [self.database.input(is_copied=bool(self.url_key))] if self.database else []

    def missing(self) -> Missing | None:
        """What others must make before the Deployment, if any of it does not exist."""
        return missing_input(self, self.inputs())

    def more_reads(self) -> list[Read]:
        """What is read beside children, claim and inputs."""
        return []

    def config_maps(self) -> list[Manifest]:
        """The ConfigMaps that pods read, if nothing is `missing`; `more_reads` reads them."""
        return []

    def secret(self) -> Manifest | None:
        """The Secret with the URL of the database, if pods need it."""
        if not self.url_key or not self.database:
            return None
        return url_secret(self, self.database, self.url_key)

    @property
    def claim(self) -> Claim | None:
        """The claim that must exist before the Deployment."""
        return None

    def pod_security(self) -> dict[str, t.Any]:
        """The security context of the pod."""
        group = group_id(self.fields)
        return {"runAsUser": user_id(self.fields), "runAsGroup": group, "fsGroup": group}

    def rendered(self) -> Labels:
        """Annotation of the pods → hash of what is rendered for them to read at their start."""
        return {}

    # The spec

    @property
    def fields(self) -> Fields:
        """The spec."""
        return t.cast("Fields", self.resource["spec"])

    def block(self, name: str) -> Fields:
        """A block of the spec, empty if it is absent."""
        return self.fields.get(name) or {}

    @cached_property
    def expose(self) -> Expose:
        """`spec.expose`."""
        return parse_expose(self.block("expose"))

    @cached_property
    def database(self) -> Database | None:
        """`spec.databaseConfig`."""
        given = self.fields.get("databaseConfig")
        return Database(given) if given else None

    @property
    def needed_database(self) -> Database:
        """`spec.databaseConfig` of a kind that requires it."""
        return t.cast("Database", self.database)

    @property
    def image(self) -> str:
        """The reference of the image."""
        return image_reference(self.fields["image"])

    @property
    def autoscaler(self) -> Fields | None:
        """`spec.scale.hpa`, None if it is not enabled."""
        scale = self.block("scale")
        return (scale.get("hpa") or {}) if scale.get("enabled") else None

    @property
    def replicas(self) -> int | None:
        """The `spec.replicas` of the Deployment to apply; None to leave the field to others."""
        return choose_replicas(
            self.live("Deployment"), self.fields.get("replicas"), self.autoscaler
        )

    @property
    def is_monitored(self) -> bool:
        """Whether a ServiceMonitor is wanted."""
        return bool(self.block("metrics").get("enabled"))

    def endpoint(self, service: str) -> str:
        """The `endpoint` of another service that the spec names."""
        return str(self.block(service)["endpoint"])

    def like_main(self, name: str, **fields: t.Any) -> dict[str, t.Any]:
        """An init container with the image of the main one."""
        image = self.fields["image"]
        return {
            "name": name,
            "image": self.image,
            "imagePullPolicy": image.get("pullPolicy"),
            **fields,
        }
