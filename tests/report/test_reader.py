"""What is read piece by piece is what is read at once."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from saltus import Study
from saltus.report.digest import Digest, gather
from saltus.report.reader import Reader, Seen

from ..watch.records import filled, grow, new


def told(digest: Digest) -> dict[str, Any]:
    """All of a digest that can be compared."""
    facts = {name: getattr(digest, name) for name in digest.__slots__ if name != "pool"}
    return facts | {
        "pool": digest.pool.different(),
        "limits": {k: asdict(v) for k, v in digest.limits.items()},
    }


def check(study: Study, seen: Seen) -> None:
    summary = study.summary()
    assert seen.summary == summary
    assert told(seen.digest) == told(gather(summary, study.trials(), study.snapshots()))


def test_a_study_that_grows(tmp_path: Path) -> None:
    study = new(tmp_path)
    reader = Reader(study)
    check(study, reader.read())
    for count in (1, 2, 9):
        grow(study, count)
        waiting = study.ask(2)  # not over: read again each time
        check(study, reader.read())
        check(study, reader.read())
        for trial in waiting:
            study.tell(trial.id, failed="it broke")
        check(study, reader.read())
    study.forget([0, 3])
    check(study, reader.read())
    study.add({"width": 0.5, "height": 1.0, "layers": 3, "metal": "gold"}, 0.25)
    check(study, reader.read())


def test_a_long_record_is_read_in_pieces(tmp_path: Path) -> None:
    study = filled(tmp_path, 250)
    reader = Reader(study)
    seen = [reader.read(most=100) for _ in range(3)]
    assert [s.complete for s in seen] == [False, False, True]
    assert [len(s.digest.ids) for s in seen] == [100, 200, 250]
    check(study, seen[-1])
    assert told(reader.read(most=100).digest) == told(seen[-1].digest)


def test_what_is_noticed(tmp_path: Path) -> None:
    study = new(tmp_path)
    reader = Reader(study)
    before = reader.signs()
    assert reader.signs() == before
    grow(study, 1)
    assert reader.signs() != before
    study.path.unlink()
    assert reader.signs()[0] == (-1, -1)


def test_a_session_that_ends(tmp_path: Path) -> None:
    study = new(tmp_path)
    reader = Reader(study)
    reader.read()
    study.optimize(lambda p: p["width"], budget=10)
    check(study, reader.read())
    (session,) = study.summary().sessions
    assert replace(session, ended=None) != session
