"""Which tests reach a mutant, and whether one of them fails: each mutant in a fork of its own."""

from __future__ import annotations

import gc
import importlib.machinery
import importlib.util
import json
import os
import resource
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import _lru_cache_wrapper
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import coverage
import pytest
from _pytest.runner import runtestprotocol

from tests.mutation import ALIVE, ROOT, SOURCE
from tests.mutation.mutants import Mutant

MEMORY = 8 << 30  # a mutant may ask for much
OPTIMIZED = 1  # the flag of a function's code, which a class body has not
Exchanges = list[tuple[FunctionType, CodeType]]  # functions, and the code that they get
Functions = dict[tuple[str, str, int], list[FunctionType]]  # by file, name and line
ARGUMENTS = [
    "-q",
    "-s",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "--rootdir",
    str(ROOT),
    "--durations-min=1e9",
    "-W",
    "ignore:Module already",
]


class Reach(NamedTuple):
    """Which tests reach which lines of which file, how long each takes, and what is executed at import."""

    lines: dict[str, dict[int, list[str]]]
    seconds: dict[str, float]

    def tests(self, mutant: Mutant) -> list[str]:
        """Those that reach a mutant's lines; for lines of the import, those that reach its file.

        And those of the file of tests that has its name: they may look at nothing but constants.
        """
        lines = self.lines.get(mutant.file, {})
        here = {test for line in mutant.lines for test in lines.get(line, ())}
        if here == {""}:
            here = {test for tests in lines.values() for test in tests}
            name = f"/test_{Path(mutant.file).stem.strip('_')}.py::"  # of a package: test_init.py
            here |= {test for test in self.seconds if name in test}
        return sorted(here & self.seconds.keys())

    def of(self, file: str) -> Reach:
        """What the tests of one file reach, and what is executed at import."""
        lines = {
            path: {
                n: kept
                for n, tests in of.items()
                if (kept := [t for t in tests if in_file(t, file) or not t])
            }
            for path, of in self.lines.items()
        }
        return Reach(lines, {test: s for test, s in self.seconds.items() if in_file(test, file)})

    @staticmethod
    def joined(parts: Sequence[Reach]) -> Reach:
        """What the tests of several files reach."""
        lines: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
        for part in parts:
            for path, of in part.lines.items():
                for n, tests in of.items():
                    lines[path][n] += [test for test in tests if test or "" not in lines[path][n]]
        return Reach(
            {path: dict(of) for path, of in lines.items()},
            {test: s for part in parts for test, s in part.seconds.items()},
        )

    def at_import(self, mutant: Mutant) -> bool:
        """Whether its lines are executed before any test."""
        return any("" in self.lines.get(mutant.file, {}).get(line, ()) for line in mutant.lines)


def in_file(test: str, file: str) -> bool:
    """Whether a test, by its id, is one of this file's."""
    return test.partition("::")[0] == file


class Watch:
    """A plugin: runs all tests and tells coverage which one it is."""

    def __init__(self, measured: coverage.Coverage) -> None:
        self.measured = measured
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self.caches: list[_lru_cache_wrapper[Any]] = []

    def pytest_collection_finish(self) -> None:
        # what is remembered from one test to the next would hide what the next one reaches
        self.caches = [c for c in gc.get_objects() if isinstance(c, _lru_cache_wrapper)]
        self.caches = [c for c in self.caches if c.__module__.partition(".")[0] == "saltus"]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        for remembered in self.caches:
            remembered.cache_clear()
        self.measured.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self.measured.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if not report.passed:
            self.failed.add(report.nodeid)


def measure(tests: Sequence[str]) -> Reach:
    """Run the tests once, and note what they reach."""
    measured = coverage.Coverage(data_file=None, source=[str(SOURCE)], config_file=False)
    watch = Watch(measured)
    with measured.collect():
        pytest.main([*ARGUMENTS, *tests], plugins=[watch])
    data = measured.get_data()
    lines = {
        Path(file).relative_to(SOURCE).as_posix(): data.contexts_by_lineno(file)
        for file in data.measured_files()
    }
    if watch.failed:
        print(f"left out, because they fail or are skipped without any mutant: {sorted(watch.failed)}")
    return Reach(lines, {t: s for t, s in watch.seconds.items() if t not in watch.failed})


def exchanges(mutant: Mutant, functions: Functions) -> Exchanges | None:
    """Which functions change, or None where something changes that runs at import."""
    path = str(SOURCE / mutant.file)
    before = compile((SOURCE / mutant.file).read_text(), path, "exec", dont_inherit=True)
    found: Exchanges = []

    def bare(code: CodeType) -> CodeType:
        consts = tuple(None if isinstance(c, CodeType) else c for c in code.co_consts)
        return code.replace(co_consts=consts, co_linetable=b"", co_firstlineno=1)

    def compare(a: CodeType, b: CodeType) -> bool:
        if bare(a) != bare(b):
            return False
        inner = ([c for c in code.co_consts if isinstance(c, CodeType)] for code in (a, b))
        for one, other in zip(*inner, strict=True):
            if not one.co_flags & OPTIMIZED:
                if not compare(one, other):
                    return False
            elif one != other:
                now = functions.get((path, one.co_qualname, one.co_firstlineno), [])
                if len(now) != 1 or len(one.co_freevars) != len(other.co_freevars):
                    return False
                found.append((now[0], other))
        return True

    return found if compare(before, compile(mutant.text, path, "exec", dont_inherit=True)) else None


def run(items: list[pytest.Item], reach: Reach, pipe: int) -> None:
    """In a process of its own: run tests in this order, write the first that fails, and end the process."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # a test that takes too long ends it too
    for item, following in zip(items, [*items[1:], None], strict=True):
        signal.setitimer(signal.ITIMER_REAL, 5.0 + 10.0 * reach.seconds[item.nodeid])
        if any(report.failed for report in runtestprotocol(item, nextitem=following, log=False)):
            os.write(pipe, item.nodeid.encode())
            os._exit(1)
    os._exit(0)


class Alone:
    """A plugin, in a fork that imports saltus and the tests anew with a mutant in place of a file."""

    def __init__(self, mutant: Mutant, tests: list[str], reach: Reach, pipe: int) -> None:
        self.tests, self.reach, self.pipe = tests, reach, pipe
        self.path, self.text = SOURCE / mutant.file, mutant.text
        parts = Path(mutant.file).with_suffix("").parts
        self.module = ".".join(("saltus", *parts)).removesuffix(".__init__")

    def go(self) -> None:
        for name in [n for n in sys.modules if n.partition(".")[0] in ("saltus", "tests")]:
            del sys.modules[name]
        sys.meta_path.insert(0, self)
        signal.setitimer(signal.ITIMER_REAL, 60.0)  # for the import
        files = dict.fromkeys(test.partition("::")[0] for test in self.tests)
        os._exit(pytest.main([*ARGUMENTS, *files], plugins=[self]) != 0)

    def find_spec(self, name: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        class Loader(importlib.machinery.SourceFileLoader):
            def get_code(_, fullname: str) -> CodeType:
                return compile(self.text, str(self.path), "exec", dont_inherit=True)

        found = importlib.util.spec_from_file_location(name, self.path, loader=Loader(name, str(self.path)))
        return found if name == self.module else None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:  # with the mutant, a module cannot be imported
            os.write(self.pipe, report.nodeid.encode())
            os._exit(1)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        run([items[test] for test in self.tests], self.reach, self.pipe)
        return True


class Foreman:
    """A plugin: when all tests are collected, tries all mutants on forks of the process."""

    def __init__(
        self,
        mutants: list[Mutant],
        reach: Reach,
        jobs: int,
        limit: float,
        results: Path,
        state: str,
        endured: Mapping[str, Collection[str]],
    ) -> None:
        """`limit` is for the tests of one mutant, in seconds; results are appended to a file.

        `endured` are files of tests, by the id of a mutant, that it has survived before.
        """
        self.mutants, self.reach, self.jobs, self.limit, self.results = mutants, reach, jobs, limit, results
        self.endured = endured
        self.kills: dict[str, Counter[str]] = defaultdict(Counter)
        self.running: dict[int, tuple[Mutant, int, float, bool]] = {}
        self.started, self.state = time.monotonic(), state
        self.done = 0

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        functions: Functions = defaultdict(list)
        for thing in gc.get_objects():
            if isinstance(thing, FunctionType):
                code = thing.__code__
                functions[code.co_filename, code.co_qualname, code.co_firstlineno].append(thing)
        gc.freeze()
        try:
            for mutant in self.mutants:
                tests = self.chosen(mutant)
                if not tests:
                    fate = "survived" if self.reach.tests(mutant) else "unreached"
                    self.note(mutant, fate, "", 0.0, False)
                    continue
                change = None if self.reach.at_import(mutant) else exchanges(mutant, functions)
                self.begin(mutant, [items[test] for test in tests], change)
                while len(self.running) >= self.jobs:
                    self.wait()
            while self.running:
                self.wait()
        finally:
            for pid in self.running:
                os.killpg(pid, signal.SIGKILL)
        return True

    def chosen(self, mutant: Mutant) -> list[str]:
        """The tests that reach it, within the limit: its own, those that have killed here, the fast ones."""
        kills, seconds = self.kills[mutant.file], self.reach.seconds
        endured = self.endured.get(mutant.id, ())
        left = [test for test in self.reach.tests(mutant) if test.partition("::")[0] not in endured]
        tests: list[str] = []
        total = 0.0
        name = f"test_{Path(mutant.file).name}::"  # its own tests come first
        for test in sorted(left, key=lambda t: (name not in t, -kills[t], seconds[t])):
            total += seconds[test]
            if tests and total > self.limit:
                break
            tests.append(test)
        return tests

    def begin(self, mutant: Mutant, items: list[pytest.Item], change: Exchanges | None) -> None:
        """Fork, exchange the code, run."""
        back, pipe = os.pipe()
        sys.stdout.flush()
        pid = os.fork()
        if pid:
            os.close(pipe)
            self.running[pid] = mutant, back, time.monotonic(), change is None
            return
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nowhere, stream)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        if change is None:
            Alone(mutant, [item.nodeid for item in items], self.reach, pipe).go()
        for function, code in change or ():
            function.__code__ = code
        run(items, self.reach, pipe)

    def wait(self) -> None:
        pid, status = os.wait()
        mutant, back, began, own = self.running.pop(pid)
        with open(back, encoding="utf-8", closefd=True) as file:
            killer = file.read()
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # what a test has left behind
        code = os.waitstatus_to_exitcode(status)
        fate = "survived" if code == 0 else "timeout" if code == -signal.SIGALRM else "killed"
        self.kills[mutant.file][killer] += fate == "killed"
        self.note(mutant, fate, killer, time.monotonic() - began, own)

    def note(self, mutant: Mutant, fate: str, killer: str, seconds: float, own: bool) -> None:
        """Write it down, and say how it goes."""
        row = {"id": mutant.id, "fate": fate, "by": killer, "seconds": round(seconds, 2), "tests": self.state}
        row |= {"imported": own, "limit": self.limit}
        with self.results.open("a") as file:
            file.write(json.dumps(row) + "\n")
        self.done += 1
        if fate in ALIVE or self.done % 50 == 0:
            each = (time.monotonic() - self.started) / self.done
            where = f"{mutant.file} {mutant.scope} {mutant.change}: {fate}" if fate != "killed" else ""
            print(f"{self.done}/{len(self.mutants)}, {each:.2f} s each  {where}", flush=True)
