"""The mutants of a file: the changes of mutmut's operators, one at a time."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from difflib import ndiff
from pathlib import Path
from typing import NamedTuple

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

from tests.mutation import SOURCE


class Mutant(NamedTuple):
    """One change: where it is, what it looks like, and the file that has it."""

    file: str
    scope: str  # the function or method, or "" at the top
    change: str  # as in tests/mutants.md
    lines: range
    text: str
    id: str  # of the function as it is and the change


class Finder(cst.CSTVisitor):
    """Collects the changes of a file: node, what replaces it, its scopes, the lines of its statement.

    And the statement at the top of the file that it is in.
    """

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[cst.CSTNode, cst.CSTNode, tuple[cst.CSTNode, ...], range, cst.CSTNode]] = []
        self._above: list[cst.CSTNode] = []
        self._scope: list[cst.CSTNode] = []
        self._statement: list[cst.CSTNode] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Mutate a node; not annotations, decorators, messages of errors, aliases of types, __all__."""
        self._above.append(node)
        if isinstance(node, (cst.Annotation, cst.Decorator, cst.Import, cst.ImportFrom, cst.Raise)):
            return False
        if isinstance(node, (cst.Assign, cst.AugAssign)) and not self._scope and _is_no_value(node):
            return False
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            self._scope.append(node)
        elif isinstance(node, cst.SimpleStatementLine):
            self._statement.append(node)
        at = self.get_metadata(PositionProvider, self._statement[-1] if self._statement else node, None)
        for kind, operator in mutation_operators:
            if at is not None and isinstance(node, kind):
                lines = range(at.start.line, at.end.line + 1)
                top = self._above[:2][-1]
                self.found += [(node, new, tuple(self._scope), lines, top) for new in operator(node)]
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        self._above.pop()
        if self._scope and self._scope[-1] is original_node:
            self._scope.pop()
        if self._statement and self._statement[-1] is original_node:
            self._statement.pop()


def _is_no_value(node: cst.Assign | cst.AugAssign) -> bool:
    name = node.target if isinstance(node, cst.AugAssign) else node.targets[0].target
    value = node.value
    if isinstance(value, cst.Call) and isinstance(value.func, cst.Name) and value.func.value == "TypeVar":
        return True
    return isinstance(value, cst.Subscript) or (isinstance(name, cst.Name) and name.value == "__all__")


def _unchecked(code: str) -> str:
    """Code without `strict=True` of zip: where lengths are always equal, it checks and changes nothing."""
    return re.sub(r"strict=\w+|\s", "", code)


def mutants_of(path: Path) -> list[Mutant]:
    """All mutants of a file that compile."""
    text = path.read_text(encoding="utf-8")
    wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    finder = Finder()
    wrapper.visit(finder)
    mutants, seen = [], Counter[tuple[str, str]]()
    file = path.relative_to(SOURCE).as_posix()
    module = wrapper.module
    parts = [module.code_for_node(statement) for statement in module.body]
    if "".join(parts) != text:
        raise ValueError(f"{path} must be made of its statements alone: no comment before or after them")
    places = {id(statement): i for i, statement in enumerate(module.body)}
    for old, new, scopes, lines, top in finder.found:
        i = places[id(top)]
        changed = top.deep_replace(old, new)
        if not isinstance(changed, cst.CSTNode):
            continue
        mutated = "".join((*parts[:i], module.code_for_node(changed), *parts[i + 1 :]))
        try:
            compile(mutated, str(path), "exec", dont_inherit=True)
        except SyntaxError:
            continue
        around = lines.start - 1, lines.stop - 1 + mutated.count("\n") - text.count("\n")
        diff = list(
            ndiff(text.splitlines()[slice(around[0], lines.stop - 1)], mutated.splitlines()[slice(*around)])
        )
        was, now = (" ".join(d[2:].strip() for d in diff if d[0] == sign) for sign in "-+")
        if _unchecked(was) == _unchecked(now):
            continue
        scope = ".".join(getattr(s, "name").value for s in scopes)  # noqa: B009
        seen[scope, f"`{was}` -> `{now}`"] += 1
        n = seen[scope, f"`{was}` -> `{now}`"]
        change = f"`{was}` -> `{now}`" + (f" ({n})" if n > 1 else "")
        function = module.code_for_node(scopes[-1]) if scopes else ""
        key = hashlib.sha1("\0".join([file, scope, function, change]).encode()).hexdigest()[:16]
        mutants.append(Mutant(file, scope, change, lines, mutated, key))
    return mutants
