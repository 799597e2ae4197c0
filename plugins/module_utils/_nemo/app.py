# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Base class of the NeMo kinds: a Deployment behind a Service, with hooks for what differs.

Each kind subclasses `NemoApp` and overrides only what differs.
"""

from __future__ import annotations

import typing as t
from functools import cached_property

from .._base.types import Manifest
from .._builders.app import App
from .._builders.env import EnvVar, secret_env
from .._builders.ignored_fields import POD_AFFINITY, IgnoredField
from .._builders.inputs import Input, Missing, missing_inputs
from .._engine.metadata import Labels
from .._engine.reads import Read
from .grants import Grant
from .spec import Spec, shared_fields

Items = list[dict[str, t.Any]]

PORT_API = "api"


class NemoApp(App):
    """The context of a pass over a NeMo service."""

    ports: t.ClassVar[t.Mapping[str, int]]
    """The ports of the container, by name; `api` is the first."""

    probes: t.ClassVar[t.Mapping[str, t.Any]]
    """The probe fields of the container."""

    selected_by: t.ClassVar[tuple[str, ...]] = ("app.kubernetes.io/name",)
    """The labels in the Service's selector; the value of each is the resource's name."""

    url_key: t.ClassVar[str] = ""
    """The key of the database URL in our Secret; empty if pods need no URL."""

    ignored_fields: t.ClassVar[tuple[IgnoredField, ...]] = (
        POD_AFFINITY,
        IgnoredField(
            "expose.service.name",
            "metadata.name",
            "the Service has the name of the resource",
        ),
        IgnoredField("expose.router.eppConfig", why="there is no endpoint picker"),
    )
    """The fields that have no effect."""

    @property
    def security_constraint(self) -> str:
        """The OpenShift SCC that the pods need; the Role grants its use."""
        return "nonroot"

    @cached_property
    def spec(self) -> Spec:
        """The parsed spec; each kind parses all of its fields."""
        return Spec(**shared_fields(self.resource))

    # Hooks that kinds override

    def env(self) -> list[EnvVar]:
        """The variables of the container, without those of `spec.env`."""
        return []

    def init_containers(self) -> Items:
        """The init containers; empty fields are omitted."""
        return []

    def volumes(self) -> Items:
        """The volumes of the pod."""
        return []

    def mounts(self) -> Items:
        """The volume mounts of the container."""
        return []

    def grants(self) -> t.Sequence[Grant]:
        """The permissions in the Role, besides the use of the SCC."""
        return ()

    def inputs(self) -> list[Input]:
        """The Secrets and ConfigMaps that pods need at their start."""
        database = self.spec.database
        return [database.input(is_copied=bool(self.url_key))] if database else []

    def missing(self) -> list[Missing]:
        """The missing inputs that must exist before the Deployment is created."""
        return missing_inputs(self, self.inputs())

    def more_reads(self) -> list[Read]:
        """Reads beyond the children, the claim and the inputs."""
        return []

    def config_maps(self) -> list[Manifest]:
        """The ConfigMaps to create if nothing is `missing`; `more_reads` reads them."""
        return []

    def pod_security(self) -> dict[str, t.Any]:
        """The security context of the pod."""
        user, group = self.spec.user, self.spec.group
        return {"runAsUser": user, "runAsGroup": group, "fsGroup": group}

    def rendered(self) -> Labels:
        """Annotation of the pods → hash of a rendered file that they read at startup."""
        return {}

    # Helpers for kinds

    def secret(self) -> Manifest | None:
        """The Secret with the database URL, or None if pods do not need one."""
        if not self.url_key or not self.spec.database:
            return None
        url = self.spec.database.url.placeholder
        return self.child("Secret", annotations={}, data={self.url_key: url})

    def url_env(self, name: str) -> EnvVar:
        """A variable with the database URL."""
        return secret_env(name, self.name, self.url_key)

    def like_main(self, name: str, **fields: t.Any) -> dict[str, t.Any]:
        """A container with the image of the main container."""
        image = self.spec.image
        return {
            "name": name,
            "image": image.reference,
            "imagePullPolicy": image.pull_policy,
            **fields,
        }
