# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What a NeMo service is: a Deployment behind a Service, and what distinguishes it from others.

A kind subclasses `NemoApp` and overrides what it has of its own.
"""

from __future__ import annotations

import typing as t
from functools import cached_property

from .._base.types import Manifest
from .._builders.app import App
from .._builders.env import EnvVar, secret_env
from .._builders.inputs import Input, Missing, missing_input
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
    """The labels by which the Service finds the pods; each has the name of the resource."""

    url_key: t.ClassVar[str] = ""
    """The key of our Secret with the URL of the database; empty if pods need no URL."""

    @property
    def security_constraint(self) -> str:
        """The OpenShift SCC that its pods need and are granted."""
        return "nonroot"

    @cached_property
    def spec(self) -> Spec:
        """The spec; a kind parses all that it has."""
        return Spec(**shared_fields(self.resource))

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

    def grants(self) -> t.Sequence[Grant]:
        """What the Role grants, beside the use of the SCC."""
        return ()

    def inputs(self) -> list[Input]:
        """The Secrets and ConfigMaps that pods need at their start."""
        database = self.spec.database
        return [database.input(is_copied=bool(self.url_key))] if database else []

    def missing(self) -> Missing | None:
        """What others must make before the Deployment, if any of it does not exist."""
        return missing_input(self, self.inputs())

    def more_reads(self) -> list[Read]:
        """What is read beside children, claim and inputs."""
        return []

    def config_maps(self) -> list[Manifest]:
        """The ConfigMaps that pods read, if nothing is `missing`; `more_reads` reads them."""
        return []

    def pod_security(self) -> dict[str, t.Any]:
        """The security context of the pod."""
        user, group = self.spec.user, self.spec.group
        return {"runAsUser": user, "runAsGroup": group, "fsGroup": group}

    def rendered(self) -> Labels:
        """Annotation of the pods → hash of what is rendered for them to read at their start."""
        return {}

    # What kinds use

    def secret(self) -> Manifest | None:
        """The Secret with the URL of the database, to which pods refer, if they need it."""
        if not self.url_key or not self.spec.database:
            return None
        url = self.spec.database.url.placeholder
        return self.child("Secret", annotations={}, data={self.url_key: url})

    def url_env(self, name: str) -> EnvVar:
        """A variable with the URL of the database."""
        return secret_env(name, self.name, self.url_key)

    def like_main(self, name: str, **fields: t.Any) -> dict[str, t.Any]:
        """A container with the image of the main one."""
        image = self.spec.image
        return {
            "name": name,
            "image": image.reference,
            "imagePullPolicy": image.pull_policy,
            **fields,
        }
