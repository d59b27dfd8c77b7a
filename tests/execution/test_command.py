"""Commands as objectives: what they are given, what they may print, how they may fail."""

from __future__ import annotations

import json
import math
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saltus.execution.command import Command, CommandWorker, from_json, from_line
from saltus.execution.evaluation import Answer, EvaluationError, MachineError, NotCountedError, Run
from saltus.order import Failure, Outcome
from saltus.result import Candidate

PARAMS = {"radius": 0.1, "shells": 3, "coated": True}


def evaluate(folder: Path, *arguments: str, timeout: float | None = None, **options: Any) -> Outcome:
    return answer(folder, *arguments, timeout=timeout, **options).outcome


def answer(folder: Path, *arguments: str, timeout: float | None = None, **options: Any) -> Answer:
    worker = CommandWorker(Command(arguments, folder, **options), timeout)
    answer = worker.evaluate(Candidate(7, PARAMS), lambda process: None)
    assert answer.exit_code == 0
    return answer


def shell(folder: Path, script: str, **options: Any) -> Outcome:
    return evaluate(folder, "sh", "-c", script, "script", **options)


def reason(folder: Path, script: str, **options: Any) -> EvaluationError:
    with pytest.raises(EvaluationError) as caught:
        shell(folder, script, **options)
    return caught.value


def test_values_come_in_three_ways(tmp_path: Path) -> None:
    script = 'cat > in; printf "%s" "$SALTUS_PARAMS" | cmp - in && echo "$1$2$3$SALTUS_TRIAL" >&2; exit 1'
    with pytest.raises(EvaluationError) as caught:
        evaluate(tmp_path, "sh", "-c", script, "sh", "{radius}", "--n={shells}", "{coated}{trial}")
    assert caught.value.stderr == "0.1--n=3true77\n"
    out = shell(tmp_path, 'echo "$SALTUS_STUDY_DIR" > "{study_dir}/told"; echo 1')
    assert out == Outcome(1.0)
    assert (tmp_path / "told").read_text().strip() == str(tmp_path)


@pytest.mark.parametrize("code", [0, 3])
def test_a_command_can_say_that_it_is_not_to_count(tmp_path: Path, code: int) -> None:
    said = json.dumps({"not_counted": "no licence"})
    error = reason(tmp_path, f"echo '{said}'; exit {code}")
    assert isinstance(error, NotCountedError)
    assert error.reason == "no licence"
    assert not isinstance(reason(tmp_path, "echo 7; exit 3"), NotCountedError)


def test_each_has_a_fresh_folder_that_is_gone_afterwards(tmp_path: Path) -> None:
    script = "ls -A | wc -l > {study_dir}/files; pwd > {study_dir}/where; touch a; echo 1"
    for _ in range(2):
        shell(tmp_path, script)
        assert (tmp_path / "files").read_text().strip() == "0"
        assert not Path((tmp_path / "where").read_text().strip()).exists()


@pytest.mark.parametrize("keep", ["never", "failed", "always"])
def test_working_folders_can_be_kept(tmp_path: Path, keep: str) -> None:
    work = tmp_path / "work"
    shell(tmp_path, "touch mesh; echo 2", keep=keep, work=work)
    assert (work / "trial-7" / "mesh").exists() == (keep == "always")
    reason(tmp_path, "touch broken; echo why >&2; exit 1", keep=keep, work=work)
    assert (work / "trial-7" / "broken").exists() == (keep != "never")
    if keep != "never":
        assert (work / "trial-7" / "stderr.txt").read_text() == "why\n"


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("3", 3.0),
        ("-1.5e-3", -1.5e-3),
        (".5", 0.5),
        ("+2.", 2.0),
        ("1.25D+03", 1250.0),
        ("  7  ", 7.0),
    ],
)
def test_numbers(tmp_path: Path, line: str, value: float) -> None:
    assert shell(tmp_path, f"echo iteration 1; echo '{line}'; echo; echo ' '") == Outcome(value)


def test_a_mark_of_the_byte_order_says_nothing(tmp_path: Path) -> None:
    """As PowerShell and others of Windows write it."""
    mark = r"printf '\357\273\277%s\n'"
    assert shell(tmp_path, f"{mark} 1.5") == Outcome(1.5)
    assert shell(tmp_path, f"{mark} '{{\"value\": 2}}'") == Outcome(2.0)
    assert shell(tmp_path, f"{mark} '{{\"value\": 3}}' > r.json", result="r.json") == Outcome(3.0)


@pytest.mark.parametrize("line", ["nan", "-inf", "NaN", "Infinity", '{"value": NaN}'])
def test_no_numbers_that_are_floats_are_failures_of_the_value(tmp_path: Path, line: str) -> None:
    outcome = shell(tmp_path, f"echo '{line}'")
    assert outcome.failure is Failure.VALUE
    assert Run(outcome).failure_reason in ("the value is NaN", "the value is infinite")


@pytest.mark.parametrize(
    "line",
    ["1,5", "1_000", "0x10", "1 2", "value = 3", "３", "1e5 m", "--", "None", "1;2", "(3)", "e5", "[3]"],
)
def test_what_is_no_number_is_no_value(tmp_path: Path, line: str) -> None:
    assert "is no number" in reason(tmp_path, f"echo '{line}'").reason


def test_json(tmp_path: Path) -> None:
    expected = Outcome(1.5, {"0": -1.0, "1": 0.25})
    text = '{"value": 1.5, "constraints": [-1, 0.25], "values": 3}'
    named = '{"value": 1.5, "constraints": {"stress": -1, "mass": 0.25}}'
    assert shell(tmp_path, f"echo '{text}'") == expected
    assert shell(tmp_path, f"echo '{named}'") == Outcome(1.5, {"stress": -1.0, "mass": 0.25})
    assert expected.violation == 0.25
    assert shell(tmp_path, f"echo '{text}' > out.json; echo out.json") == expected
    assert shell(tmp_path, f"mkdir d; echo '{text}' > d/r.txt; echo 99", result="d/r.txt") == expected


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo missing.json", "the result file 'missing.json' cannot be read: No such file"),
        ("echo '{\"valeu\": 1}'", "must be a JSON object with 'value'"),
        ('echo \'{"value": 1, "constraint": [3]}\'', "did you mean 'constraints'?"),
        ('echo \'{"value": "3"}\'', '"3" is no number'),
        ("echo '{\"value\": true}'", "true is no number"),
        ("echo '{\"value\": null}'", "null is no number"),
        ('echo \'{"value": 1, "constraints": 3}\'', "must be a list of numbers"),
        ('echo \'{"value": 1, "constraints": [[3]]}\'', "[3] is no number"),
        ("echo '{\"value\": 1'", "is no valid JSON"),
        ("echo '[1]' > x.json; echo x.json", "must be a JSON object"),
        ("printf '\\377\\376' > x.json; echo x.json", "cannot be read: UnicodeDecodeError"),
        ("mkfifo a.json; echo a.json", "is no regular file"),
        ("head -c 2000000 /dev/zero | tr '\\0' 7", "the last line is longer than 1 MiB"),
        ("true", "printed nothing"),
        ("exit 3", "ended with exit code 3"),
        ("kill -SEGV $$", "was ended by SIGSEGV"),
        ("printf '\\377\\000'", "is no number"),
    ],
)
def test_failures_have_reasons(tmp_path: Path, script: str, words: str) -> None:
    assert words in reason(tmp_path, script).reason


def test_the_tail_of_what_it_said_is_kept(tmp_path: Path) -> None:
    error = reason(tmp_path, "i=0; while [ $i -lt 40000 ]; do echo line $i >&2; i=$((i+1)); done; exit 2")
    assert error.exit_code == 2
    assert error.stderr is not None
    assert error.stderr.endswith("line 39999\n")
    assert len(error.stderr) <= 2**20
    assert reason(tmp_path, "echo only here; exit 1").stderr == "only here\n"
    assert answer(tmp_path, "sh", "-c", "echo a warning >&2; echo 3").stderr == "a warning\n"


def test_a_timeout_ends_the_whole_group(tmp_path: Path) -> None:
    script = "(trap '' TERM; sleep 60 & echo $! > {study_dir}/deep; wait; sleep 60) & sleep 60; echo 1"
    tick = time.monotonic()
    error = reason(tmp_path, script, timeout=0.5)
    assert error.reason == "timeout after 0.5 s"
    assert time.monotonic() - tick < 10
    assert is_gone(int((tmp_path / "deep").read_text()))


def test_a_polite_program_can_clean_up_at_a_timeout(tmp_path: Path) -> None:
    script = "trap 'echo bye > {study_dir}/bye; exit 0' TERM; while true; do sleep 0.05; done"
    reason(tmp_path, script, timeout=0.5)
    assert (tmp_path / "bye").exists()


def test_nothing_is_left_in_the_background(tmp_path: Path) -> None:
    assert shell(tmp_path, "sleep 60 & echo $! > {study_dir}/pid; echo 4").value == 4
    assert is_gone(int((tmp_path / "pid").read_text()))


def is_gone(pid: int) -> bool:
    for _ in range(100):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
                if stat.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def test_nothing_reaches_a_shell(tmp_path: Path) -> None:
    hostile = "$(touch pwned); `touch pwned` && touch pwned | \"' * ~"
    candidate = Candidate(0, {hostile: 1.0})
    command = Command(("printf", "%s\n", hostile, "{" + hostile + "}", "5"), tmp_path)
    assert CommandWorker(command, None).evaluate(candidate, lambda _: None).outcome.value == 5.0
    assert list(tmp_path.iterdir()) == []
    assert command.filled(candidate.params, 0)[2:4] == [hostile, "1.0"]


def test_braces() -> None:
    command = Command(
        ("p", "{{radius}}", "{radius}", '{"a":{"b":1}}', "{ print $1 }", "{}", "{shells}}"), Path("/s")
    )
    assert command.filled(PARAMS, 1)[1:] == ["{radius}", "0.1", '{"a":{"b":1}}', "{ print $1 }", "{}", "3}"]
    spaced = Command(("p", "{{a b}}", "{a b}", "{{ print }}"), Path("/s"))
    assert spaced.filled({"a b": 1}, 1)[1:] == ["{a b}", "1", "{{ print }}"]
    assert Command(("p", "{my-vra}"), Path("/s")).unknown_names(["my-var"]) == ["my-vra"]
    assert Command(("p", "{raduis}", "{{x}}", "{trial}"), Path("/s")).unknown_names(list(PARAMS)) == [
        "raduis"
    ]


def test_programs_are_found_beside_the_study(tmp_path: Path) -> None:
    program = tmp_path / "simulate"
    program.write_text("#!/bin/sh\necho 8\n")
    assert Command(("./simulate",), tmp_path).program() is None  # not executable
    program.chmod(0o755)
    assert evaluate(tmp_path, "./simulate") == Outcome(8.0)
    assert evaluate(tmp_path, "{study_dir}/simulate") == Outcome(8.0)
    assert Command(("simulate",), tmp_path).program() is None
    assert Command(("sh",), tmp_path).program() == shutil.which("sh")
    program.write_text("no program at all")
    with pytest.raises(EvaluationError, match=r"cannot be started: .*Exec format error"):
        evaluate(tmp_path, "./simulate")
    program.unlink()
    with pytest.raises(MachineError, match="is gone"):
        evaluate(tmp_path, "./simulate")


def test_a_machine_without_room_is_no_bad_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(MachineError, match="no working folder can be made"):
        shell(tmp_path, "echo 1")


@given(st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans()))
def test_arguments_come_back_exactly(value: Any) -> None:
    (argument,) = Command(("{x}",), Path()).filled({"x": value}, trial=0)
    assert json.loads(argument) == value


@given(st.text())
def test_any_line_is_a_value_or_a_failure(line: str) -> None:
    try:
        outcome = from_line(line, Path(os.devnull))
    except EvaluationError:
        return
    if not line.startswith("{"):  # then it is a number to the letter
        assert outcome.value == float(line.replace("d", "e").replace("D", "e")) or math.isnan(outcome.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["value", "constraints"]) | st.text(), inner)
    ),
)


@given(JSON)
def test_any_json_is_a_value_or_a_failure(data: Any) -> None:
    try:
        outcome = from_json(json.dumps(data), "it")
    except EvaluationError:
        return
    assert outcome.value == data["value"] or math.isnan(outcome.value)
    assert len(outcome.constraints) == len(data.get("constraints") or ())


@given(st.text(alphabet='{}[]",:0123456789.eE-+ naifNIvluconstraints\\'))
def test_broken_json_is_a_failure(text: str) -> None:
    try:
        json.loads(text)
    except ValueError:
        with pytest.raises(EvaluationError):
            from_json(text, "it")
