"""The shell blocks of the documents are run, line by line, in a folder that has what they need."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from optuna import load_study

from tests.test_docs import DOCUMENTS, ROOT, read
from tests.test_docs import name as called

NOT_RUN = {  # how a line begins: why it is not run here
    "make test ": "it runs the fast tests, of which this is one",
    "make mutants ": "takes hours; tests/test_mutation.py runs a part of it",
    "pip install ": "needs a network; tests/test_docs.py looks whether the extras are there",
    "dask scheduler ": "needs other machines; tests/execution/test_dask.py has a cluster on this one",
    "dask worker ": "needs other machines; tests/execution/test_dask.py has a cluster on this one",
    "ray start ": "needs other machines; tests/execution/test_ray.py starts Ray on this one",
    "saltus run study.toml --on dask://node1": "needs node1; tests/execution/test_dask.py runs it here",
    "saltus run study.toml --on ray://node1": "needs node1; tests/execution/test_ray.py runs --on ray",
    "saltus run study.toml --on slurm": "needs SLURM; tests/execution/test_slurm.py runs it where it is",
    "mpiexec ": "needs MPI, which is not developed with; docs/executors.md says how it was tried",
}
FAILS = {  # how a line begins that is meant to fail: what it says then
    "awk -v c1=0.1 ": "lens: a ray is totally reflected at surface 2",
}
SIMULATE = """#!/bin/sh
cat > /dev/null
awk -v x="$1" -v y="$2" 'BEGIN { split(x, a, "="); split(y, b, "="); print (a[2] - 2)^2 + b[2]^2 / 100 }'
"""
BOWL = """
[study]
budget = 6
seed = 1
[space]
x = {{ type = "float", low = -5, high = 5 }}
{more}
[objective]
command = ["awk", "-v", "x={{x}}", "BEGIN {{ print (x - 1)^2 }}"]
"""
LAB = """
[space]
heat = { type = "float", low = 20, high = 90 }
acid = { type = "bool" }
"""


def simulator(folder: Path) -> None:
    """A program for the study file that `saltus init` writes."""
    (folder / "simulate").write_text(SIMULATE)
    (folder / "simulate").chmod(0o755)


def bowls(folder: Path) -> None:
    """Three studies that have run."""
    for file in ("study.toml", "a.toml", "b.toml"):
        (folder / file).write_text(BOWL.format(more=""))
        command(f"saltus run {file}", folder)


def past(folder: Path) -> None:
    """A study, and what there is from earlier: tables, and a study without one of the variables."""
    (folder / "old.toml").write_text(BOWL.format(more=""))
    command("saltus run old.toml", folder)
    new = 'coating = { type = "int", low = 0, high = 4 }'
    (folder / "study.toml").write_text(BOWL.format(more=new))
    (folder / "results.csv").write_text("x,coating,value\n1.5,2,0.25\n3,1,4\n")
    (folder / "lab.csv").write_text("x,coating,yield,heat,operator,date\n2,0,1,-0.5,Ann,1 May\n")


def laboratory(folder: Path) -> None:
    (folder / "lab.toml").write_text(LAB)


def script(folder: Path) -> None:
    (folder / "script.py").write_text("import os\nassert os.environ['OMP_NUM_THREADS'] == '1'\n")


def workers(folder: Path) -> None:
    """The program that stands above the block."""
    found = re.search(r"^```python\n(# worker\.py\n.*?)^```", read(ROOT / "docs/optuna.md"), re.M | re.S)
    assert found
    (folder / "worker.py").write_text(found[1].replace("MaxTrialsCallback(100)", "MaxTrialsCallback(12)"))


def examples(folder: Path) -> None:
    """The gallery, with small budgets."""
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("*.db", "*.png"))


def lens(folder: Path) -> None:
    """The folder of the lens: an earlier block of its page went there."""
    shutil.copytree(ROOT / "examples" / "lens", folder, dirs_exist_ok=True)


def nothing(folder: Path) -> None:
    """Nothing is taken for granted."""


PREPARED: dict[str, Callable[[Path], None]] = {
    "README.md-1": simulator,
    "docs/study.md-0": simulator,
    "docs/study.md-1": laboratory,
    "docs/known.md-0": past,
    "docs/report.md-0": bowls,
    "docs/report.md-1": bowls,
    "docs/executors.md-1": script,
    "docs/optuna.md-0": workers,
    "heat_sink/README.md-0": examples,
    "lens/README.md-0": examples,
    "lens/README.md-1": examples,
    "lens/README.md-2": lens,
    "pressure_vessel/README.md-0": examples,
    "scikit_learn/README.md-0": examples,
}
SHELL = {
    f"{path.name if path.parent == ROOT else called(path)}-{i}": block
    for path in DOCUMENTS
    for i, block in enumerate(re.findall(r"^```sh\n(.*?)^```", read(path), re.DOTALL | re.MULTILINE))
}


def lines(block: str) -> list[str]:
    """The commands of a block, each in one line, with the comment that follows it."""
    joined = block.replace("\\\n", " ").splitlines()
    return [line for line in joined if line and not line.startswith("#")]


def begins(line: str, known: dict[str, str]) -> str | None:
    """The entry with which a line begins, its words parted by one space."""
    words = " ".join(line.split()) + " "
    return next((start for start in known if words.startswith(start)), None)


def environment(folder: Path) -> dict[str, str]:
    """`saltus` and `python` are those that run the tests; nothing opens a window."""
    tools = folder.parent / f"{folder.name}-tools"
    if not tools.exists():
        tools.mkdir()
        for tool, words in (("saltus", "-m saltus"), ("python", "")):
            (tools / tool).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
            (tools / tool).chmod(0o755)
    places = [str(tools), str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    modules = [str(ROOT / "src"), str(ROOT)]
    return {
        **os.environ,
        "PATH": os.pathsep.join(places),
        "PYTHONPATH": os.pathsep.join(modules),
        "BROWSER": "true",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


def command(line: str, folder: Path) -> str:
    """What a line prints to its standard output; it must not fail, unless it is meant to."""
    done = subprocess.run(
        line, shell=True, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=120,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if fails := begins(line, FAILS):
        assert done.returncode == 1
        assert FAILS[fails] in done.stderr
    else:
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


def served(line: str, folder: Path) -> None:
    """A page is served until Ctrl-C; at any free port, since others may be taken."""
    words = [sys.executable, "-m", "saltus", *line.partition("#")[0].split()[1:], "--port", "0"]
    with subprocess.Popen(
        words, cwd=folder, env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            address = process.stdout.readline().strip()
            with urllib.request.urlopen(address, timeout=60) as page:
                assert b"<html" in page.read()
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(60) in (0, 130)


def small(folder: Path) -> None:
    """Let every study here end soon, as its user might."""
    for file in folder.rglob("*.toml"):
        file.write_text(re.sub(r"^budget = \d+", "budget = 8", file.read_text(), flags=re.MULTILINE))


def run(block: str, folder: Path) -> None:
    """Run the lines of a block one after the other; files that a line says it makes are there then."""
    for line in lines(block):
        small(folder)
        if begins(line, NOT_RUN):
            continue
        if line.startswith("cd "):
            folder = folder / line[3:].strip()
        elif line.startswith("saltus watch"):
            served(line, folder)
        else:
            command(line, folder)
            for made in re.findall(r"[\w/]+\.html|(?<=> )\S+\.csv", line):
                assert (folder / made).stat().st_size > 0, line


@pytest.mark.parametrize(
    "where",
    [
        pytest.param(where, marks=[] if where.startswith("README") else pytest.mark.machines)
        for where, block in SHELL.items()
        if not all(begins(line, {**NOT_RUN, "make demo ": ""}) for line in lines(block))
    ],
)
def test_every_shell_block_runs(where: str, tmp_path: Path) -> None:
    if "cc " in SHELL[where] and shutil.which("cc") is None:
        pytest.skip("there is no C compiler here")
    folder = tmp_path / "here"
    folder.mkdir()
    PREPARED.get(where, nothing)(folder)
    run(SHELL[where], folder)
    if (folder / "model.db").exists():  # the shell does not wait for how its workers end
        assert len(load_study(study_name="model", storage=f"sqlite:///{folder}/model.db").trials) >= 12


@pytest.mark.parametrize(
    "block",
    [
        "saltus report nothing.toml",
        "saltus init study.toml  # writes page.html",
        "awk 'BEGIN { exit 3 }'",
        "awk -v c1=0.1 'BEGIN { exit 0 }'",
        "awk -v c1=0.1 'BEGIN { exit 1 }'",
    ],
)
def test_a_block_that_is_wrong_is_noticed(block: str, tmp_path: Path) -> None:
    with pytest.raises((AssertionError, FileNotFoundError)):
        run(block, tmp_path)


@pytest.mark.machines
def test_the_demo_runs(tmp_path: Path) -> None:
    """All of `make demo` but for what it installs; it is the first line of three documents."""
    for path in ("Makefile", "pyproject.toml", "README.md", "src", "release", "examples"):
        copy = shutil.copytree if (ROOT / path).is_dir() else shutil.copy
        copy(ROOT / path, tmp_path / path)
    tools = tmp_path / ".venv-demo" / "bin"
    tools.mkdir(parents=True)
    (tools / "saltus").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m saltus "$@"\n')
    (tools / "saltus").chmod(0o755)
    (tmp_path / ".venv-demo" / ".installed-from-pyproject").touch()
    small(tmp_path / "examples")
    demos = [line for block in SHELL.values() for line in lines(block) if line.startswith("make demo ")]
    assert len(demos) == 3
    assert all("writes out/lens.html" in line for line in demos)
    assert f"the page    {tmp_path}/out/lens.html" in command(demos[0], tmp_path)
    assert b"<html" in (tmp_path / "out" / "lens.html").read_bytes()


@pytest.mark.parametrize("known", [NOT_RUN, FAILS], ids=["not run", "fails"])
def test_the_lists_are_no_longer_than_needed(known: dict[str, str]) -> None:
    all_lines = [line for block in SHELL.values() for line in lines(block)]
    assert {begins(line, known) for line in all_lines} - {None} == known.keys()
    for reason in known.values():
        for path in re.findall(r"(?:tests|docs)/[\w/]+\.\w+", reason):
            assert (ROOT / path).exists(), path


def test_nothing_is_prepared_for_blocks_that_are_gone() -> None:
    assert PREPARED.keys() <= SHELL.keys()


def shown(path: str, beginning: str) -> str:
    """The block of output in a document that begins with this."""
    for block in re.findall(r"^```text\n(.*?)^```", read(ROOT / path), re.DOTALL | re.MULTILINE):
        if str(block).strip().startswith(beginning):
            return str(block)
    raise AssertionError(f"{path}: no block of output begins with {beginning!r}")


@pytest.mark.machines
def test_the_study_guide_shows_what_the_vessel_prints(tmp_path: Path) -> None:
    """But for the time that it took, the number of cores, and digits that depend on the machine."""

    def steady(text: str) -> list[str]:
        return re.sub(r"[\d.]+ ms|\d+ workers?", "#", text).splitlines()

    def rows(text: str) -> list[str]:
        found = re.search(r"^    matters: .*\n((?: {13}.*%.*\n)+)", text, re.MULTILINE)
        assert found
        return [line.split()[0] for line in found[1].splitlines()]

    shutil.copytree(ROOT / "examples" / "pressure_vessel", tmp_path / "here")
    checked = command("saltus check study.toml", tmp_path / "here")
    assert steady(shown("docs/study.md", "ok: study.toml")) == steady(checked)
    command("saltus run study.toml", tmp_path / "here")
    printed = command("saltus show study.toml", tmp_path / "here")
    assert sorted(rows(shown("docs/study.md", "matters:"))) == sorted(rows(printed))
