#!/usr/bin/env python3
# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Turn a list of components (stdin) into a valid CycloneDX document (stdout).

Runs on the Python of requirements/release.txt, which includes CycloneDX's library. --check FILE
only validates a document. The output is reproducible: no random IDs, and the time of the image.
"""

from __future__ import annotations

import argparse
import json
import sys
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import License
from cyclonedx.model.tool import ToolRepository
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.spdx import is_supported_id
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

LIBRARY = "cyclonedx-python-lib"


def to_component(entry: dict[str, Any]) -> Component:
    """Return the component of a list entry; its package URL is also its reference."""
    qualifiers = {"arch": entry["arch"]} if entry["arch"] else {}
    number = entry["version"]
    if entry["kind"] == "rpm" and ":" in number:
        qualifiers["epoch"], _colon, number = number.partition(":")
    url = PackageURL(
        entry["kind"], entry["namespace"] or None, entry["name"], number, qualifiers or None
    )
    kind = entry["kind"] == "generic"
    return Component(
        name=entry["full_name"],
        type=ComponentType.APPLICATION if kind else ComponentType.LIBRARY,
        version=entry["version"],
        purl=url,
        bom_ref=url.to_string(),
        licenses=to_licenses(entry["licenses"]),
    )


def to_licenses(names: Sequence[str]) -> list[License]:
    """Return licenses; the schema allows an expression only as the sole entry."""
    factory = LicenseFactory()
    if len(names) == 1:
        return [factory.make_from_string(names[0])]
    return [
        factory.make_with_id(name) if is_supported_id(name) else factory.make_with_name(name)
        for name in names
    ]


def to_document(given: dict[str, Any]) -> str:
    """Return the document of an image."""
    digest = given["digest"].removeprefix("sha256:")
    image = Component(
        name=given["name"],
        type=ComponentType.CONTAINER,
        version=given["version"],
        bom_ref=given["digest"],
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest)],
        licenses=to_licenses(given["licenses"]),
    )
    bom = Bom(
        serial_number=uuid.uuid5(uuid.NAMESPACE_OID, given["digest"]),
        metadata=BomMetaData(
            component=image,
            timestamp=datetime.fromtimestamp(given["epoch"], UTC),
            tools=ToolRepository(components=[Component(name=LIBRARY, version=version(LIBRARY))]),
        ),
        components=[to_component(entry) for entry in given["components"]],
    )
    bom.register_dependency(image, bom.components)
    return str(JsonV1Dot6(bom).output_as_string(indent=1)) + "\n"


def check(text: str, name: str) -> None:
    """Exit with the errors of an invalid document."""
    if error := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        raise SystemExit(f"{name}: is not a valid CycloneDX document: {error}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write or check an SBOM in CycloneDX.")
    parser.add_argument("--check", type=Path, metavar="FILE", help="only validate this document")
    options = parser.parse_args()
    if options.check:
        check(options.check.read_text(), str(options.check))
        return
    text = to_document(json.load(sys.stdin))
    check(text, "the new document")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
