"""What remembers a search while it goes on."""

from __future__ import annotations

from saltus import Candidate, Int, Optimizer, Outcome, Space
from saltus.execution.evaluation import Run
from saltus.execution.evaluator import settled
from saltus.execution.log import AnsweringLog


def test_once_noise_is_noticed_nothing_is_answered_any_more() -> None:
    optimizer = Optimizer(Space({"k": Int(0, 3)}), seed=1)
    log = AnsweringLog(optimizer)
    candidate, run = Candidate(0, {"k": 2}), Run(Outcome(1.0))
    log.heard(candidate, run)
    assert log.knows(candidate)
    optimizer.noisy = True
    assert not log.knows(candidate)
    assert log.stop is None
    log.heard(candidate, run)
    assert log.evaluations == 2
    assert list(log.begin([candidate], lambda c: settled(run)))
