# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Check the prose of documents, comments, docstrings and messages with vale.

`python hack/check_prose.py [FILE…]` checks the given files, by default all that git tracks, and
builds vale the first time. The rules are in hack/vale/styles. Each must first reject its example in
each type of file, so that a setting that vale ignores is an error. Messages are the strings of the
plugins and packages with at least three words, which vale does not read in Python.

Exit code 1: there are findings, one per line.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
from collections.abc import Iterator
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
# The Python code whose strings are messages for users.
MESSAGES = ("plugins/*.py", "packages/*/src/*.py")
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


def extract_messages(code: str) -> str:
    """Return the strings of Python code with at least three words, on the same lines."""
    lines = [""] * (code.count("\n") + 1)
    for number, text in _strings(ast.parse(code)):
        if text.count(" ") > 1 and "\n" not in text:
            lines[number - 1] += f"{text} "
    return "\n".join(lines)


def _strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each string but docstrings; X stands for values."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        elif isinstance(node, ast.JoinedStr):
            parts = (item.value if isinstance(item, ast.Constant) else "X" for item in node.values)
            yield node.lineno, "".join(map(str, parts))
        else:
            yield from _strings(node)


def check_messages(vale: Path, files: list[str]) -> list[str]:
    """Return the findings in the messages of these Python files."""
    with tempfile.TemporaryDirectory() as folder:
        for name in files:
            target = Path(folder, f"{name}.txt")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(extract_messages((ROOT / name).read_text()))
        found = run_vale(vale, ["."], Path(folder)) if files else []
    return [finding.replace(".py.txt:", ".py:", 1) for finding in found]


def find_silent_rules(vale: Path) -> list[str]:
    """Return the rules that do not reject their example, with the type of file."""
    expected = set()
    with tempfile.TemporaryDirectory() as folder:
        for suffix, form in FORMS.items():
            text = HEADS.get(suffix, "") + "".join(map(form.format, REJECTED.values()))
            Path(folder, f"example{suffix}").write_text(text)
            rules = [*REJECTED, *(["Head"] if suffix in HEADS else [])]
            expected |= {(f"example{suffix}", f"Nimops.{rule}") for rule in rules}
        code = "".join(f"raise Error(f{text!r})\n" for text in REJECTED.values())
        Path(folder, "messages.txt").write_text(extract_messages(code))
        expected |= {("messages.txt", f"Nimops.{rule}") for rule in REJECTED}
        files = sorted(path.name for path in Path(folder).iterdir())
        found = {
            (finding.split(":")[0], finding.split(":")[3])
            for finding in run_vale(vale, files, Path(folder))
        }
    return [f"{rule} in {name}" for name, rule in sorted(expected - found)]


def list_files(patterns: list[str]) -> list[str]:
    """Return the tracked files of these patterns, without the rules themselves."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", *patterns]
    listed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    names = [name for name in listed.split("\0") if (ROOT / name).is_file()]
    return [name for name in names if not name.startswith("hack/vale/")]


def main(files: list[str]) -> int:
    """Print the findings of these files; return the exit code."""
    vale = build_vale()
    if silent := find_silent_rules(vale):
        raise SystemExit(f"vale does not apply {', '.join(silent)}")
    findings = run_vale(vale, files or list_files([f"*{suffix}" for suffix in FORMS]))
    messages = list_files(list(MESSAGES))
    findings += check_messages(vale, [name for name in messages if not files or name in files])
    print("\n".join(findings), end="\n" if findings else "")
    return 1 if findings else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
