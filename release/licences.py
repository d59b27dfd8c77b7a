"""The licences of everything that Saltus and its extras need, as the packages themselves declare them.

    make licences    # writes docs/licences.md

It looks at what is installed in the environment that runs it, and follows the requirements from there.
"""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement

NOT_FOR_USERS = {"docs", "dev"}
HEAD = """# Licences

Saltus is under the [MIT licence](../LICENSE). It needs NumPy and SciPy; the rest below belongs to extras that
you choose, and comes with them alone. No package here is part of Saltus or copied into it.

`make licences` writes this page from what the packages declare themselves; `make sbom` writes the same for
machines, with versions and addresses (`dist/saltus.cdx.json`, CycloneDX).
"""


def plain(name: str) -> str:
    """A name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def required(name: str, extras: frozenset[str] = frozenset()) -> set[str]:
    """Everything that a package needs here, with these extras; what is not installed is left out."""
    found: set[str] = set()
    line = [(plain(name), extras)]
    seen = set()
    while line:
        package, wanted = line.pop()
        if (package, wanted) in seen:
            continue
        seen.add((package, wanted))
        try:
            requirements = distribution(package).requires or []
        except PackageNotFoundError:
            continue
        found.add(package)
        for requirement in map(Requirement, requirements):
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in wanted | {""}):
                line.append((plain(requirement.name), frozenset(requirement.extras)))
    return found - {plain(name)}


def licence(name: str) -> str:
    """What a package declares: an SPDX expression, a classifier, or the first line of its field."""
    data = distribution(name).metadata.json
    expression = data.get("license_expression")
    if expression:
        return str(expression)
    classifiers = [c.rpartition(" :: ")[2] for c in data.get("classifier", []) if c.startswith("License ::")]
    text = str(data.get("license") or "not declared")
    said = [c for c in classifiers if c != "OSI Approved"] or [text.strip().split("\n")[0]]
    return ", ".join(said)[:80]


def table(names: set[str]) -> str:
    """A line for each package."""
    rows = [f"| {distribution(name).metadata['Name']} | {licence(name)} |" for name in sorted(names)]
    return "\n".join(["| package | licence |", "|---|---|", *rows])


def main() -> None:
    """Print the page."""
    always = required("saltus")
    parts = [HEAD, "## Always", "", table(always)]
    for extra in sorted({*distribution("saltus").metadata.get_all("Provides-Extra", ())} - NOT_FOR_USERS):
        more = required("saltus", frozenset({extra})) - always
        parts += ["", f"## `saltus[{extra}]`", "", table(more)]
    print("\n".join(parts))


if __name__ == "__main__":
    main()
