"""The state of a study, for people and for scripts."""

import argparse
import json
import math
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from ..search.learnt import Share, plain
from ..search.recommendation import Recommended
from ..study import Summary, Trial
from ..study.journal import as_plain
from ..study.settings import StudyFile
from .codes import DONE
from .display import watch
from .lines import columns_of_output, counted, fitted, printable
from .studies import budget_of, is_record, opened, recommendation, record_of, what_matters
from .values import assignments, items, listed, written

_LONGEST_LIST = 10
_LONGEST_LINE = 200
_LABEL = 12  # columns of the name of a line
_LONGEST_NAME = 40
# what scripts are told of a study, of a trial besides its number, and of the last session
_STUDY = (
    *("name", "direction", "strategy", "seed", "population", "batch", "best", "evaluations", "repeated"),
    *("forgotten", "past", "in_line"),
    *("generations", "restarts", "failures", "last_failure", "unfinished"),
)
_TRIAL = (
    *("generation", "params", "status", "value", "violation", "constraints", "failure", "reason"),
    *("exit_code", "stderr", "seconds"),
)
_SESSION = ("started", "ended", "pid", "host", "stop")


def show(options: argparse.Namespace) -> int:
    """Print the state of a study: best point, what matters, evaluations, failures and why, what runs. With
    --watch, look on while it runs, until Ctrl-C.
    """
    if options.watch:
        file = None if is_record(options.study) else StudyFile.read(options.study)
        watch(record_of(options.study, options.db), None if file is None else budget_of(file))
        return DONE
    study = opened(options.study, options.db)
    known = study.summary(), what_matters(study), recommendation(study)
    print(as_json(*known) if options.json else on_terminal(as_text(*known)))
    return DONE


def as_text(
    summary: Summary, shares: Mapping[str, Share] | None, recommended: Recommended | None = None
) -> str:
    """The state of a study for people: what it is, its best point, what to recommend if that is another, what
    matters, how far it is, what failed, what runs.
    """
    rows = [("study", f"{summary.name} ({summary.direction}, {summary.strategy}, seed {summary.seed})")]
    best = summary.best
    if best is None:
        rows.append(("best", "none yet"))
    else:
        violated = f", {violation(best)}" if best.violation else ""
        value = "no value" if best.value is None else f"{best.value:.10g}"
        past = ", past data" if best.past else ""
        rows.append(("best", f"{value} (trial {best.id}{past}{violated})"))
        rows += [("", f"{name} = {written(value)}") for name, value in items(best.params)]
        limits = list((best.constraints or {}).items())
        rows += [("constraints" if i == 0 else "", _judged(*limit)) for i, limit in enumerate(limits)]
    if recommended is not None:
        rows.append(("recommended", f"{recommended.value:.6g} +- {recommended.error:.2g} (estimate)"))
        params = as_plain(recommended.params)
        rows += [("", f"{name} = {written(value)}") for name, value in items(params)]
    rows += _what_matters(shares or {})
    repeated = f", and {summary.repeated} answered from the record" if summary.repeated else ""
    if summary.forgotten:
        repeated += f"; {counted(summary.forgotten, 'trial')} forgotten"
    if summary.past:
        rows.append(("past data", f"{counted(summary.past, 'trial')} that were evaluated elsewhere"))
    generations = counted(summary.generations, "generation")
    rows.append(("evaluations", f"{summary.evaluations} in {generations}{repeated}"))
    rows.append(("restarts", str(summary.restarts)))
    failed = sum(summary.failures.values())
    rows.append(("failures", str(failed)))
    rows += [("", f"{count} x {reason}") for reason, count in list(summary.failures.items())[:_LONGEST_LIST]]
    last = summary.last_failure
    if last is not None:
        rows.append(("", f"last: trial {last.id}, {listed(last.params)}"))
        lines = (last.stderr or "").splitlines()[-_LONGEST_LIST:]
        rows += [("", f"| {line[:_LONGEST_LINE]}") for line in lines]
    running = [t for t in summary.unfinished if t.status == "running"]
    waiting = len(summary.unfinished) - len(running)
    rows.append(("running", f"{len(running)}{f', {waiting} waiting' if waiting else ''}"))
    if summary.in_line:
        rows.append(("in line", counted(summary.in_line, "point")))
    now = time.time()
    for trial in running[:_LONGEST_LIST]:
        rows.append(
            ("", f"trial {trial.id} for {now - (trial.started or now):.0f} s: {listed(trial.params)}")
        )
    if not running and not summary.sessions:  # by hand: somebody has to know them in full
        rows += [("", f"trial {t.id}: {assignments(t.params)}") for t in summary.unfinished[:_LONGEST_LIST]]
    reasons = Counter(t.reason for t in summary.unfinished if t.reason is not None)
    for reason, count in reasons.most_common(_LONGEST_LIST):
        rows.append(("not counted", f"{count} x {reason}"))
    rows.append(("state", state(summary)))
    return "\n".join(f"{name + ':' if name else '':>{_LABEL}} {printable(text)}" for name, text in rows)


def on_terminal(text: str) -> str:
    """The same, broken between words where the terminal is too narrow."""
    return fitted(text, columns_of_output(), _LABEL + 1)


def _judged(name: str, amount: float) -> str:
    return f"{name} = {amount:.6g}{'' if amount <= 0 else '  (violated)'}"


def _what_matters(shares: Mapping[str, Share]) -> list[tuple[str, str]]:
    """A line for each variable, the most important first; one variable alone is not worth saying."""
    if len(shares) < 2:
        return []
    shown = list(shares.items())[:_LONGEST_LIST]
    longest = max(len(_clipped(name)) for name, _ in shown)
    rows = [("matters", "share in the differences around the best point, how sure that is")]
    for name, share in shown:
        numbers = f"{share.share:>6.0%}   ({share.low:.0%} to {share.high:.0%})"
        rows.append(("", f"{_clipped(name):<{longest}}{numbers}"))
    others = len(shares) - len(shown)
    return rows + ([("", f"and {counted(others, 'variable')} that matter less")] if others else [])


def _clipped(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 3] + "..."


def state(summary: Summary) -> str:
    """Whether it runs, and why it ended."""
    if not summary.sessions:
        return "evaluated by hand" if summary.evaluations or summary.unfinished else "not run yet"
    last = summary.sessions[-1]
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(last.ended or last.started))
    if last.ended is None and summary.running:
        return f"running since {since} as process {last.pid} on {last.host}"
    if last.ended is None:
        return f"killed, or the machine went down; it had begun {since}. `saltus run` goes on"
    return f"ended {since}: {last.why}"


def as_json(
    summary: Summary, shares: Mapping[str, Share] | None, recommended: Recommended | None = None
) -> str:
    """The state of a study for scripts: a JSON object, trials as objects in it."""
    last = summary.sessions[-1] if summary.sessions else None
    session = None if last is None else {name: getattr(last, name) for name in _SESSION}
    found = None
    if recommended is not None:
        error = recommended.error if math.isfinite(recommended.error) else None
        params = as_plain(recommended.params)
        found = {"params": params, "value": recommended.value, "error": error}
    more = {"recommended": found, "sensitivity": plain(shares), "session": session}
    return to_json({name: getattr(summary, name) for name in _STUDY} | more)


def to_json(data: Any) -> str:
    """Anything for scripts; trials may be in it."""
    return json.dumps(data, indent=2, default=_trial_as_json)


def _trial_as_json(trial: Trial) -> dict[str, Any]:
    """What a script may want to know about a trial."""
    finite = {name: c if math.isfinite(c) else None for name, c in (trial.constraints or {}).items()}
    failure = None if trial.failure is None else trial.failure.name
    facts = {name: getattr(trial, name) for name in _TRIAL}
    return {"trial": trial.id} | facts | {"constraints": finite or None, "failure": failure}


def violation(trial: Trial) -> str:
    """How much a trial violates its constraints."""
    return f"constraints violated by {trial.violation:.6g}"
