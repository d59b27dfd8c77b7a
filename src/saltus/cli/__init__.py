"""The command `saltus`: what it understands, and how it ends."""

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from .._checks import did_you_mean
from .._version import __version__
from ..execution.addresses import KINDS
from ..execution.evaluation import MachineError, WorkerError
from ..study.errors import SettingsError, StudyError
from . import by_hand, check, export, init, known, report, run, show, watch
from .codes import DONE, INTERRUPTED, MEANINGS, RECORD, TROUBLE, USAGE
from .lines import say

_USUAL = Path("study.toml")  # a study file that is not named
_STUDY_ALONE = ("check", "run", "show", "watch", "export", "ask")  # commands that take nothing else besides
_EPILOG = "\n".join(
    ["exit codes:"]
    + [f"  {code:<4} {meaning}" for code, meaning in MEANINGS.items()]
    + ["", "A first study:  saltus init study.toml, saltus check study.toml, saltus run study.toml"]
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that lacks a character gets its number instead
            stream.reconfigure(errors="backslashreplace")
    given = sys.argv[1:] if arguments is None else arguments
    if not given:
        parser().print_help(sys.stderr)
        return USAGE
    try:
        _check_command(given[0])
        options = parser().parse_args(given)
        code: int = options.command(options)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except SettingsError as error:
        return _say(error, USAGE)
    except WorkerError as error:
        return _say(error, TROUBLE)
    except BrokenPipeError:  # the reader of our output has gone, for instance `head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except (StudyError, MachineError, OSError) as error:
        return _say(error, RECORD)
    except KeyboardInterrupt:
        return _say("interrupted", INTERRUPTED)


def _check_command(word: str) -> None:
    """An error for a first word that is no command, with the nearest one."""
    names = [*_commands(parser()).choices]
    if word not in names and not word.startswith("-"):
        hint = did_you_mean(word, names) or f"; there are {', '.join(names)}"
        if word.endswith(".toml"):
            hint = f"; did you mean `saltus run {word}`?"
        raise SettingsError(f"there is no command {word!r}{hint}")


def _commands(top: argparse.ArgumentParser) -> Any:
    """The part of the parser that knows the commands."""
    (commands,) = (a for a in top._actions if isinstance(a, argparse._SubParsersAction))
    return commands


def _say(what: object, code: int) -> int:
    say(f"saltus: {what}")
    return code


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    top = argparse.ArgumentParser(
        prog="saltus",
        description="Optimise a black box that a study file describes, with everything on record.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"saltus {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)

    def add(name: str, command: Callable[[Any], int], summary: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=summary, description=command.__doc__)
        sub.set_defaults(command=command)
        return sub

    def add_study(
        name: str, command: Callable[[Any], int], summary: str, several: str | None = None
    ) -> argparse.ArgumentParser:
        sub = add(name, command, summary)
        what = "the study file" if name in ("run", "check") else "the study file, or its record"
        how: dict[str, Any] = {"metavar": "STUDY", "help": what}
        if several is not None:
            how |= {"nargs": "*", "default": [_USUAL], "help": f"{what}{several} (default: {_USUAL})"}
        elif name in _STUDY_ALONE:
            how |= {"nargs": "?", "default": _USUAL, "help": f"{what} (default: {_USUAL})"}
        sub.add_argument("study", type=Path, **how)
        record = "the record (default: STUDY with the ending .db)"
        sub.add_argument("--db", type=Path, metavar="FILE", help=record)
        return sub

    def add_json(sub: argparse.ArgumentParser) -> None:
        sub.add_argument("--json", action="store_true", help="print JSON, for scripts")

    sub = add("init", init.init, "write a study file to start from")
    sub.add_argument("file", type=Path, nargs="?", default=_USUAL, metavar="FILE", help=f"default: {_USUAL}")
    start = sub.add_mutually_exclusive_group()
    ready = "start from an example: heat_sink, lens, pressure_vessel or scikit_learn"
    start.add_argument("--example", metavar="NAME", help=ready)
    start.add_argument("--template", action="store_true", help="a commented file, and no questions")

    add_study("check", check.check, "check a study and evaluate one point, without a record")

    sub = add_study("run", run.run, "run a study, or continue it")
    sub.add_argument("--workers", type=int, metavar="K", help="evaluations at a time; -1: one for each core")
    sub.add_argument("--budget", type=int, metavar="B", help="evaluations in all, earlier ones included")
    sub.add_argument("--on", metavar="CLUSTER", help=f"evaluate there: {KINDS}")
    enough = "stop after so many evaluations without a gain; more than before goes on"
    sub.add_argument("--patience", type=int, metavar="P", help=enough)
    again = (
        "forget all values, and evaluate the K best points again (default 10): the objective is another now"
    )
    sub.add_argument("--reevaluate", type=int, nargs="?", const=10, metavar="K", help=again)
    add_json(sub)
    how_much = sub.add_mutually_exclusive_group()
    more = "say what the search does: new best values, restarts, failures; twice: phases, too"
    how_much.add_argument("-v", "--verbose", action="count", default=0, help=more)
    how_much.add_argument("-q", "--quiet", action="store_true", help="say nothing but what is wrong")

    sub = add_study("show", show.show, "print the state of a study")
    form = sub.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON, for scripts")
    form.add_argument("--watch", action="store_true", help="look on while it runs elsewhere, until Ctrl-C")

    sub = add_study("report", report.report, "write a page with pictures", "; several are compared")
    page = (
        "the page (default: the record with the ending .html; of several, comparison.html beside the first)"
    )
    sub.add_argument("--out", type=Path, metavar="FILE", help=page)

    sub = add_study("watch", watch.watch, "serve that page while the study runs")
    sub.add_argument("--port", type=int, default=0, metavar="P", help="default: one that is free")
    where = "where to listen (default: 127.0.0.1, for this machine alone)"
    sub.add_argument("--address", default="127.0.0.1", metavar="A", help=where)
    sub.add_argument("--token", action="store_true", help="ask for a token also on 127.0.0.1")
    sub.add_argument("--open", action="store_true", help="open the page in a browser")
    sub.add_argument("--while-stdin", action="store_true", help="end when standard input does, for programs")

    sub = add_study("export", export.export, "print all evaluations")
    form = sub.add_mutually_exclusive_group(required=True)
    form.add_argument("--csv", action="store_true", help="as a table with a header")
    form.add_argument("--json", action="store_true", help="as a list of objects")

    sub = add_study("enqueue", known.enqueue, "put points in line, to be evaluated next")
    point = "values as NAME=VALUE, which make one point; or a point each as a JSON object"
    sub.add_argument("point", nargs="+", metavar="POINT", help=point)

    sub = add_study("import", known.import_, "take over what was evaluated elsewhere")
    whole = "a table with a header (CSV), or the record of another study"
    sub.add_argument("file", type=Path, metavar="FILE", help=whole)
    sub.add_argument("--value", metavar="COLUMN", default="value", help="the column of values")
    limits = "columns of constraints, above 0 if violated; of a table that `export` wrote they are known"
    sub.add_argument("--constraints", nargs="+", metavar="COLUMN", default=[], help=limits)
    sub.add_argument("--ignore", nargs="+", metavar="COLUMN", default=[], help="columns to be left out")
    missing = "the value of a variable that FILE does not have"
    sub.add_argument("--default", action="append", metavar="NAME=VALUE", default=[], help=missing)
    add_json(sub)

    sub = add_study("ask", by_hand.ask, "hand out points to evaluate by hand")
    sub.add_argument("-n", "--count", type=int, metavar="N", help="how many (default: a whole generation)")
    add_json(sub)

    sub = add_study("tell", by_hand.tell, "take the value of a point")
    # argparse takes -1e-3 for an option
    sub._negative_number_matcher = re.compile(r"-(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
    sub.add_argument("trial", type=int, metavar="TRIAL", help="the number that `ask` gave")
    sub.add_argument("value", type=float, metavar="VALUE", nargs="?", help="what was measured")
    above = "constraints, as NAME=NUMBER or just numbers; those above 0 are violated"
    sub.add_argument("--constraints", type=by_hand.constraint, nargs="+", metavar="C", help=above)
    sub.add_argument("--failed", metavar="REASON", help="there is no value, and why")
    add_json(sub)

    sub = add_study("forget", by_hand.forget, "let trials count no more")
    sub.add_argument("trials", type=int, nargs="*", metavar="TRIAL", help="their numbers")
    sub.add_argument("--failures", action="store_true", help="all that failed")
    add_json(sub)

    sub = add("migrate", init.migrate, "take over the record of an older Saltus")
    sub.add_argument("old", type=Path, metavar="OLD", help="the record, which stays as it is")
    sub.add_argument("new", type=Path, metavar="NEW", help="the record to be made")

    sub = add("completion", _completion, "print a script for shell completion")
    sub.add_argument("shell", choices=("bash", "zsh", "tcsh"))
    return top


def _completion(options: argparse.Namespace) -> int:
    """Print a completion script; for bash: eval "$(saltus completion bash)" in ~/.bashrc."""
    try:
        import shtab
    except ImportError:
        raise SettingsError("completion needs shtab: pip install 'saltus[cli]'") from None
    top = parser()
    for action in (a for sub in _commands(top).choices.values() for a in sub._actions):
        if action.type is Path:
            action.complete = shtab.FILE  # read by shtab
    print(shtab.complete(top, options.shell))
    return DONE
