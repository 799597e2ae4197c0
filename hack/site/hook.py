# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The hooks of mkdocs: pages of the reference, links to files of the repository, the navigation."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

import yaml
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).resolve().parent))

from site_links import REPOSITORY, convert_page  # found by the path above
from site_nav import expand_nav
from site_reference import make_pages

PUBLISHER = REPOSITORY / "release/publisher.yaml"


@functools.cache
def generated() -> dict[str, str]:
    """The pages that only the site has, by path."""
    return make_pages(REPOSITORY)


def on_config(config: Any) -> Any:
    """Set the addresses, and the navigation."""
    publisher = yaml.safe_load(PUBLISHER.read_text())
    config.site_url = f"https://{publisher['domain']}/"
    config.repo_url = publisher["repository"]
    config.repo_name = publisher["repository"].partition("://")[2].partition("/")[2]
    folder = Path(config.docs_dir)
    pages = {str(path.relative_to(folder)) for path in folder.rglob("*.md")}
    config.nav = expand_nav(config.nav, pages | generated().keys())
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages."""
    for name, text in generated().items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Convert the text of a page from the form of code hosts to that of mkdocs."""
    del files
    return convert_page(markdown, page.file.src_uri, f"{config.repo_url.rstrip('/')}")
