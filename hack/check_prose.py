# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Check the prose of documents, comments and docstrings with vale.

`python hack/check_prose.py [FILE…]` checks the given files, by default all that git tracks, and
builds vale the first time. The rules are in hack/vale/styles. Each must first reject its example in
each type of file, so that a setting that vale ignores is an error.

Exit code 1: there are findings, one per line.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# A comment or text of each type of file.
FORMS = {
    ".md": "{}\n\n",
    ".py": "# {}\n\n",
    ".go": "// {}\n\n",
    ".yml": "# {}\n\n",
}
# A sentence that each rule rejects.
REJECTED = {
    "Speech": "The policy is told of a node.",
    "People": "Nothing changes until somebody edits it.",
    "Look": "The operator looks at the node.",
    "Translated": "The upgrade goes on.",
    "Compare": "The blob has another size than its manifest.",
    "Negation": "The path is no folder.",
    "Will": "The server wants a token.",
}
HEADS = {
    ".py": '"""' + 'Of a node: its name."""\n',
    ".go": "// Of a node that is ready.\n",
    ".yml": "# Those of a node.\n",
}


def build_vale() -> Path:
    """Return the program. Raises CalledProcessError if the build fails; stderr has the reason."""
    command = [sys.executable, str(ROOT / "sandbox"), "build", "vale"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Path(done.stdout.split()[-1])


def run_vale(vale: Path, files: list[str], folder: Path = ROOT) -> list[str]:
    """Return the findings, such as `file:line:column:rule:message`."""
    command = [str(vale), f"--config={ROOT / '.vale.ini'}", "--output=line", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode > 1 or (done.returncode and not done.stdout):
        raise SystemExit(f"vale failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout.splitlines()


def find_silent_rules(vale: Path) -> list[str]:
    """Return the rules that do not reject their example, with the type of file."""
    expected = set()
    with tempfile.TemporaryDirectory() as folder:
        for suffix, form in FORMS.items():
            text = HEADS.get(suffix, "") + "".join(map(form.format, REJECTED.values()))
            Path(folder, f"example{suffix}").write_text(text)
            rules = [*REJECTED, *(["Head"] if suffix in HEADS else [])]
            expected |= {(f"example{suffix}", f"Nimops.{rule}") for rule in rules}
        files = sorted(path.name for path in Path(folder).iterdir())
        found = {
            (finding.split(":")[0], finding.split(":")[3])
            for finding in run_vale(vale, files, Path(folder))
        }
    return [f"{rule} in {name}" for name, rule in sorted(expected - found)]


def list_files() -> list[str]:
    """Return the tracked files that have prose."""
    patterns = [f"*{suffix}" for suffix in FORMS]
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", *patterns]
    listed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    names = [name for name in listed.split("\0") if (ROOT / name).is_file()]
    return [name for name in names if not name.startswith("hack/vale/")]


def main(files: list[str]) -> int:
    """Print the findings of these files; return the exit code."""
    vale = build_vale()
    if silent := find_silent_rules(vale):
        raise SystemExit(f"vale does not apply {', '.join(silent)}")
    findings = run_vale(vale, files or list_files())
    print("\n".join(findings), end="\n" if findings else "")
    return 1 if findings else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
