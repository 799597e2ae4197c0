# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""A release: all artifacts of one version, built in a copy of the committed tree."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from . import bundle, gate, one_namespace, wheel
from .archives import checksums, find_files, pack, repack_collection
from .chart import NAME, Chart
from .compatibility import check_definitions
from .epoch import read_epoch
from .errors import SetupError
from .image import write_image
from .images import images_text
from .manifests import MANAGER, NAMESPACE, Manifest, Notify, Project, of_kind, to_yaml_stream
from .programs import run
from .provenance import write_provenance

CHANGELOG = "CHANGELOG.rst"
DASHBOARDS = "dashboards.tgz"
UPGRADE = {
    "breaking_changes": "Breaking changes",
    "deprecated_features": "Deprecated",
    "removed_features": "Removed",
    "known_issues": "Known issues",
}
"""sections of the changelog that matter for an upgrade"""
POLICIES = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")


def write_files(files: dict[str, str], folder: Path) -> None:
    """Write files into a folder, and remove all other files."""
    if folder.exists():
        shutil.rmtree(folder)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def write_install(project: Project, output: Path) -> None:
    """Write install.yaml: all of config/default in one file."""
    text = to_yaml_stream(project.build("default"))
    head = f"# nimops.nim {project.version}: kubectl apply --server-side -f install.yaml\n"
    (output / "install.yaml").write_text(head + text)


def write_admission(project: Project, output: Path) -> None:
    """Write admission.yaml: the policies of config/default, which OLM cannot install."""
    items = [_name_account(item) for item in of_kind(project.build("default"), *POLICIES)]
    command = f"sed 's/namespace: {NAMESPACE}/namespace: OTHER/' admission.yaml"
    head = (
        f"# The policies of nimops.nim {project.version}, for {NAMESPACE}. Elsewhere:\n"
        f"# {command} | kubectl apply --server-side -f -\n"
    )
    (output / "admission.yaml").write_text(head + to_yaml_stream(items))


def _name_account(item: Manifest) -> Manifest:
    """Let the policy on the operator's account name it: OLM creates it without our label."""
    given = item["spec"].get("paramRef")
    if not given:
        return item
    named = {key: value for key, value in given.items() if key != "selector"} | {"name": MANAGER}
    return {**item, "spec": {**item["spec"], "paramRef": named}}


def write_one_namespace(project: Project, output: Path) -> None:
    """Write cluster.yaml, for an administrator, and namespaced.yaml, for one namespace."""
    items = project.build("overlays/namespaced")
    head = f"# nimops.nim {project.version}, once, by an administrator: docs/operate/rbac.md\n"
    text = to_yaml_stream(one_namespace.cluster_objects(items))
    (output / "cluster.yaml").write_text(head + text)
    place = one_namespace.PLACE
    head = (
        f"# nimops.nim {project.version} in the namespace {place}, after cluster.yaml. Elsewhere:\n"
        f"# sed 's/namespace: {place}$/namespace: OTHER/; s/value: {place}$/value: OTHER/'"
        " namespaced.yaml | kubectl apply -f -\n"
    )
    text = to_yaml_stream(one_namespace.namespaced_objects(items))
    (output / "namespaced.yaml").write_text(head + text)


def write_monitoring(project: Project, output: Path) -> None:
    """Write monitoring.yaml: ServiceMonitor, rules, dashboards; and dashboards.tgz."""
    items = [*project.build("prometheus"), *project.build("monitoring")]
    head = f"# nimops.nim {project.version}: kubectl apply --server-side -f monitoring.yaml\n"
    (output / "monitoring.yaml").write_text(head + to_yaml_stream(items))
    folder = project.root / "config/monitoring/dashboards"
    files = {name: path.read_bytes() for name, path in find_files(folder).items()}
    (output / DASHBOARDS).write_bytes(pack(files, read_epoch(project.root)))


def write_chart(project: Project, output: Path) -> None:
    """Write the Helm chart, as a folder that Helm can install from."""
    write_files(Chart(project).files(), output / "chart" / NAME)


def pack_chart(project: Project, output: Path) -> None:
    """Write the chart as an archive."""
    files = {f"{NAME}/{name}": text.encode() for name, text in Chart(project).files().items()}
    packed = pack(files, read_epoch(project.root), (f"{NAME}/Chart.yaml",))
    (output / f"{NAME}-{project.version}.tgz").write_bytes(packed)


def write_bundle(project: Project, output: Path) -> None:
    """Write the bundle, and a catalog that offers it."""
    folder = output / "bundle"
    write_files(bundle.bundle_files(project), folder)
    catalog = {"catalog.yaml": bundle.catalog_text(project, folder)}
    write_files(catalog, output / "catalog" / bundle.PACKAGE)


def write_images(project: Project, output: Path) -> None:
    """Write the list of images, for mirrors."""
    (output / "images.txt").write_text(images_text(project))


def write_collection(project: Project, output: Path) -> None:
    """Write the collection in Galaxy's format."""
    name, content = build_collection(project)
    (output / name).write_bytes(content)


def write_wheel(project: Project, output: Path) -> None:
    """Write the wheel of kubectl-nim, which contains the collection."""
    _name, content = build_collection(project)
    output.mkdir(parents=True, exist_ok=True)
    wheel.write_wheel(project, output, content, read_epoch(project.root))


def build_collection(project: Project) -> tuple[str, bytes]:
    """Return the name of the collection's tarball, and its content."""
    made = project.root / "build"
    command = ["ansible-galaxy", "collection", "build", "--force", "--output-path", str(made)]
    run(command, project.root)
    [tarball] = made.glob("nimops-nim-*.tar.gz")
    return tarball.name, repack_collection(tarball.read_bytes(), read_epoch(project.root))


def write_notes(project: Project, output: Path) -> None:
    """Write the changelog and the upgrade notes."""
    shutil.copyfile(project.root / CHANGELOG, output / CHANGELOG)
    log = yaml.safe_load((project.root / "changelogs/changelog.yaml").read_text())
    changes = log["releases"][project.version]["changes"]
    (output / "UPGRADE.md").write_text(upgrade_notes(project.version, changes))


def upgrade_notes(version: str, changes: dict[str, Any]) -> str:
    """Return the upgrade notes, from the relevant sections of the changelog."""
    text = f"# Upgrade to nimops.nim {version}\n\n"
    text += "Models do not restart. Instructions: docs/operate/install.md#upgrade.\n"
    for section, title in UPGRADE.items():
        if entries := changes.get(section):
            text += f"\n## {title}\n\n" + "".join(f"- {entry}\n" for entry in entries)
    return text


MAKERS: tuple[Callable[[Project, Path], None], ...] = (
    write_install,
    write_admission,
    write_one_namespace,
    write_monitoring,
    pack_chart,
    write_bundle,
    write_images,
    write_collection,
    write_wheel,
    write_notes,
)
"""the writers of all parts of dist/ except the image; add new parts here"""


def check_release(root: Path, with_image: bool, notify: Notify) -> None:
    """Raise SetupError unless a release of this checkout can be published: see `gate`."""
    gate.check(root, os.environ.get("BASE") or "", with_image, notify)


def make_release(root: Path, version: str, output: Path, with_image: bool, notify: Notify) -> None:
    """Build all artifacts of this version from the last commit; the checkout is not changed."""
    check_release(root, with_image, notify)
    # Ansible locates a collection by its path.
    copy = root / "build/release/ansible_collections/nimops/nim"
    copy_committed(root, copy)
    script = [sys.executable, str(copy / "hack/generate_version.py"), "--set", version]
    run(script, copy)
    notify(check_definitions(Project(root), None))
    write_changelog(copy, version, read_epoch(root))
    if output.exists():
        shutil.rmtree(output)
    command = [sys.executable, str(copy / "release"), "--output", str(output), "all"]
    run([*command, *([] if with_image else ["--without-image"])], copy)
    notify(f"{output}: {len(find_files(output))} files of {version}")


def make_all(project: Project, output: Path, with_image: bool, notify: Notify) -> None:
    """Build all parts from this tree."""
    for make in MAKERS:
        notify((make.__doc__ or "").partition("\n")[0].removesuffix("."))
        make(project, output)
    image = None
    if with_image:
        notify("Build the image")
        image = write_image(project, read_epoch(project.root), output, notify)
    else:
        notify("skipping the image, its SBOM and licenses")
    write_provenance(project, output, image)
    (output / "SHA256SUMS").write_text(checksums(output))


def copy_committed(root: Path, copy: Path) -> None:
    """Replace a folder with the tree of the last commit."""
    if copy.exists():
        shutil.rmtree(copy)
    copy.mkdir(parents=True)
    command = ["git", "-C", str(root), "archive", "--format=tar", "HEAD"]
    done = subprocess.run(command, capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        # Extraction filters require Python 3.11.4; the archive comes from git.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(copy)


def write_changelog(copy: Path, version: str, epoch: int) -> None:
    """Compile the fragments into the changelog of this version."""
    if shutil.which("antsibull-changelog") is None:
        raise SetupError("antsibull-changelog is not on PATH: make release installs it")
    day = time.strftime("%Y-%m-%d", time.gmtime(epoch))
    home = {"ANSIBLE_COLLECTIONS_PATH": str(copy.parents[2])}
    run(["antsibull-changelog", "release", "--version", version, "--date", day], copy, home)
