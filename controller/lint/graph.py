"""Plans and the steps between them."""

from __future__ import annotations

from collections.abc import Iterator

from controller.envelope import Edge, Envelope, Plan
from controller.lint.base import Context, Found, Lint, Weight
from controller.report import SYNTAX_FAMILY, FailureClass

LINTS = (
    Lint(
        "plan-unreachable",
        Weight.BROKEN,
        "A plan can never be used",
        "No step leads to it from the first plan, and no fallback names it. It is signed for nothing.",
        "Add an edge to it, or remove the plan.",
    ),
    Lint(
        "plan-without-exit",
        Weight.LIKELY,
        "No step leads on from a plan",
        "When an attempt with this plan fails in a class that may be retried, the run stops with edge_missing although "
        "attempts are left.",
        "Add an edge from the plan for these groups, or put the class under classes.stop.",
    ),
    Lint(
        "edge-never-taken",
        Weight.BROKEN,
        "An edge can never be taken",
        "Edges are tried in order. An earlier one covers all that this one is for, or what it is for is never retried.",
        "Put the narrower edge first, or remove it.",
    ),
    Lint(
        "plans-never-differ",
        Weight.LIKELY,
        "Two plans say the same",
        "A retry under another name is the same attempt again.",
        "Make the second plan different, or use one plan.",
    ),
)


def look(envelope: Envelope, context: Context) -> Iterator[Found]:
    numbers = {plan.id: number for number, plan in enumerate(envelope.plans)}
    reached = reachable(envelope)
    for plan in envelope.plans:
        if plan.id not in reached:
            yield Found("plan-unreachable", f"plans[{numbers[plan.id]}]", f"No step leads to {plan.id}.")
        elif envelope.limits.attempts > 1:
            yield from _exits(envelope, plan, numbers[plan.id])
    yield from _edges(envelope)
    yield from _same(envelope)


def reachable(envelope: Envelope) -> set[str]:
    """The plans that a run can come to, by steps from the first one or by a fallback that names them."""
    reached = {envelope.graph.start}
    reached |= {plan for item in envelope.fallback if isinstance(plan := getattr(item, "plan", None), str)}
    while more := {edge.to for edge in envelope.graph.edges if reached & set(edge.from_)} - reached:
        reached |= more
    return reached


def retried(envelope: Envelope) -> dict[str, set[str]]:
    """Group → the triggers that an edge may name for it, for every group whose failure may be retried."""
    groups: dict[str, set[str]] = {}
    if envelope.classes.is_retried(FailureClass.SYNTAX):
        groups["syntax"] = {"syntax", *(c.value for c in SYNTAX_FAMILY)}
    if envelope.classes.is_retried(FailureClass.SCHEMA):
        groups["schema"] = {"schema"}
    for spec in envelope.checks:
        if envelope.classes.is_retried(spec.failure_class):
            groups.setdefault(spec.group, {spec.group}).add(spec.failure_class.value)
    return groups


def _exits(envelope: Envelope, plan: Plan, number: int) -> Iterator[Found]:
    named = {trigger for edge in envelope.graph.edges if plan.id in edge.from_ for trigger in edge.on}
    if "*" in named or _is_last(envelope, plan):
        return
    without = sorted(group for group, triggers in retried(envelope).items() if not triggers & named)
    if without:
        yield Found(
            "plan-without-exit", f"plans[{number}]", f"After {plan.id}, nothing follows when {', '.join(without)} failed."
        )


def _is_last(envelope: Envelope, plan: Plan) -> bool:
    """Whether the attempts are used up whenever the plan is: then it needs no exit."""
    steps, frontier, seen = 1, {envelope.graph.start}, {envelope.graph.start}
    while plan.id not in frontier:
        frontier = {edge.to for edge in envelope.graph.edges if frontier & set(edge.from_)} - seen
        if not frontier:
            return True  # only a fallback uses it
        seen |= frontier
        steps += 1
    return steps >= envelope.limits.attempts


def _edges(envelope: Envelope) -> Iterator[Found]:
    groups = retried(envelope)
    possible = {"*", "judgement", "truncated"}.union(groups, *groups.values())
    if envelope.judge is None:
        possible.discard("judgement")
    for number, edge in enumerate(envelope.graph.edges):
        where = f"graph.edges[{number}]"
        never = sorted(trigger for trigger in edge.on if trigger not in possible)
        if never:
            yield Found("edge-never-taken", f"{where}.on", f"{', '.join(never)} is never retried, so the edge never sees it.")
        earlier = [e for e in envelope.graph.edges[:number] if _covers(e, edge)]
        if earlier:
            yield Found("edge-never-taken", where, f"The edge to {earlier[0].to} before it covers the same failures.")


def _covers(earlier: Edge, later: Edge) -> bool:
    return set(later.from_) <= set(earlier.from_) and ("*" in earlier.on or set(later.on) <= set(earlier.on))


def _same(envelope: Envelope) -> Iterator[Found]:
    seen: dict[tuple[object, ...], str] = {}
    for number, plan in enumerate(envelope.plans):
        temperature = envelope.model.temperature if plan.temperature is None else plan.temperature
        key = (" ".join(plan.text.casefold().split()), plan.carries, temperature, envelope.output_tokens(plan))
        if key in seen:
            yield Found("plans-never-differ", f"plans[{number}]", f"{plan.id} says and sets the same as {seen[key]}.")
        seen.setdefault(key, plan.id)
