"""The envelope: what a person signs once per version, as frozen pydantic models with canonical bytes and a digest.

Authored as YAML, stored and signed as RFC 8785 JSON with every default written out, so that a default that changes in a later
release cannot change what was signed. All counts are integers; times are milliseconds; caps and budgets are in tokens of the
declared counter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Final, Literal

import rfc8785
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SerializeAsAny, model_validator

from controller.checks import spec_from as check_from
from controller.checks.base import CheckSpec
from controller.fallbacks import spec_from as fallback_from
from controller.fallbacks.base import FallbackSpec
from controller.report import SYNTAX_FAMILY, FailureClass, SlotType

FORMAT: Final = "countersign.envelope/1"

Slug = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,63}$")]
Text = Annotated[str, Field(min_length=1, max_length=200_000)]
Count = Annotated[int, Field(ge=0, le=1_000_000_000, strict=True)]
Positive = Annotated[int, Field(ge=1, le=1_000_000_000, strict=True)]
Share = Annotated[float, Field(ge=0, le=1)]

IMPLICIT_CHECKS = {"finish": "finish", "json": "syntax", "schema": "schema"}
"""Checks that every envelope has without naming them: id → group."""


JUDGEMENT_GROUP = "judgement"
"""The group of a judge's criteria, for templates and edges."""


class Part(BaseModel):
    """Base of everything inside an envelope: unknown fields are errors, nothing changes after it was read."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Model(Part):
    """How the endpoint behind ``alias`` is asked. ``temperature`` has two decimals at most."""

    alias: Slug
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    seed: int | None = 0
    response_format: Literal["none", "json_object", "json_schema"] = "none"
    max_output_tokens: Positive
    context_window: Positive


class Tokens(Part):
    """``utf8_bytes`` is an upper bound for byte-level BPE; ``tokenizer_file`` counts exactly with a file of this hash."""

    counter: Literal["utf8_bytes", "tokenizer_file"] = "utf8_bytes"
    path: str | None = None
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None

    @model_validator(mode="after")
    def _file_is_named(self) -> Tokens:
        named = self.path is not None and self.sha256 is not None
        if self.counter == "tokenizer_file" and not named:
            raise ValueError("counter tokenizer_file needs path and sha256")
        if self.counter == "utf8_bytes" and (self.path is not None or self.sha256 is not None):
            raise ValueError("counter utf8_bytes takes no path and no sha256")
        return self


class Plan(Part):
    """One approved set of instructions. A plan that carries ``previous_output`` is a repair and counts as one."""

    id: Slug
    text: Text
    carries: tuple[Literal["previous_output", "errors"], ...] = ()
    max_output_tokens: Positive | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None

    @property
    def is_repair(self) -> bool:
        return "previous_output" in self.carries


def _as_tuple(value: object) -> object:
    return (value,) if isinstance(value, str) else value


class Edge(Part):
    """``to`` may follow ``from`` when one of the groups or failure classes in ``on`` failed; ``*`` stands for any."""

    from_: Annotated[tuple[str, ...], BeforeValidator(_as_tuple), Field(alias="from", min_length=1)]
    on: Annotated[tuple[str, ...], BeforeValidator(_as_tuple), Field(min_length=1)]
    to: str


class Graph(Part):
    start: str
    edges: tuple[Edge, ...] = ()


class Slot(Part):
    """A typed hole in a directive. ``model_text`` alone may hold the reply's own text: capped, marked as data."""

    type: SlotType
    max_chars: Annotated[int, Field(ge=1, le=500)] = 80

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, data: object) -> object:
        return {"type": data} if isinstance(data, str) else data


class Template(Part):
    """The feedback for a failing check (or any check of a group): fixed words with ``{slot}`` holes."""

    for_: Annotated[str, Field(alias="for")]
    text: Annotated[str, Field(min_length=1, max_length=2000)]
    slots: Mapping[str, Slot] = {}


class Classes(Part):
    """Which failure classes may be retried. What is not named follows its family; see ``is_retried``."""

    retry: tuple[FailureClass, ...] = ()
    stop: tuple[FailureClass, ...] = ()

    @model_validator(mode="after")
    def _disjoint_and_possible(self) -> Classes:
        both = set(self.retry) & set(self.stop)
        if both:
            raise ValueError(f"{sorted(both)[0].value} is both retried and stopped")
        for hopeless in (FailureClass.MISSING_SOURCE_DATA, FailureClass.POLICY_REJECTION, FailureClass.CONTEXT_OVERFLOW):
            if hopeless in self.retry:
                raise ValueError(f"{hopeless.value} cannot be retried: it stops at once")
        if FailureClass.INFRASTRUCTURE in self.retry or FailureClass.INFRASTRUCTURE in self.stop:
            raise ValueError("infrastructure has its own counter: see infrastructure.retries")
        return self

    def is_retried(self, failure_class: FailureClass) -> bool:
        """Whether a new attempt may follow. An unnamed syntax kind follows ``syntax``, ``judgement`` follows ``business``."""
        if failure_class in self.retry:
            return True
        if failure_class in self.stop:
            return False
        if failure_class in SYNTAX_FAMILY:
            return FailureClass.SYNTAX in self.retry
        if failure_class is FailureClass.JUDGEMENT:
            return FailureClass.BUSINESS in self.retry
        return False


class Caps(Part):
    """The most tokens that each block may have, framing included. A block over its cap is never sent and never cut."""

    invariants: Count
    document: Count
    contract: Count
    plan: Count
    ledger: Count
    task: Count
    reminder: Count
    previous_output: Count = 0
    errors: Count = 0

    @property
    def total(self) -> int:
        return sum(value for _, value in self)


class Limits(Part):
    """When a run stops trying. Every limit must be written; 0 means none, and there is no "unlimited"."""

    attempts: Annotated[int, Field(ge=0, le=50, strict=True)]
    repairs: Annotated[int, Field(ge=0, le=50, strict=True)]
    elapsed_ms: Positive
    call_timeout_ms: Positive
    total_tokens: Count
    same_signature: Annotated[int, Field(ge=2, le=50, strict=True)]
    same_shape: Annotated[int, Field(ge=2, le=50, strict=True)]
    same_plan: Annotated[int, Field(ge=1, le=50, strict=True)]
    no_progress: Annotated[int, Field(ge=1, le=50, strict=True)]
    caps: Caps


class Infrastructure(Part):
    """How often a call without a reply is tried again per run, and how long to wait: first and longest backoff."""

    retries: Annotated[int, Field(ge=0, le=50, strict=True)]
    backoff_ms: tuple[Positive, Positive]

    @model_validator(mode="after")
    def _grows(self) -> Infrastructure:
        if self.backoff_ms[0] > self.backoff_ms[1]:
            raise ValueError("backoff_ms is [first, longest]: the first is larger than the longest")
        return self


class Criterion(Part):
    """What the judge is asked. A failed ``required`` criterion fails the output whatever the score."""

    id: Slug
    text: Annotated[str, Field(min_length=1, max_length=2000)]
    weight: Annotated[int, Field(ge=1, le=100, strict=True)] = 1
    required: bool = False


class Judge(Part):
    """Model-graded criteria over an output that passed every check. ``votes`` judges vote on each criterion; odd."""

    alias: Slug
    instructions: Text
    criteria: Annotated[tuple[Criterion, ...], Field(min_length=1, max_length=20)]
    threshold: Annotated[int, Field(ge=0, strict=True)]
    votes: Literal[1, 3, 5] = 1
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    max_output_tokens: Positive = 512
    cap: Positive = 8000
    on_eval_error: Literal["accept", "dead_letter"] = "dead_letter"

    @model_validator(mode="after")
    def _threshold_is_meant(self) -> Judge:
        total = sum(c.weight for c in self.criteria)
        if self.threshold > total:
            raise ValueError(f"threshold {self.threshold} is above the sum of the weights, {total}: nothing could pass")
        ids = [c.id for c in self.criteria]
        if len(set(ids)) != len(ids):
            raise ValueError("two criteria have the same id")
        return self


class Strata(Part):
    """How many times the base rate each stratum is sampled at."""

    fallback: Annotated[int, Field(ge=1, le=100, strict=True)] = 3
    retried: Annotated[int, Field(ge=1, le=100, strict=True)] = 2
    low_judge: Annotated[int, Field(ge=1, le=100, strict=True)] = 2


class Sampling(Part):
    """The share of accepted outputs that people grade, the least per stratum, and the share graded twice."""

    rate: Share = 0.05
    min_per_stratum: Annotated[int, Field(ge=0, le=10_000, strict=True)] = 10
    strata: Strata = Strata()
    double: Share = 0.2
    rubric: Annotated[str, Field(max_length=20_000)] = ""


class Excess(Part):
    """An excess counter: pauses when failures run ``h`` above what ``limit`` allows over any recent stretch."""

    limit: Annotated[float, Field(gt=0, lt=1)]
    h: Annotated[int, Field(ge=1, le=1000, strict=True)]


class Breaker(Part):
    dead_letters: Excess = Excess(limit=0.10, h=4)
    silent: Excess = Excess(limit=0.10, h=3)
    ungraded: Annotated[int, Field(ge=1, le=100_000, strict=True)] = 30
    second_person: bool = False


def _check_specs(value: object) -> object:
    return (
        tuple(check_from(item) if isinstance(item, dict) else item for item in value)
        if isinstance(value, list | tuple)
        else value
    )


def _fallback_specs(value: object) -> object:
    items = value if isinstance(value, list | tuple) else None
    return value if items is None else tuple(fallback_from(item) if isinstance(item, dict) else item for item in items)


class Envelope(Part):
    """Everything that a run may do. See DESIGN §1 and docs/envelope.md for each field in plain words."""

    format: Literal["countersign.envelope/1"] = FORMAT
    task: Slug
    title: Annotated[str, Field(max_length=200)] = ""
    model: Model
    tokens: Tokens = Tokens()
    invariants: Text
    task_text: Text
    reminder: Annotated[str, Field(max_length=20_000)] = ""
    plans: Annotated[tuple[Plan, ...], Field(min_length=1, max_length=50)]
    graph: Graph
    contract: dict[str, Any]
    contract_text: Annotated[str, Field(max_length=50_000)] = ""
    tolerant_fence: bool = False
    checks: Annotated[tuple[SerializeAsAny[CheckSpec], ...], BeforeValidator(_check_specs)] = ()
    templates: tuple[Template, ...] = ()
    classes: Classes
    limits: Limits
    infrastructure: Infrastructure
    fallback: Annotated[tuple[SerializeAsAny[FallbackSpec], ...], BeforeValidator(_fallback_specs)] = ()
    judge: Judge | None = None
    sampling: Sampling = Sampling()
    breaker: Breaker = Breaker()

    @model_validator(mode="after")
    def _refers_to_what_exists(self) -> Envelope:
        plans = _unique("plan", [plan.id for plan in self.plans])
        _unique("check", [check.id for check in self.checks] + list(IMPLICIT_CHECKS))
        _unique("fallback", [item.id for item in self.fallback])
        _unique("template for", [template.for_ for template in self.templates])
        groups = {check.group for check in self.checks} | set(IMPLICIT_CHECKS.values())
        criteria = [criterion.id for criterion in self.judge.criteria] if self.judge is not None else []
        _unique("check or criterion", [check.id for check in self.checks] + criteria)
        groups |= {JUDGEMENT_GROUP} if criteria else set()
        triggers = groups | {c.value for c in FailureClass} | {"*"}
        if self.graph.start not in plans:
            raise ValueError(
                f"graph.start names the plan {self.graph.start!r}, which does not exist; plans: {', '.join(plans)}"
            )
        for number, edge in enumerate(self.graph.edges):
            for plan in (*edge.from_, edge.to):
                if plan not in plans:
                    raise ValueError(f"graph.edges[{number}] names the plan {plan!r}, which does not exist")
            for name in edge.on:
                if name not in triggers:
                    raise ValueError(f"graph.edges[{number}].on names {name!r}, which is no check group and no failure class")
        ids = {check.id for check in self.checks} | set(IMPLICIT_CHECKS) | set(criteria)
        for number, template in enumerate(self.templates):
            if template.for_ not in ids | groups:
                raise ValueError(f"templates[{number}].for names {template.for_!r}, which is no check and no check group")
        if self.limits.call_timeout_ms > self.limits.elapsed_ms:
            raise ValueError("limits.call_timeout_ms is longer than limits.elapsed_ms: no call could ever use it")
        for item in self.fallback:
            item.check_against(plans)
        return self

    def plan(self, plan_id: str) -> Plan | None:
        return next((plan for plan in self.plans if plan.id == plan_id), None)

    def output_tokens(self, plan: Plan) -> int:
        return plan.max_output_tokens or self.model.max_output_tokens

    def canonical(self) -> bytes:
        """RFC 8785 bytes with every default written out: what approvals bind to."""
        return rfc8785.dumps(_plain(self.model_dump(mode="json", by_alias=True)))

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical bytes as 64 hex digits."""
        return hashlib.sha256(self.canonical()).hexdigest()


def _unique(what: str, names: list[str]) -> list[str]:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{what} {twice[0]!r} is there twice")
    return names


def _plain(value: Any) -> Any:
    """JSON types only; a Decimal from a hand-written schema becomes the nearest double, as RFC 8785 has no other number."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def from_canonical(data: bytes) -> Envelope:
    """The envelope in stored bytes. Raises ``pydantic.ValidationError`` where they are not one."""
    return Envelope.model_validate_json(data)


def digest_of(data: bytes) -> str:
    """SHA-256 of stored canonical bytes; compare with what was signed before reading them."""
    return hashlib.sha256(data).hexdigest()
