"""The document has what the task needs; looked at before any call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from controller.checks.base import PATH_FACT, Check, CheckSpec, RuleClass, Subject, reporter
from controller.checks.patterns import compile_pattern
from controller.report import FailureClass, Finding, Span

FACTS = PATH_FACT


class Spec(CheckSpec):
    """``patterns`` are RE2 searches. The usual class is ``missing_source_data``: no retry can supply what is not printed."""

    document_only: ClassVar[bool] = True

    kind: Literal["document_has"] = "document_has"
    patterns: Annotated[tuple[str, ...], Field(min_length=1, max_length=50)]
    match: Literal["all", "any"] = "all"
    says: str = Field(default="", max_length=200, description="What is looked for, in plain words.")
    failure_class: RuleClass = Field(default=FailureClass.MISSING_SOURCE_DATA, alias="class")


def compile(spec: Spec, contract: Mapping[str, Any]) -> Check:
    patterns = [compile_pattern(source, f"patterns.{place}") for place, source in enumerate(spec.patterns)]
    say = reporter(spec, contract)
    expected = spec.says or f"a document in which {spec.match} of these occur: {', '.join(spec.patterns)}"

    def check(subject: Subject) -> Iterable[Finding]:
        return subject.document.derived(("document_has", spec), lambda text: (_finding(text),))

    def _finding(text: str) -> Finding:
        found = [pattern.search(text) for pattern in patterns]
        spans = [Span(*match.span()) for match in found if match]
        has = bool(spans) if spec.match == "any" else len(spans) == len(patterns)
        return say.passed("", expected, spans=spans) if has else say.failed("", expected, spans=spans)

    return check
