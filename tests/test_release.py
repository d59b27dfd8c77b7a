"""The version is the same wherever it stands, and what a release is made of can be read by what reads it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import saltus

ROOT = Path(__file__).parent.parent
TRIED = ("plot", "optuna", "progress", "sklearn", "threads")  # with the lowest versions, besides the command
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = {"docs"} | set(  # the site's target may be landed later
    re.findall(
        r"^([a-z-]+):",
        "".join((ROOT / name).read_text(encoding="utf-8") for name in ("Makefile", "release/release.mk")),
        re.MULTILINE,
    )
)


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_version_is_the_same_everywhere() -> None:
    newest = re.search(r"^## (\S+) \((.+)\)", text_of("CHANGELOG.md"), re.MULTILINE)
    assert newest is not None
    citation = yaml.safe_load(text_of("CITATION.cff"))
    assert newest.group(1) == citation["version"] == saltus.__version__
    assert newest.group(2) == str(citation["date-released"])
    assert yaml.safe_load(text_of("release/recipe.yaml"))["context"]["version"] == saltus.__version__


def test_the_recipe_and_the_lowest_versions_are_those_of_the_project() -> None:
    project = tomllib.loads(text_of("pyproject.toml"))["project"]
    recipe = yaml.safe_load(text_of("release/recipe.yaml"))
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["cli"]]
    assert sorted(recipe["requirements"]["run"][1:]) == sorted(word.replace(">=", " >=") for word in wanted)
    lowest = dict(re.findall(r"^([\w-]+)==(\S+)$", text_of("release/lowest.txt"), re.MULTILINE))
    for word in wanted + [word for extra in TRIED for word in extras[extra]]:
        name, version = word.split(">=")
        assert f"{lowest.pop(name)}.".startswith(f"{version}."), name
    assert not lowest, "not in what `make test-lowest` installs"


def test_the_licences_are_those_of_every_extra() -> None:
    extras = tomllib.loads(text_of("pyproject.toml"))["project"]["optional-dependencies"]
    page = text_of("docs/licences.md")
    for extra in extras.keys() - {"docs", "dev"}:
        _, head, listed = page.partition(f"## `saltus[{extra}]`\n")
        assert head, f"{extra}: make licences"
        packages = set(re.findall(r"^\| (\S+) \|", listed.partition("\n## ")[0], re.MULTILINE))
        for word in extras[extra]:
            name = re.split(r"[\[>=]", word)[0]
            assert name in packages | {"saltus"}, f"{extra}, {name}: make licences"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_do_nothing_that_make_cannot_do(path: Path) -> None:
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    for command in commands:
        if command.startswith("make "):
            targets = [word for word in command.split()[1:] if re.fullmatch(r"[a-z-]+", word)]
            assert targets
            assert set(targets) <= TARGETS, command
        else:  # what is needed for it, and a comparison of the tag with the version
            assert command.startswith(("sudo apt-get ", "command -v make ", "test ")), command


def test_the_container_copies_what_it_is_built_of_and_does_not_run_as_root() -> None:
    lines = text_of("release/Containerfile").splitlines()
    copies = [line.split()[1:-1] for line in lines if line.startswith("COPY ") and "--from" not in line]
    copied = {name for names in copies for name in names}
    for name in copied:
        assert (ROOT / name).exists(), name
    files = tomllib.loads(text_of("pyproject.toml"))["tool"]["setuptools"]["data-files"]
    assert {name.split("/")[0] for names in files.values() for name in names} <= copied
    assert "USER saltus" in lines
