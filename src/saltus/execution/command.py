"""An external command as objective: run without a shell, in a fresh folder, with its output read.

The result is the last line of standard output that is not empty: a number, a JSON object with `value` and
perhaps `constraints`, or the name of a JSON file that holds such an object.
"""

import difflib
import errno
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from .._checks import did_you_mean
from ..order import Failure, Outcome
from ..result import Candidate
from .evaluation import Answer, Ended, EvaluationError, MachineError, NotCountedError, checked_outcome
from .evaluator import Started
from .processes import OWN_GROUP, RECORD, TRIAL, ask_group, end_group, how_it_ended

OWN_NAMES = ("study_dir", "trial")  # what a command may be told besides the variables
GRACE = 2.0  # seconds between the request to end and the end
_TAIL = 1024 * 1024  # bytes of output that are looked at
_LONGEST_VARIABLE = 100_000  # characters that an environment variable can hold everywhere
_PLACEHOLDER = re.compile(r"\{\{([^{}]+)\}\}|\{([^{}]*)\}")
_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)([ed][+-]?\d+)?|nan|inf|infinity)", re.ASCII | re.IGNORECASE)
_NOT_ITS_FAULT = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ENOSPC)
_LARGEST_FILE = 10 * 1024 * 1024


class ResultError(EvaluationError):
    """A command ended well, but its output holds no result that can be read."""

    failure = Failure.VALUE


@dataclass(frozen=True)
class Command:
    """A command line with places for values.

    Attributes:
        arguments: the program and its arguments; `{name}` stands for a variable, `{study_dir}` for the folder
            of the study and `{trial}` for the number of the trial. `{{name}}` is the text {name}.
        folder: the study's; a program given as a relative path is looked up there.
        result: a JSON file, relative to the working folder, that holds the result instead of standard output.
        keep: which working folders to keep, in `work`: "never", "failed" or "always".
        work: the folder for those that are kept.
        scratch: where working folders are made; default the system's temporary folder.
        record: whose trials these are; by that and its number a command is known that was left running.
        variables: names of all variables; one that a point has no value for is no text.
    """

    arguments: tuple[str, ...]
    folder: Path
    result: str | None = None
    keep: str = "never"
    work: Path | None = None
    scratch: Path | None = None
    record: str = ""
    variables: tuple[str, ...] = ()

    def unknown_names(self, names: Sequence[str]) -> list[str]:
        """What stands in braces and looks like a name, or nearly like one of these, but is none."""
        known = [*names, *OWN_NAMES]
        found = (m.group(2) for a in self.arguments for m in _PLACEHOLDER.finditer(a) if m.group(2))
        return [
            name
            for name in found
            if name not in known
            and (name.isidentifier() or difflib.get_close_matches(name, known, cutoff=0.8))
        ]

    def program(self) -> str | None:
        """The program's full path, or None if there is none that can be run."""
        first = self.arguments[0].replace("{study_dir}", str(self.folder))
        if os.path.dirname(first) and not os.path.isabs(first):
            first = str(self.folder / first)
        found = shutil.which(first)
        return None if found is None else os.path.abspath(found)

    def filled(self, params: Mapping[str, Any], trial: int) -> list[str]:
        """The arguments for a point.

        >>> Command(("sim", "--r={r}", "{{r}}"), Path("/study")).filled({"r": 0.5}, trial=3)
        ['sim', '--r=0.5', '{r}']
        """
        values = dict.fromkeys(self.variables, "") | {"study_dir": str(self.folder), "trial": str(trial)}
        # all digits, true and false; text as it is
        values |= {name: v if isinstance(v, str) else json.dumps(v) for name, v in params.items()}

        def fill(match: re.Match[str]) -> str:
            if match.group(1) is not None:
                known = match.group(1) in values or match.group(1).isidentifier()
                return match.group(0)[1:-1] if known else match.group(0)
            return values.get(match.group(2), match.group(0))

        return [_PLACEHOLDER.sub(fill, argument) for argument in self.arguments]


class CommandWorker:
    """A worker that runs a command for one point at a time."""

    def __init__(self, command: Command, timeout: float | None) -> None:
        """Nothing is started yet; `timeout` is in seconds, None waits for ever."""
        self._command, self._timeout = command, timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = False
        self._lock = threading.RLock()  # no start while being ended; a signal may come while ending

    def evaluate(self, candidate: Candidate, begun: Started) -> Answer:
        """Run the command in a folder of its own, which is gone afterwards or kept, and read its result."""
        command = self._command
        kept = command.keep == "always"
        with ExitStack() as stack:
            try:
                folder = Path(tempfile.mkdtemp(prefix=f"trial-{candidate.id}-", dir=command.scratch))
                stack.callback(remove_folder, folder)
                out = stack.enter_context(tempfile.TemporaryFile())
                err = stack.enter_context(tempfile.TemporaryFile())
            except OSError as error:
                where = command.scratch or tempfile.gettempdir()
                raise MachineError(f"no working folder can be made in {where}: {error.strerror}") from error
            try:
                self._run(candidate, folder, out, err, begun)
                return Answer(self._read(folder, out), exit_code=0, stderr=tail(err) or None)
            except EvaluationError as error:
                kept = command.keep != "never"
                error.stderr = tail(err) or tail(out)
                if error.failure is Failure.DIED and error.exit_code is not None:
                    with suppress(ResultError):
                        self._read(folder, out)  # it may say that it is not to count
                raise
            finally:
                if kept and command.work is not None:
                    _keep(folder, command.work / f"trial-{candidate.id}", out, err)

    def _run(
        self,
        candidate: Candidate,
        folder: Path,
        out: IO[bytes],
        err: IO[bytes],
        begun: Started,
    ) -> None:
        params = json.dumps(candidate.params)
        about = {
            TRIAL: str(candidate.id),
            RECORD: self._command.record,
            "SALTUS_STUDY_DIR": str(self._command.folder),
        }
        if len(params) < _LONGEST_VARIABLE:
            about["SALTUS_PARAMS"] = params
        program = self._command.program()
        if program is None:
            raise MachineError(f"the program {self._command.arguments[0]!r} is gone")
        arguments = [program, *self._command.filled(candidate.params, candidate.id)[1:]]
        try:
            with self._lock:
                if self._ended:
                    raise Ended
                self._process = process = subprocess.Popen(
                    arguments,
                    cwd=folder,
                    env={**os.environ, **about},
                    stdin=subprocess.PIPE,
                    stdout=out,
                    stderr=err,
                    **OWN_GROUP,  # so that all that it starts can be ended with it
                )
        except (OSError, ValueError) as error:
            if getattr(error, "errno", None) in _NOT_ITS_FAULT:
                raise MachineError(f"commands cannot be started now: {error}") from error
            raise EvaluationError(f"the command cannot be started: {error}", failure=Failure.DIED) from error
        if begun is not None:
            begun(process.pid)
        try:
            process.communicate(params.encode(), timeout=self._timeout)
        except subprocess.TimeoutExpired:
            self._end(process)
            reason = f"timeout after {self._timeout:g} s"
            raise EvaluationError(reason, process.returncode, failure=Failure.TIMEOUT) from None
        finally:
            end_group(process.pid)  # what it may have left in the background
        if self._ended:
            raise Ended
        if process.returncode != 0:
            reason = f"the command {how_it_ended(process.returncode)}"
            raise EvaluationError(reason, process.returncode, failure=Failure.DIED)

    def _read(self, folder: Path, out: IO[bytes]) -> Outcome:
        if self._command.result is not None:
            return from_file(folder, self._command.result)
        text = tail(out)
        lines = [line for line in text.splitlines() if line.strip()]
        if not lines:
            raise ResultError("the command printed nothing")
        if len(lines) == 1 and out.tell() > _TAIL:
            raise ResultError("the last line is longer than 1 MiB")
        return from_line(lines[-1].strip().lstrip("\ufeff"), folder)  # some programs of Windows write it

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Ask the whole group to end, and end what has not after a while."""
        ask_group(process.pid)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
        end_group(process.pid)
        process.communicate()

    def end(self) -> None:
        """End the command; its evaluation raises `Ended`."""
        with self._lock:
            self._ended = True
            process = self._process
        if process is not None and process.poll() is None:
            end_group(process.pid)


def from_line(line: str, folder: Path) -> Outcome:
    """The result that a line tells: a number, a JSON object, or the name of a JSON file in the folder.

    >>> from_line("1.5D-03", Path()).value
    0.0015
    """
    if _NUMBER.fullmatch(line):
        return checked_outcome(float(re.sub("[dD]", "e", line)))  # Fortran writes 1.0D+03
    if line.startswith("{"):
        return from_json(line, "the last line")
    if line.endswith(".json"):
        return from_file(folder, line)
    raise ResultError(f"the last line is no number: {line[:80]!r}")


def from_file(folder: Path, name: str) -> Outcome:
    """The result in a JSON file."""
    path = folder / name
    try:
        if not path.is_file() and path.exists():
            raise ResultError(f"the result file {name!r} is no regular file")
        if path.stat().st_size > _LARGEST_FILE:
            raise ResultError(f"the result file {name!r} is larger than 10 MiB")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise ResultError(f"the result file {name!r} cannot be read: {why}") from None
    return from_json(text, f"the result file {name!r}")


def from_json(text: str, what: str) -> Outcome:
    """The result in a JSON object: `value`, and perhaps `constraints`: an object with their names, or a list.

    `not_counted` and a reason instead: the evaluation is not to count.

    >>> from_json('{"value": 1.5, "constraints": {"stress": -0.2}}', "the last line").constraints
    {'stress': -0.2}
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise ResultError(f"{what} is no valid JSON") from None
    if isinstance(data, dict) and isinstance(data.get("not_counted"), str):
        raise NotCountedError(data["not_counted"])
    if not isinstance(data, dict) or "value" not in data:
        raise ResultError(f"{what} must be a JSON object with 'value'")
    for key in data if "constraints" not in data else ():  # anything else may stand there, but no misspelling
        if key != "value" and difflib.get_close_matches(key, ["constraints"], cutoff=0.8):
            raise ResultError(f"{what} holds {key!r}{did_you_mean(key, ['constraints'])}")
    constraints = data.get("constraints")
    if constraints is not None and not isinstance(constraints, list | dict):
        raise ResultError(f"{what}: 'constraints' must be a list of numbers, or an object with their names")
    amounts = constraints.values() if isinstance(constraints, dict) else constraints or ()
    for number in [data["value"], *amounts]:
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise ResultError(f"{what}: {json.dumps(number)[:40]} is no number")
    try:
        return checked_outcome(data["value"], constraints)
    except TypeError:
        raise ResultError(f"{what}: a number is too large") from None


def tail(file: IO[bytes]) -> str:
    """The end of a file as text."""
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - _TAIL))
    return file.read().decode("utf-8", "replace")


def _keep(folder: Path, where: Path, out: IO[bytes], err: IO[bytes]) -> None:
    """Move a working folder to where the user can look at it, with what was printed."""
    with suppress(OSError):
        for name, file in (("stdout.txt", out), ("stderr.txt", err)):
            file.seek(0)
            with open(folder / name, "wb") as copy:
                shutil.copyfileobj(file, copy)
        where.parent.mkdir(parents=True, exist_ok=True)
        remove_folder(where)
        shutil.move(folder, where)


def remove_folder(folder: Path) -> None:
    """Remove a folder with all that is in it, also if a command has made parts of it read-only."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder.is_dir() and not folder.is_symlink():
        with suppress(OSError):
            folder.chmod(0o700)
        for place, folders, files in os.walk(folder):  # which goes into each after this
            for inner in (Path(place, name) for name in folders + files):  # Windows asks for files, too
                with suppress(OSError):
                    if not inner.is_symlink():
                        inner.chmod(0o700)
        shutil.rmtree(folder, ignore_errors=True)
