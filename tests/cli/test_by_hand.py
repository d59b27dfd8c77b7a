"""`saltus ask` and `saltus tell`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from saltus import Study
from saltus.cli import main


def test_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "lab.toml"
    path.write_text('[space]\nheat = { type = "float", low = 20, high = 90 }\nacid = { type = "bool" }\n')
    assert main(["run", str(path)]) == 2
    assert "saltus ask" in capsys.readouterr().err
    assert main(["ask", str(path), "-n", "2", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert [t["trial"] for t in first] == [0, 1]
    assert set(first[0]["params"]) == {"heat", "acid"}
    assert main(["ask", str(path)]) == 0
    rest = capsys.readouterr().out.splitlines()
    assert rest[0].startswith("trial 2: heat=")
    assert main(["ask", str(path)]) == 4
    assert "before these trials are told: 0, 1, 2" in capsys.readouterr().err
    assert main(["tell", str(path), "0", "-1.5", "--constraints", "-0.5", "0.25"]) == 0
    assert capsys.readouterr().out == "trial 0: -1.5, constraints violated by 0.25\n"
    assert main(["tell", str(path), "1", "--failed", "spilled", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["reason"] == "spilled"
    assert main(["tell", str(path), "1", "3"]) == 2
    assert "trial 1 is not waiting for a value; these are: 2, 3" in capsys.readouterr().err
    assert main(["tell", str(path), "2"]) == 2
    assert main(["tell", str(path), "2", "3", "--constraints", "a=1", "a=2"]) == 2
    assert "must have different names" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["tell", str(path), "2", "3", "--constraints", "a=b"])
    assert "invalid constraint value: 'a=b'" in capsys.readouterr().err
    assert main(["tell", str(path), "2", "-1e-3", "--constraints", "-2.5e-05"]) == 0
    capsys.readouterr()
    assert main(["tell", str(path), "3", "1", "--constraints", "purity=-0.5", "a=b=0.25", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["constraints"] == {"purity": -0.5, "a=b": 0.25}
    for i in range(4, 2 + len(rest)):
        assert main(["tell", str(path), str(i), str(i)]) == 0
    capsys.readouterr()
    assert main(["ask", str(path), "-n", "1"]) == 0
    assert capsys.readouterr().out.startswith(f"trial {2 + len(rest)}: ")
    assert main(["show", str(path)]) == 0
    assert "waiting" in capsys.readouterr().out


def test_many_tell_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "lab.toml"
    path.write_text('[space]\nheat = { type = "float", low = 20, high = 90 }\n')
    assert main(["ask", str(path)]) == 0
    count = len(capsys.readouterr().out.splitlines())
    words = [[sys.executable, "-m", "saltus", "tell", str(path), str(i), str(i)] for i in range(count)]
    processes = [subprocess.Popen(w, stdout=subprocess.DEVNULL) for w in words]
    assert [p.wait(60) for p in processes] == [0] * count
    assert [t.value for t in Study.open(path.with_suffix(".db")).trials()] == list(range(count))


def test_forgetting(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(study), "--budget", "12"]) == 0
    assert main(["forget", str(study)]) == 2
    assert "the numbers of trials, or --failures" in capsys.readouterr().err
    assert main(["forget", str(study), "3", "5"]) == 0
    assert capsys.readouterr().out.startswith("2 trials forgotten; the search begins anew")
    assert main(["forget", str(study), "99"]) == 2
    assert "no outcome to forget: 99" in capsys.readouterr().err
    assert main(["show", str(study)]) == 0
    assert "; 2 trials forgotten" in capsys.readouterr().out
    assert main(["forget", str(study), "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [0]
