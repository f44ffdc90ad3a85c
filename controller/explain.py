"""An envelope in words for someone who does not program: told, told after a failure, stops, then, at most."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from controller.budget import Bound, bound
from controller.checks import CHECKS
from controller.envelope import IMPLICIT_CHECKS, Edge, Envelope, Limits, Template
from controller.fallbacks import FALLBACKS
from controller.ledger import template_for
from controller.prompt import contract_block

_NOT_SETTINGS = {"id", "group", "kind", "class", "when", "hint"}
_IMPLICIT = {
    "finish": "The reply ends by itself: not cut off, not refused, not filtered.",
    "json": "The reply is exactly one valid JSON value.",
    "schema": "The reply keeps the contract.",
}


@dataclass(frozen=True, slots=True)
class CheckView:
    """One check and what the model may be told when it fails; ``said`` is empty where nothing may be said."""

    id: str
    group: str
    sentence: str
    settings: str
    condition: str
    said: str


@dataclass(frozen=True, slots=True)
class PlanView:
    id: str
    text: str
    carries: str
    output_tokens: int
    is_start: bool
    follows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FallbackView:
    id: str
    kind: str
    sentence: str
    settings: str


@dataclass(frozen=True, slots=True)
class StepView:
    """What follows when a group of checks failed after a plan: the next plan (empty: the run stops), and what it is told."""

    plan: str
    group: str
    to: str
    told: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The whole page as plain data."""

    content: Envelope
    contract_text: str
    plans: tuple[PlanView, ...]
    steps: tuple[StepView, ...]
    checks: tuple[CheckView, ...]
    stops: tuple[str, ...]
    retried: str
    fallbacks: tuple[FallbackView, ...]
    bound: Bound


def explain(content: Envelope) -> Explanation:
    """The envelope in words. Pure: the same envelope gives the same words."""
    return Explanation(
        content=content,
        contract_text=contract_block(content),
        plans=tuple(_plans(content)),
        steps=tuple(_steps(content)),
        checks=tuple(_checks(content)),
        stops=(*_stops(content.limits), _infrastructure(content)),
        retried=_retried(content),
        fallbacks=tuple(_fallback(item) for item in content.fallback),
        bound=bound(content),
    )


def _plans(content: Envelope) -> Iterable[PlanView]:
    for plan in content.plans:
        follows = tuple(_edge(edge) for edge in content.graph.edges if edge.to == plan.id)
        carries = " and ".join(
            {"previous_output": "its previous reply", "errors": "what was wrong in it"}[c] for c in plan.carries
        )
        yield PlanView(plan.id, plan.text, carries, content.output_tokens(plan), plan.id == content.graph.start, follows)


def _steps(content: Envelope) -> Iterator[StepView]:
    """For every plan and every group of checks: the plan that follows first, and the directives that it may carry."""
    groups = {group: (_IMPLICIT_CLASS[check],) for check, group in IMPLICIT_CHECKS.items() if group != "finish"}
    for spec in content.checks:
        groups[spec.group] = tuple(dict.fromkeys((*groups.get(spec.group, ()), spec.failure_class.value)))
    for plan in content.plans:
        for group, classes in groups.items():
            names = {group, "*", *classes}
            to = next((e.to for e in content.graph.edges if plan.id in e.from_ and names & set(e.on)), "")
            told = dict.fromkeys(_said(template_for(check, group, content)) for check in _checks_of(content, group))
            yield StepView(plan.id, group, to, tuple(text for text in told if text))


_IMPLICIT_CLASS = {"json": "syntax", "schema": "schema", "finish": "truncated"}


def _checks_of(content: Envelope, group: str) -> list[str]:
    implicit = [check for check, its in IMPLICIT_CHECKS.items() if its == group]
    return implicit + [spec.id for spec in content.checks if spec.group == group]


def _edge(edge: Edge) -> str:
    on = "anything" if "*" in edge.on else _either(edge.on)
    return f"after {_either(edge.from_)}, when {on} failed"


def _either(names: Iterable[str]) -> str:
    words = [name.replace("_", " ") for name in names]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _checks(content: Envelope) -> Iterable[CheckView]:
    for check, group in IMPLICIT_CHECKS.items():
        yield CheckView(check, group, _IMPLICIT[check], "", "", _said(template_for(check, group, content)))
    for spec in content.checks:
        sentence = spec.hint or _sentence(CHECKS[spec.kind])
        said = _said(template_for(spec.id, spec.group, content))
        yield CheckView(spec.id, spec.group, sentence, _settings(spec), spec.when or "", said)


def _said(template: Template | None) -> str:
    return template.text if template is not None else ""


def _sentence(module: Any) -> str:
    """Each check's and fallback's module says in its first line, for people, what it stands for."""
    return (inspect.getdoc(module) or "").splitlines()[0]


def _settings(spec: BaseModel) -> str:
    """The spec's own settings, without those that say nothing: ``at /total, locale auto``."""
    data = spec.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return ", ".join(f"{name.replace('_', ' ')} {_setting(value)}" for name, value in data.items() if name not in _NOT_SETTINGS)


def _setting(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return " ".join(value)
    return json.dumps(value, ensure_ascii=False)


def _fallback(item: Any) -> FallbackView:
    return FallbackView(item.id, item.kind.replace("_", " "), _sentence(FALLBACKS[item.kind]), _settings(item))


def _stops(limits: Limits) -> Iterable[str]:
    repairs = f"at most {_count(limits.repairs, 'repair')} among them" if limits.repairs else "none of them a repair"
    yield f"after {_count(limits.attempts, 'attempt')}, {repairs}"
    yield f"after {limits.elapsed_ms / 1000:g} seconds in total, {limits.call_timeout_ms / 1000:g} seconds for a single call"
    yield f"before a call that could bring the run above {limits.total_tokens:,} tokens"
    yield f"when the same checks failed at the same places {_count(limits.same_signature, 'time')}"
    yield f"when the same checks failed at the same kind of place {_count(limits.same_shape, 'time')}"
    yield f"when one plan was used {_count(limits.same_plan, 'time')}"
    yield f"after {_count(limits.no_progress, 'retry', 'retries')} in a row without fewer failures"
    yield "when a retry lost required data or failed in a worse way"
    yield "when a part of the prompt is larger than its cap: nothing is cut, nothing is sent"


def _infrastructure(content: Envelope) -> str:
    if not content.infrastructure.retries:
        return "as soon as the endpoint does not answer a call"
    first, longest = content.infrastructure.backoff_ms
    retries = _count(content.infrastructure.retries, "repetition")
    return (
        f"when the endpoint still does not answer after {retries} of a call, waiting from {first / 1000:g} "
        f"up to {longest / 1000:g} seconds in between"
    )


def _count(number: int, word: str, several: str = "") -> str:
    return f"{number:,} {word if number == 1 else several or word + 's'}"


def _retried(content: Envelope) -> str:
    retry = [c.value for c in content.classes.retry]
    stop = [c.value for c in content.classes.stop]
    again = f"Asked again after failures of class {_either(retry)}." if retry else "Never asked again after a failed reply."
    return f"{again} Stopped at once by {_either(stop)}." if stop else again
