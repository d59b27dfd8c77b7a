"""The folder for OptunaHub keeps that registry's rules, loads through its package, and runs.

How its code is to look, `integrations/optunahub/ruff.toml` says, for `make lint`.
"""

from __future__ import annotations

import inspect
import re
import runpy
from pathlib import Path
from typing import Any

import optuna
import pytest
import yaml

from saltus.optuna import SaltusSampler

ROOT = Path(__file__).parents[2]
REGISTRY = ROOT / "integrations" / "optunahub" / "package"
FOLDER = REGISTRY / "samplers" / "saltus"
README = (FOLDER / "README.md").read_text()


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The registry's package, with our folder as the registry."""
    hub = pytest.importorskip("optunahub", reason="needs optunahub: pip install saltus[dev]")
    local = hub.load_local_module
    monkeypatch.setattr(hub, "load_module", lambda package: local(package, registry_root=str(REGISTRY)))
    return hub


def front_matter() -> dict[str, Any]:
    found = re.match(r"---\n(.*?)\n---\n", README, re.DOTALL)
    assert found is not None
    fields: dict[str, Any] = yaml.safe_load(found[1])
    return fields


def section(title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", README, re.DOTALL | re.MULTILINE)
    assert found is not None, title
    return found[1].strip()


def test_the_front_matter_is_complete_and_of_the_right_types() -> None:
    fields = front_matter()
    assert list(fields) == ["author", "title", "description", "tags", "optuna_versions", "license"]
    for name in ("author", "title", "description"):
        assert isinstance(fields[name], str)
        assert fields[name].strip()
    for name in ("tags", "optuna_versions"):
        assert fields[name]
        assert all(isinstance(value, str) for value in fields[name]), name  # 4.0 would be a number
    assert fields["license"] == "MIT License"


def test_the_tags_say_that_it_is_a_sampler() -> None:
    tags = front_matter()["tags"]
    assert "sampler" in tags
    assert len(set(tags)) == len(tags)


def test_the_versions_are_releases_and_the_installed_one_is_among_them() -> None:
    versions = front_matter()["optuna_versions"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in versions)
    assert optuna.__version__ in versions


@pytest.mark.parametrize("title", ["Abstract", "APIs", "Installation", "Example"])
def test_every_section_has_something_to_say(title: str) -> None:
    assert len(section(title)) > 20
    assert "Please fill" not in README


def test_the_page_names_every_argument_with_its_default() -> None:
    text = section("APIs")
    for name, parameter in inspect.signature(SaltusSampler).parameters.items():
        default = repr(parameter.default).replace("'", '"')
        assert f"{name}={default}" in text
        assert f"`{name}`: " in text


def test_the_folder_has_its_files_and_no_others() -> None:
    files = {p.name for p in FOLDER.iterdir() if p.name != "__pycache__"}
    assert files == {"__init__.py", "README.md", "LICENSE", "example.py", "requirements.txt"}
    for name in files:
        (FOLDER / name).read_text(encoding="utf-8")  # the registry takes no binaries


def test_the_licence_is_ours() -> None:
    assert (FOLDER / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_what_it_requires_is_this_package_with_its_extra() -> None:
    assert (FOLDER / "requirements.txt").read_text().split() == ["saltus[optuna]"]


@pytest.mark.usefixtures("quiet")
class TestLoaded:
    @pytest.fixture
    def quiet(self) -> Any:
        before = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        yield
        optuna.logging.set_verbosity(before)

    def test_the_package_gives_the_sampler(self, hub: Any) -> None:
        module = hub.load_module("samplers/saltus")
        assert module.SaltusSampler is SaltusSampler
        assert module.__all__ == ["SaltusSampler"]

    @pytest.mark.usefixtures("hub")
    def test_the_example_runs(self, capsys: pytest.CaptureFixture[str]) -> None:
        runpy.run_path(str(FOLDER / "example.py"), run_name="__main__")
        assert "'layers': 3, 'width': 64, 'bias': True" in capsys.readouterr().out

    @pytest.mark.usefixtures("hub")
    def test_the_example_of_the_page_runs(self, capsys: pytest.CaptureFixture[str]) -> None:
        block = re.search(r"```python\n(.*?)```", section("Example"), re.DOTALL)
        assert block is not None
        exec(compile(block[1], "README", "exec"), {"__name__": "README"})
        assert "'k': 7" in capsys.readouterr().out
