"""The shipped examples run, and give what they promise."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from examples.gallery import NAMES
from saltus.cli import main
from saltus.problems import pressure_vessel
from saltus.study.objective import load_function
from saltus.study.settings import StudyFile

EXAMPLES = Path(__file__).parent.parent / "examples"
STUDIES = sorted(EXAMPLES.glob("*/study.toml"))


Capture = pytest.CaptureFixture[str]


def run(study: Path, folder: Path, capfd: Capture, *options: str) -> Any:
    """Run a study with its record elsewhere, and return what it prints."""
    capfd.readouterr()
    code = main(["run", str(study), "--db", str(folder / "study.db"), "--json", *options])
    done = capfd.readouterr()
    assert code == 0, done.err
    return json.loads(done.out)


def test_every_example_has_a_page_and_a_picture() -> None:
    assert [s.parent.name for s in STUDIES] == ["heat_sink", "lens", "pressure_vessel", "scikit_learn"]
    assert len(NAMES) >= 8
    for name in NAMES:
        assert f"examples.{name}.picture" in (EXAMPLES / name / "README.md").read_text()
        assert (EXAMPLES / name / "picture.png").exists()
    assert {s.parent.name for s in STUDIES} <= set(NAMES)


@pytest.fixture
def study(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A study of the gallery; that of a C program in a copy of its folder, compiled there."""
    path: Path = request.param
    if not (source := path.parent / "heat_sink.c").exists():
        return path
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler here")
    folder = Path(shutil.copytree(path.parent, tmp_path / "copy"))
    subprocess.run(["cc", "-o", folder / "heat_sink", source, "-lm"], check=True)
    return folder / path.name


@pytest.mark.parametrize(
    "study",
    [
        # scikit-learn takes seconds to import in each worker
        pytest.param(path, id=name, marks=pytest.mark.machines if name == "scikit_learn" else [])
        for path in STUDIES
        for name in [path.parent.name]
    ],
    indirect=True,
)
def test_it_runs_with_a_small_budget(study: Path, tmp_path: Path, capfd: Capture) -> None:
    before = sorted(p.name for p in study.parent.iterdir() if p.name != "__pycache__")
    shown = run(study, tmp_path, capfd, "--budget", "8", "--workers", "2")
    assert shown["evaluations"] == 8
    assert not shown["failures"] or study.parent.name == "copy"  # fins that leave no gap
    assert shown["best"]["value"] is not None
    page = tmp_path / "page.html"
    assert main(["report", str(tmp_path / "study.db"), "--out", str(page)]) == 0
    assert str(StudyFile.read(study).study.name) in page.read_text()
    assert sorted(p.name for p in study.parent.iterdir() if p.name != "__pycache__") == before


def test_the_demo_designs_a_sharp_lens(tmp_path: Path, capfd: Capture) -> None:
    """Nearly flat lenses have spots of 155 micrometres and more; 80 evaluations are a part of the demo."""
    shown = run(EXAMPLES / "lens" / "study.toml", tmp_path, capfd, "--budget", "80", "--workers", "2")
    best = shown["best"]
    assert best["violation"] == 0
    assert best["value"] < 40


def lens(*values: str) -> subprocess.CompletedProcess[str]:
    options = [word for value in values for word in ("-v", value)]
    words = ["awk", *options, "-f", str(EXAMPLES / "lens" / "lens.awk")]
    return subprocess.run(words, capture_output=True, text=True)


def test_the_ray_tracer_knows_the_lensmakers_equation() -> None:
    thin = lens("c1=0.01", "c2=-0.01", "t1=0", "crown1=2", "c6=0", "front=true", "fields=0", "show=1")
    assert "d: focal length 96.749 mm" in thin.stdout  # 1 / (0.5168 * 0.02)
    achromat = [
        "c1=0.015924",
        "c2=-0.021882",
        "c3=-0.021882",
        "c4=-0.0078",
        "t1=4",
        "t2=2.5",
        "crown1=2",
        "flint=3",
    ]
    bought = lens(*achromat, "c6=0", "front=true", "fields=0", "show=1")
    assert "d: focal length 100.1" in bought.stdout  # the catalogue's
    broken = lens("c1=0.1", "c2=-0.1", "t1=4", "crown1=2", "c6=0", "front=true")
    assert broken.returncode == 1
    assert broken.stderr == "lens: a ray is totally reflected at surface 2\n"


def test_the_ray_tracer_is_plain_awk() -> None:
    if shutil.which("gawk") is None:
        pytest.skip("there is no other awk here than the machine's own")
    options = "c1=0.028 c2=0.001 c3=-0.017 c4=0.033 c5=0.01 crown1=9 flint=8 crown2=12 t1=10 t2=4 t3=10"
    values = [*options.split(), "air1=13.4", "air2=14.4", "front=true"]
    words = [word for value in values for word in ("-v", value)]
    command = ["gawk", "--posix", *words, "-f", str(EXAMPLES / "lens" / "lens.awk")]
    other = subprocess.run(command, capture_output=True, text=True)
    assert json.loads(other.stdout) == json.loads(lens(*values).stdout)


def test_the_vessel_is_the_one_of_the_literature() -> None:
    cost = load_function("vessel:cost", str(EXAMPLES / "pressure_vessel"))
    known = pressure_vessel()
    value, constraints = cost(
        {"shell": 13, "head": 7, "radius": 42.0984455958549, "length": 176.636595842439}
    )
    assert value == pytest.approx(known.best, abs=1e-4)
    assert len(constraints) == 4
    assert all(c <= 1e-9 for c in constraints.values())
