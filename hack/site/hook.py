# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The hooks of mkdocs: pages of the reference, links to files of the repository, the navigation."""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path
from typing import Any

import yaml
from mkdocs.structure.files import File, Files
from mkdocs.utils import get_relative_url

sys.path.insert(0, str(Path(__file__).resolve().parent))

from site_links import REPOSITORY, convert_page  # found by the path above
from site_nav import expand_nav
from site_operation import make_operation_pages
from site_reference import make_pages

HERE = Path(__file__).resolve().parent
WORKER = "assets/iframe-worker.js"
"""replaces the script of this name that the plugin `offline` fetches from another host"""
MERMAID = REPOSITORY / "build/mermaid.min.js"
DIAGRAM = '<pre class="mermaid">'
VERSION = "MIKE_DOCS_VERSION"
"""the variable of mike, which deploys a version: only then there is something to select"""
PUBLISHER = REPOSITORY / "release/publisher.yaml"


@functools.cache
def generated() -> dict[str, str]:
    """The pages that only the site has, by path."""
    return make_pages(REPOSITORY) | make_operation_pages(REPOSITORY)


@functools.cache
def read_publisher() -> dict[str, str]:
    """The addresses of the publisher."""
    found: dict[str, str] = yaml.safe_load(PUBLISHER.read_text())
    return found


def repository() -> str:
    """The address of the repository."""
    return read_publisher()["repository"].rstrip("/")


def on_config(config: Any) -> Any:
    """Set the addresses, and the navigation."""
    config.site_url = f"https://{read_publisher()['domain']}/"
    # Not repo_url: for that, the theme requests figures of the repository from its host.
    config.extra["social"] = [{"icon": "material/source-repository", "link": repository()}]
    folder = Path(config.docs_dir)
    pages = {str(path.relative_to(folder)) for path in folder.rglob("*.md")}
    config.extra["polyfills"] = [WORKER]
    if VERSION in os.environ:
        config.extra["version"] = {"provider": "mike", "alias": True, "default": "latest"}
    config.nav = expand_nav(config.nav, pages | generated().keys())
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages."""
    files.append(File.generated(config, WORKER, content=(HERE / "worker.js").read_text()))
    files.append(File.generated(config, f"assets/{MERMAID.name}", abs_src_path=str(MERMAID)))
    for name, text in generated().items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Convert the text of a page from the form of code hosts to that of mkdocs."""
    del config, files
    return convert_page(markdown, page.file.src_uri, repository())


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Load the script for diagrams in the pages that have some, before that of the theme."""
    del config
    if DIAGRAM not in output:
        return output
    address = get_relative_url(f"assets/{MERMAID.name}", page.url)
    return output.replace("</head>", f'<script src="{address}"></script></head>', 1)
