"""What may be said about a failure in logs, exceptions, diagnostics and pages: where, which, and what was expected.

Never a value and never a key that a model or a document made up. ``safe_summary`` takes a report, a finding or an exception.
Of a foreign exception only its type and the place in the code are told: its message may quote whatever it choked on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType

from pydantic import ValidationError

from controller.checks.base import SpecError
from controller.reply import InfrastructureError
from controller.report import CheckReport, Finding
from controller.tokens import CounterUnavailable

MOST_LINES = 5
MOST_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class Line:
    """``path`` is a JSON pointer cut to the contract, a field of the envelope or a place in the code; ``code`` a check id, a
    fault or an error's type; ``expected`` words from the envelope or from this package."""

    path: str
    code: str
    expected: str = ""

    def __str__(self) -> str:
        words = " ".join(part for part in (self.code, self.path) if part)
        return f"{words}: {self.expected}" if self.expected else words


def safe_summary(about: CheckReport | Finding | BaseException) -> str:
    """One line of text, at most ``MOST_CHARACTERS`` characters, without control characters."""
    found = lines(about)
    more = f"; and {len(found) - MOST_LINES} more" if len(found) > MOST_LINES else ""
    text = "; ".join(str(line) for line in found[:MOST_LINES]) + more
    text = "".join(c if c.isprintable() else " " for c in text)
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"


def lines(about: CheckReport | Finding | BaseException) -> list[Line]:
    """The failures of a report, a finding, or the errors of an exception's chain, outermost first."""
    if isinstance(about, CheckReport):
        return [_of_finding(finding) for finding in about.failures]
    if isinstance(about, Finding):
        return [_of_finding(about)]
    return list(_of_errors(about))


def _of_finding(finding: Finding) -> Line:
    return Line(finding.pointer, finding.check, finding.expected)


def _of_errors(error: BaseException) -> Iterator[Line]:
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield from _of_error(link)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def _of_error(error: BaseException) -> Iterable[Line]:
    if isinstance(error, InfrastructureError):
        return [Line("", error.fault.value, error.detail)]
    if isinstance(error, SpecError):
        return [Line(field, "SpecError", message) for field, message in error.problems]
    if isinstance(error, CounterUnavailable):
        return [Line("tokens", "CounterUnavailable", str(error))]
    if isinstance(error, ValidationError):
        # The message of each would quote its input; the kind of error names what was expected well enough.
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        return [Line(".".join(_step(part) for part in p["loc"]), "ValidationError", p["type"]) for p in problems]
    return [Line(_raised_at(error.__traceback__), type(error).__name__)]


def _step(part: int | str) -> str:
    """A part of a place in an envelope. What is no plain word may be a key that somebody else chose."""
    return str(part) if isinstance(part, int) or (part.replace("_", "").isalnum() and len(part) <= 40) else "?"


def _raised_at(traceback: TracebackType | None) -> str:
    if traceback is None:
        return ""
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    module = traceback.tb_frame.f_globals.get("__name__", "?")
    return f"at {module}:{traceback.tb_lineno}"
