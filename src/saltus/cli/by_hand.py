"""Ask and tell, for people who evaluate by hand or in a laboratory."""

import argparse
import math

from .._checks import checked_count, worker_count
from ..study import SettingsError, Study
from ..study.errors import blaming
from ..study.settings import StudyFile
from .codes import NOTHING
from .lines import columns_of_output, counted, printable, say
from .show import to_json, violation
from .studies import command_line, opened, opened_or_created, record_of
from .values import assignments


def ask(options: argparse.Namespace) -> int:
    """Hand out points to evaluate; tell their values later, in any order."""
    if options.count is not None:
        with blaming("--"):
            checked_count(options.count, "count must be a positive whole number")
    study = created(options)
    trials = study.ask(options.count)
    if options.json:
        print(to_json([{"trial": t.id, "params": t.params} for t in trials]))
    else:
        for trial in trials:
            print(printable(f"trial {trial.id}: {assignments(trial.params)}"))
    if trials:
        if not options.json and columns_of_output() is not None:  # a person, and not a script
            told = command_line("tell", options.study, options.db, str(trials[0].id), "VALUE")
            say(f"then: {told}, or --failed REASON")
        return 0
    waiting = study.summary().unfinished
    if waiting:
        numbers = ", ".join(str(t.id) for t in waiting)
        say(f"saltus: nothing to hand out before these trials are told: {numbers} (`saltus show` lists them)")
    else:
        say("saltus: every point that the search still proposes is on record")
    return NOTHING


def tell(options: argparse.Namespace) -> int:
    """Take the value of a point that `ask` gave, or the reason why there is none."""
    if (options.value is None) == (options.failed is None):
        raise SettingsError("tell takes a value, or --failed REASON: exactly one of them")
    study = opened(options.study, options.db)
    given = options.constraints or ()
    constraints = {name or str(i): amount for i, (name, amount) in enumerate(given)}
    if len(constraints) < len(given):
        raise SettingsError("--constraints must have different names")
    trial = study.tell(options.trial, options.value, constraints, failed=options.failed)
    if options.json:
        print(to_json(trial))
    elif trial.status == "failed":
        print(printable(f"trial {trial.id} failed: {trial.reason}"))
    else:
        violated = f", {violation(trial)}" if trial.violation else ""
        value = math.nan if trial.value is None else trial.value
        print(f"trial {trial.id}: {value:.10g}{violated}")
    return 0


def forget(options: argparse.Namespace) -> int:
    """Let trials count no more, for instance those of a simulator that was broken. They stay on record; the
    search begins anew, with all others as past data.
    """
    if not (options.trials or options.failures):
        raise SettingsError("forget takes the numbers of trials, or --failures")
    study = opened(options.study, options.db)
    gone = study.forget(options.trials, failures=options.failures)
    if options.json:
        print(to_json(gone))
    elif gone:
        print(
            f"{counted(len(gone), 'trial')} forgotten; the search begins anew, with all others as past data"
        )
    else:
        print("nothing to forget")
    return 0


def constraint(text: str) -> tuple[str, float]:
    """The name and the value of a constraint on the command line; without a name, that is empty.

    >>> constraint("stress=-0.5"), constraint("0.25")
    (('stress', -0.5), ('', 0.25))
    """
    name, _, amount = text.rpartition("=")
    return name, float(amount)


def created(options: argparse.Namespace) -> Study:
    """The study that is meant, begun if there is a study file and no record yet."""
    if record_of(options.study, None) == options.study:
        return opened(options.study, options.db)
    file = StudyFile.read(options.study)
    by_hand = file.study.workers == -1  # nobody said how many are evaluated at a time
    study = opened_or_created(file, options.db, 1 if by_hand else worker_count(file.study.workers))
    if file.points:
        study.enqueue_new(file.points)
    return study
