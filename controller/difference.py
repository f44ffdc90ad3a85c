"""What changed between two envelopes, by meaning: parts are matched by their ids, moved text is called moved.

Where it can be derived, a change says what it means: ``attempts 2 → 3: at most 9 calls instead of 6``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controller.budget import Bound, bound
from controller.envelope import Envelope


class Kind(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    MOVED = "moved"
    RENAMED = "renamed"


@dataclass(frozen=True, slots=True)
class Change:
    """One change. ``area`` is where it belongs (plans, checks, limits …), ``name`` the part's id or the field, ``field`` the
    field inside the part. ``before``/``after`` are texts, empty where there was or is nothing. ``meaning`` may be empty.
    """

    kind: Kind
    area: str
    name: str
    field: str = ""
    before: str = ""
    after: str = ""
    meaning: str = ""

    @property
    def anchor(self) -> str:
        """A stable name for deep links."""
        return (
            "-".join(part for part in (self.area, self.name, self.field) if part).replace("/", "-").replace(" ", "-") or "whole"
        )


_LISTS = (("plans", "id"), ("checks", "id"), ("templates", "for"), ("fallback", "id"))
_TEXTS = ("title", "invariants", "task_text", "reminder", "contract_text")
_GROUPS = ("model", "tokens", "classes", "infrastructure", "sampling", "breaker")


def compare(before: Envelope, after: Envelope) -> tuple[Change, ...]:
    """Every change, in the order in which an envelope is read; nothing where both have the same digest."""
    old, new = _data(before), _data(after)
    plain = ("task", *_TEXTS, "tolerant_fence")
    return (
        *_fields("", {key: old[key] for key in plain}, {key: new[key] for key in plain}),
        *(change for area in _GROUPS for change in _fields(area, old[area], new[area])),
        *_schema(old["contract"], new["contract"]),
        *(change for area, key in _LISTS for change in _parts(area, key, old[area], new[area])),
        *_edges(old["graph"], new["graph"]),
        *_limits(before, after, old["limits"], new["limits"]),
        *_judge(old["judge"], new["judge"]),
    )


def _data(envelope: Envelope) -> dict[str, Any]:
    data: dict[str, Any] = envelope.model_dump(mode="json", by_alias=True)
    return data


def bound_sentence(before: Bound, after: Bound) -> str:
    """What one record may cost at most now, where that differs; empty where it does not."""
    parts = [
        f"at most {new:,} {unit} instead of {old:,}"
        for old, new, unit in (
            (before.calls, after.calls, "calls"),
            (before.tokens, after.tokens, "tokens"),
            (before.milliseconds // 1000, after.milliseconds // 1000, "seconds"),
        )
        if old != new
    ]
    return ", ".join(parts)


def shown(value: object) -> str:
    """A value as people read it in a diff: text as it is, the rest as compact JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


def _fields(area: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    """Changes of the fields of one mapping, nested mappings by their dotted names."""
    for name in dict.fromkeys([*old, *new]):
        was, now = old.get(name), new.get(name)
        if was == now:
            continue
        if isinstance(was, dict) and isinstance(now, dict):
            for change in _fields(area, was, now):
                yield Change(change.kind, area, f"{name}.{change.name}", "", change.before, change.after)
            continue
        kind = Kind.ADDED if was in (None, "") else Kind.REMOVED if now in (None, "") else Kind.CHANGED
        yield Change(kind, area or name, name if area else "", "", shown(was), shown(now))


def _parts(area: str, key: str, old: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]]) -> Iterator[Change]:
    """Changes of a list whose items have names: added, removed, renamed, moved, changed field by field."""
    was, now = {item[key]: item for item in old}, {item[key]: item for item in new}
    gone, come = [name for name in was if name not in now], [name for name in now if name not in was]
    for name in list(gone):
        twin = next((other for other in come if _bare(was[name], key) == _bare(now[other], key)), None)
        if twin is not None:
            gone.remove(name)
            come.remove(twin)
            yield Change(Kind.RENAMED, area, twin, "", name, twin)
    for name in gone:
        yield Change(Kind.REMOVED, area, name, "", _summary(was[name], key), "", _REMOVED.get(area, ""))
    for name in come:
        yield Change(Kind.ADDED, area, name, "", "", _summary(now[name], key), _ADDED.get(area, ""))
    for name in (name for name in now if name in was):
        for field in dict.fromkeys([*was[name], *now[name]]):
            before, after = was[name].get(field), now[name].get(field)
            if before != after:
                yield Change(Kind.CHANGED, area, name, field, shown(before), shown(after))
    yield from _moved(area, list(was), list(now))


def _moved(area: str, old: list[str], new: list[str]) -> Iterator[Change]:
    """Parts that stand in another order among those that both have: the fewest moves that explain it."""
    kept = [name for name in new if name in old]
    order = [name for name in old if name in new]
    still = _longest_common(order, kept)
    for name in kept:
        if name not in still:
            meaning = _MOVED.get(area, "")
            yield Change(Kind.MOVED, area, name, "", f"place {order.index(name) + 1}", f"place {kept.index(name) + 1}", meaning)


def _longest_common(old: list[str], new: list[str]) -> set[str]:
    """The names of a longest run of parts that are in the same order in both (longest increasing subsequence)."""
    place = {name: number for number, name in enumerate(old)}
    tails: list[tuple[int, str]] = []
    previous: dict[str, str | None] = {}
    for name in new:
        number = place[name]
        at = next((i for i, (tail, _) in enumerate(tails) if tail >= number), len(tails))
        previous[name] = tails[at - 1][1] if at else None
        tails[at : at + 1] = [(number, name)]
    kept: set[str] = set()
    name_or_none = tails[-1][1] if tails else None
    while name_or_none is not None:
        kept.add(name_or_none)
        name_or_none = previous[name_or_none]
    return kept


def _bare(item: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name != key}


def _summary(item: Mapping[str, Any], key: str) -> str:
    text = item.get("text")
    rest = {name: value for name, value in item.items() if name not in (key, "text") and value not in (None, [], {}, "")}
    return "\n".join(part for part in (text, shown(rest) if rest else "") if isinstance(part, str) and part)


_ADDED = {
    "checks": "A reply must keep one more rule: more are refused, fewer are wrong.",
    "templates": "After this failure, the next attempt is told something.",
    "fallback": "One more way out after the attempts have stopped.",
}
_REMOVED = {
    "checks": "What this rule refused may be accepted now.",
    "templates": "After this failure, the next attempt is told nothing of its own any more.",
    "fallback": "One way out less: more records may go to a person.",
}
_MOVED = {"fallback": "The menu is tried in order: this item now has its turn at another time."}


def _edges(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    """Steps between plans, each as the sentence that it stands for."""
    if old["start"] != new["start"]:
        meaning = f"Every record begins with the plan {new['start']}."
        yield Change(Kind.CHANGED, "graph", "start", "", old["start"], new["start"], meaning)
    was, now = [_step(edge) for edge in old["edges"]], [_step(edge) for edge in new["edges"]]
    for step in was:
        if step not in now:
            yield Change(Kind.REMOVED, "graph", step, "", step, "")
    for step in now:
        if step not in was:
            yield Change(Kind.ADDED, "graph", step, "", "", step)
    if len(set(was)) == len(was) and len(set(now)) == len(now):
        for change in _moved("graph", was, now):
            yield Change(
                change.kind, "graph", change.name, "", change.before, change.after, "The first edge that fits is taken."
            )


def _step(edge: Mapping[str, Any]) -> str:
    return f"{' or '.join(edge['from'])} → {edge['to']} when {' or '.join(edge['on'])} failed"


def _limits(before: Envelope, after: Envelope, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    """Each changed limit, with the bound as it would be if only this limit had changed."""
    for change in _fields("limits", old, new):
        yield Change(
            change.kind, "limits", change.name, "", change.before, change.after, _limit_meaning(before, new, change.name)
        )
    sentence = bound_sentence(bound(before), bound(after))
    if sentence:
        yield Change(Kind.CHANGED, "bound", "one record", "", _bound(before), _bound(after), f"One record: {sentence}.")


def _limit_meaning(before: Envelope, new: Mapping[str, Any], name: str) -> str:
    group, _, inner = name.partition(".")
    value = new[group][inner] if inner else new[group]
    limits = before.limits
    if inner:
        limits = limits.model_copy(update={"caps": limits.caps.model_copy(update={inner: value})})
    else:
        limits = limits.model_copy(update={group: value})
    sentence = bound_sentence(bound(before), bound(before.model_copy(update={"limits": limits})))
    if sentence:
        return f"{sentence[:1].upper()}{sentence[1:]}."
    return _LIMITS.get(group, "")


_LIMITS = {
    "same_signature": "How often exactly the same failure is tolerated.",
    "same_shape": "How often the same kind of failure is tolerated.",
    "same_plan": "How often one plan is used.",
    "no_progress": "How many retries without fewer failures are tolerated.",
    "repairs": "How many attempts may carry the previous output.",
    "call_timeout_ms": "How long one call may take.",
    "total_tokens": "A call that could exceed this is not made.",
}


def _bound(envelope: Envelope) -> str:
    most = bound(envelope)
    return f"{most.calls:,} calls, {most.milliseconds / 1000:g} s, {most.tokens:,} tokens"


def _judge(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> Iterator[Change]:
    if old is None or new is None:
        if old != new:
            kind, meaning = (
                (Kind.ADDED, "A model judges what passed every check.") if old is None else (Kind.REMOVED, "No model judges.")
            )
            yield Change(kind, "judge", "", "", shown(old), shown(new), meaning)
        return
    plain = [{name: value for name, value in judge.items() if name != "criteria"} for judge in (old, new)]
    yield from _fields("judge", *plain)
    yield from _parts("criteria", "id", old["criteria"], new["criteria"])


def _schema(old: Mapping[str, Any], new: Mapping[str, Any], where: str = "") -> Iterator[Change]:
    """Changes of the contract at the place where they are, by JSON pointer into the schema."""
    for name in dict.fromkeys([*old, *new]):
        place = f"{where}/{name}"
        was, now = old.get(name, _ABSENT), new.get(name, _ABSENT)
        if was == now and type(was) is type(now):
            continue
        if isinstance(was, dict) and isinstance(now, dict):
            yield from _schema(was, now, place)
        elif isinstance(was, list) and isinstance(now, list) and name in ("required", "enum", "type"):
            yield from _members(name, place, was, now)
        else:
            kind = Kind.ADDED if was is _ABSENT else Kind.REMOVED if now is _ABSENT else Kind.CHANGED
            texts = ["" if value is _ABSENT else "null" if value is None else shown(value) for value in (was, now)]
            yield Change(kind, "contract", place, "", *texts)


_ABSENT: Any = object()
_MEANT = {
    ("required", Kind.ADDED): "A reply without this field is refused now.",
    ("required", Kind.REMOVED): "A reply without this field can pass now.",
    ("enum", Kind.ADDED): "One more value can pass.",
    ("enum", Kind.REMOVED): "This value is refused now.",
    ("type", Kind.ADDED): "Values of this type can pass now.",
    ("type", Kind.REMOVED): "Values of this type are refused now.",
}


def _members(name: str, place: str, old: list[Any], new: list[Any]) -> Iterator[Change]:
    for value in (value for value in old if value not in new):
        yield Change(Kind.REMOVED, "contract", place, shown(value), shown(value), "", _MEANT[name, Kind.REMOVED])
    for value in (value for value in new if value not in old):
        yield Change(Kind.ADDED, "contract", place, shown(value), "", shown(value), _MEANT[name, Kind.ADDED])
    if sorted(map(repr, old)) == sorted(map(repr, new)) and old != new:
        yield Change(Kind.MOVED, "contract", place, "", shown(old), shown(new), "The order says nothing.")
