# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Packs images and models into a folder, to carry them to a cluster without Internet access."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ..._base.errors import NimError
from ..._base.json_size import show_size
from ..._base.types import Json
from ..._http.image_registry import parse_reference
from ..._http.registry_auth import RegistryError
from ..images.command import ImagesCommand
from .layout import Layout
from .model import check_model_name, pack_model
from .registries import REGISTRY_SPEC, Registries
from .transfer import Meter, pull_image


class BundleCommand(ImagesCommand):
    """Writes a layout; repeated, it completes it."""

    spec = {key: value for key, value in ImagesCommand.spec.items() if key != "output"} | {
        **REGISTRY_SPEC,
        "path": {"type": "path", "required": True},
        "images": {"type": "list", "elements": "str", "default": []},
        "models": {"type": "dict", "default": {}},
    }

    def act(self, arguments: Json) -> Json:
        """Pack everything; a failure of one image does not stop the others."""
        if not arguments["path"]:
            raise NimError("path: missing; name the folder of the bundle")
        images, problems = self._choose(arguments)
        models = {
            check_model_name(name): Path(str(folder)).expanduser()
            for name, folder in (arguments["models"] or {}).items()
        }
        if not images and not models:
            raise NimError("files: missing; name files, or give images or models to pack")
        names = sorted([*images, *models])
        if self.is_dry:
            self.print_message(f"would pack into {arguments['path']}: {', '.join(names)}")
            return {"changed": bool(names), "packed": names}
        registries = Registries(arguments)
        path = Path(str(arguments["path"])).expanduser()
        try:
            layout = Layout.create(path)
            packed = self._pack_models(layout, models)
            packed += self._pack_images(layout, registries, images, problems)
        except OSError as error:
            raise NimError(f"path: {error.filename or path}: {error.strerror}") from error
        result = {"changed": bool(packed), "packed": sorted(packed)}
        if problems:
            return result | {"failed": True, "msg": f"not complete: {'; '.join(problems)}"}
        return result

    def _choose(self, arguments: Json) -> tuple[list[str], list[str]]:
        """The images to pack, and why a resource cannot be served."""
        given, texts = {*(arguments["images"] or ())}, self.find_texts(arguments)
        if not texts:
            return sorted(given), []
        found, problems = self.find_images(texts, arguments)
        return sorted({*given, *found}), problems

    def _pack_models(self, layout: Layout, models: t.Mapping[str, Path]) -> list[str]:
        for name, folder in models.items():
            meter = Meter(name, self.print_message)
            layout.add(name, pack_model(layout, folder, meter.count), is_model=True)
            self.print_message(f"packed {name}: {show_size(meter.done)} from {folder}")
        return [*models]

    def _pack_images(
        self, layout: Layout, registries: Registries, images: list[str], problems: list[str]
    ) -> list[str]:
        packed = []
        for image in images:
            meter = Meter(image, self.print_message)
            try:
                reference = parse_reference(image)
                layout.add(image, pull_image(registries, layout, reference, meter.count))
            except RegistryError as error:
                problems.append(f"{image}: {error}")
                self.print_message(f"failed {image}: {error}")
                continue
            self.print_message(f"packed {image}: {show_size(meter.done)}")
            packed.append(image)
        return packed
