"""The questions of `saltus init` on a terminal, and the study file that the answers make."""

from __future__ import annotations

import json
import re
import shlex
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from .._checks import did_you_mean
from ..study.errors import SettingsError
from ..study.settings import TYPES, StudyFile

Ask = Callable[[str], str]  # shows a text and gives the answer, as `input` does
Say = Callable[[str], None]
T = TypeVar("T")

HEAD = "# A study: `saltus check` evaluates one point, `saltus run` runs and continues it.\n"
MORE = "# More that may stand here: target, patience, timeout, retries, workers, seed, noisy, where ...\n"
EXAMPLES = """Variables, one on a line, and an empty line at the end:
  NAME float LOW HIGH [log]        radius float 0.1 10 log
  NAME int LOW HIGH [log]          shells int 1 12
  NAME bool                        coated bool
  NAME ordinal NUMBERS             thickness ordinal 0.5 1 2 4  (they increase)
  NAME categorical CHOICES         glass categorical BK7 SF11   (no order)"""
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def asked(ask: Ask, say: Say, title: str) -> str:
    """Ask a few questions, each again until its answer is right: the text of a study file.

    Args:
        ask: shows a question and gives the answer.
        say: shows a line.
        title: the name of the study, if there is no better one.
    """
    name = _until(ask, say, f"Name of the study [{title}]: ", lambda text: _text(text or title))
    say(EXAMPLES)
    lines = _variables(ask, say)
    names = list(lines)
    space = "\n".join(["[space]", *lines.values()])
    objective = _objective(ask, say, space, names)
    larger = _until(ask, say, "Is a smaller value better, or a larger one? [smaller]: ", _larger)
    suggested = 50 * len(names)
    budget = _until(ask, say, f"Evaluations in all [{suggested}]: ", lambda text: _budget(text, suggested))
    study = ["[study]", f"name = {name}", f"budget = {budget}"]
    study += ['direction = "maximize"'] * larger
    text = "\n".join([HEAD + "\n".join(study), MORE + "\n" + space, *objective]) + "\n"
    parsed(text)  # it is right, whatever was answered
    return text


def parsed(text: str) -> StudyFile:
    """A study file that is a text; a ValueError says what is wrong with it."""
    with tempfile.TemporaryDirectory(prefix="saltus-init-") as folder:
        path = Path(folder) / "study.toml"
        path.write_text(text, encoding="utf-8")
        try:
            return StudyFile.read(path)
        except SettingsError as error:
            raise ValueError(str(error).removeprefix(f"{path}: ")) from None


def variable(line: str) -> tuple[str, str]:
    """The name of a variable, and its line in a study file, of what was typed.

    >>> variable("radius float 0.1 10 log")
    ('radius', 'radius = { type = "float", low = 0.1, high = 10, log = true }')
    >>> variable("glass categorical BK7 SF11")
    ('glass', 'glass = { type = "categorical", choices = ["BK7", "SF11"] }')
    """
    words = shlex.split(line)
    if len(words) < 2:
        raise ValueError("a name and a type are expected, such as: radius float 0.1 10")
    name, kind, *rest = words
    options = [f'type = "{kind}"']
    if kind in ("float", "int"):
        log = rest[2:] == ["log"]
        if len(rest) != 2 + log:
            raise ValueError(f"{kind} takes its lowest and its highest value, and perhaps the word log")
        options += [f"low = {_number(rest[0])}", f"high = {_number(rest[1])}"]
        options += ["log = true"] * log
    elif kind == "ordinal":
        options.append(f"values = [{', '.join(map(_number, rest))}]")
    elif kind == "categorical":
        options.append(f"choices = [{', '.join(map(_text, rest))}]")
    elif kind != "bool":
        raise ValueError(f"the type must be one of {', '.join(TYPES)}, got {kind}{did_you_mean(kind, TYPES)}")
    elif rest:
        raise ValueError(f"{kind} takes nothing more, got {' '.join(rest)}")
    line = f"{name if _BARE.fullmatch(name) else _text(name)} = {{ {', '.join(options)} }}"
    parsed(f"[space]\n{line}")
    return name, line


def _variables(ask: Ask, say: Say) -> dict[str, str]:
    """A line for each variable by its name, at least one."""
    lines: dict[str, str] = {}
    while True:
        typed = ask(f"Variable {len(lines) + 1}: ").strip()
        try:
            if not typed and lines:
                parsed("\n".join(["[space]", *lines.values()]))
                return lines
            name, line = variable(typed)
            if name in lines:
                say(f"  {name} is another one now")
            lines[name] = line
        except ValueError as error:
            say(f"  {error}")


def _objective(ask: Ask, say: Say, space: str, names: list[str]) -> list[str]:
    """The table of the objective; empty if points are evaluated by hand."""
    kind = _until(
        ask,
        say,
        "What evaluates a point: a command (c), Python (p), or you by hand (h)? [c]: ",
        _kind,
    )
    if kind == "h":
        return []
    if kind == "p":
        question, suggested = "The function, as module:function [model:cost]: ", "model:cost"
    else:
        suggested = "./simulate " + " ".join(f"--{name}={{{name}}}" for name in names)
        question = f"The command; {{NAME}} stands for a value\n[{suggested}]: "

    def table(text: str) -> list[str]:
        if kind == "p":
            line = f"python = {_text(text or suggested)}"
        else:
            line = f"command = [{', '.join(map(_text, shlex.split(text or suggested)))}]"
        parsed(f"{space}\n[objective]\n{line}")
        return ["", "[objective]", line]

    return _until(ask, say, question, table)


def _until(ask: Ask, say: Say, question: str, read: Callable[[str], T]) -> T:
    while True:
        try:
            return read(ask(question).strip())
        except ValueError as error:
            say(f"  {error}")


def _kind(text: str) -> str:
    kind = text.lower()[:1] or "c"
    if kind not in ("c", "p", "h"):
        raise ValueError(f"c, p or h is expected, got {text}")
    return kind


def _larger(text: str) -> bool:
    word = text.lower() or "smaller"
    for larger, words in (
        (False, ("smaller", "minimize", "minimise")),
        (True, ("larger", "maximize", "maximise")),
    ):
        if any(w.startswith(word) for w in words):
            return larger
    raise ValueError(f"smaller or larger is expected, got {text}")


def _budget(text: str, suggested: int) -> int:
    try:
        budget = int(text or suggested)
    except ValueError:
        budget = 0
    if budget < 1:
        raise ValueError(f"a positive whole number is expected, got {text}")
    return budget


def _text(text: str) -> str:
    """Text as a study file has it."""
    if not text.isprintable():
        raise ValueError("it holds a character that cannot be shown")
    return json.dumps(text, ensure_ascii=False)


def _number(text: str) -> str:
    """A number as a study file has it."""
    with suppress(ValueError):
        return str(int(text))
    try:
        return repr(float(text))
    except ValueError:
        raise ValueError(f"a number is expected, got {text}") from None
