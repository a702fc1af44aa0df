"""The package: what an import costs, where the version stands, what gets installed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest
from support import PAGES, ROOT, label

import agentfmt

SAMPLE = ROOT / "tests" / "sample.ndjson"

# What a run imports beside click and msgspec: anything else costs milliseconds at every start.
IMPORTED = {*"agentfmt bisect _bisect fnmatch gc select signal time".split()}
IMPORTED |= {*"locale _locale difflib heapq _heapq".split()}  # of gettext and click's parser


def python(*arguments: str, cwd: Path) -> str:
    """Run an interpreter that finds agentfmt wherever this one did."""
    env = os.environ | {"PYTHONPATH": str(Path(agentfmt.__file__).parent)}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=env, capture_output=True, check=True, text=True
    )
    assert done.stderr == ""
    return done.stdout


# ---------------------------------------------------------------- what is imported


CONVERT = "agentfmt.command.main(['-t', '{}', sys.argv[1]], standalone_mode=False)"


@pytest.mark.parametrize("work", ["", *map(CONVERT.format, ("text", "stream-json"))])
def test_imports_nothing_that_is_slow(work: str, tmp_path: Path) -> None:
    """What click and msgspec import themselves does not count."""
    program = f"""
import sys, click, msgspec
known = set(sys.modules)
import agentfmt
{work}
print(*sorted(set(sys.modules) - known))
"""
    imported = python("-c", program, str(SAMPLE), cwd=tmp_path).splitlines()[-1].split()
    assert "agentfmt" in imported
    assert set(imported) <= IMPORTED


# ---------------------------------------------------------------- the version


@pytest.mark.parametrize(
    "file", ["README.md", "man/agentfmt.1", "man/agentfmt-sidecar.7", "pyproject.toml", ".ci/run"]
)
def test_version_is_in_one_place(file: str) -> None:
    assert agentfmt.__version__ not in (ROOT / file).read_text(encoding="utf-8")


def test_changelog_begins_with_this_version() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## \[(.+?)\]", changes, re.MULTILINE)[0] == agentfmt.__version__


# ---------------------------------------------------------------- one file is enough to try it


def test_inline_metadata_is_that_of_the_package() -> None:
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 cannot read TOML")
    form = r"(?m)^# /// script$\s(?P<content>(^#(| .*)$\s)+)^# ///$"  # as PEP 723 defines it
    (block,) = re.finditer(form, (ROOT / "agentfmt.py").read_text(encoding="utf-8"))
    script = tomllib.loads(re.sub(r"(?m)^# ?", "", block["content"]))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert script == {key: project[key] for key in ("requires-python", "dependencies")}


# ---------------------------------------------------------------- what an installation holds


@pytest.fixture
def installed() -> Distribution:
    try:
        return distribution("agentfmt")
    except PackageNotFoundError:
        if "CI" in os.environ:
            raise
        return pytest.skip("agentfmt is not installed")


def test_tests_see_what_is_installed(installed: Distribution) -> None:
    origin = json.loads(installed.read_text("direct_url.json") or "{}")
    editable = origin.get("dir_info", {}).get("editable", False)
    expected = ROOT / "agentfmt.py" if editable else Path(str(installed.locate_file("agentfmt.py")))
    assert Path(agentfmt.__file__).resolve() == expected.resolve()


def test_installed_version(installed: Distribution) -> None:
    assert installed.version == agentfmt.__version__


def test_installed_command(installed: Distribution) -> None:
    (script,) = (point for point in installed.entry_points if point.group == "console_scripts")
    assert (script.name, script.value) == ("agentfmt", "agentfmt:main")
    command = Path(sysconfig.get_path("scripts")) / "agentfmt"
    done = subprocess.run([command, SAMPLE], capture_output=True, check=True)
    assert label("read") in done.stdout.decode().splitlines()
    assert done.stderr == b""


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_installed_manual_is_where_man_looks(page: Path) -> None:
    folder = Path(sysconfig.get_path("data")) / "share" / "man" / f"man{page.suffix[1:]}"
    assert (folder / page.name).read_bytes() == page.read_bytes()
