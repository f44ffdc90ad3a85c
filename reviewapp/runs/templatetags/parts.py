"""The small parts that every page is made of: states, times, sizes."""

from __future__ import annotations

from datetime import datetime

from django import template
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from controller.fuse import WORDS, Fuse
from reviewapp import states

register = template.Library()


@register.simple_tag
def shape(name: str, tone: str = "quiet") -> SafeString:
    """A symbol of static/shapes.svg; decoration only, the word stands beside it."""
    return format_html(
        '<svg class="shape tone-{}" aria-hidden="true" focusable="false"><use href="{}#{}"></use></svg>',
        tone,
        static("shapes.svg"),
        name,
    )


@register.simple_tag
def icon(name: str) -> SafeString:
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}#{}"></use></svg>', static("shapes.svg"), name)


@register.simple_tag
def state(kind: str, value: str) -> SafeString:
    """Shape, word and colour of a state: ``{% state "run" run.status %}``."""
    look = states.look(kind, value)
    return format_html('<span class="state">{}{}</span>', shape(look.shape, look.tone), look.word)


@register.simple_tag
def knot(kind: str, value: str) -> SafeString:
    """The shape of a state alone, where its word stands beside it anyway."""
    look = states.look(kind, value)
    return shape(look.shape, look.tone)


@register.simple_tag
def when(moment: datetime | None, empty: str = "not yet") -> SafeString | str:
    """A point in time to the minute, with the second and zone on hover."""
    if moment is None:
        return empty
    local = timezone.localtime(moment)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        local.isoformat(timespec="seconds"),
        f"{local:%Y-%m-%d %H:%M:%S %Z}",
        f"{local:%d %b %Y %H:%M}",
    )


@register.simple_tag
def age(moment: datetime | None, now: datetime | None = None) -> SafeString | str:
    """How long ago, in its two largest units, with the moment on hover."""
    if moment is None:
        return "–"
    seconds = max(0, int(((now or timezone.now()) - moment).total_seconds()))
    local = timezone.localtime(moment)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        local.isoformat(timespec="seconds"),
        f"{local:%Y-%m-%d %H:%M:%S %Z}",
        span(seconds),
    )


def span(seconds: int) -> str:
    """``93784`` → ``1 d 2 h``. Whole units, cut, never rounded up."""
    days, rest = divmod(seconds, 86_400)
    hours, rest = divmod(rest, 3_600)
    minutes, left = divmod(rest, 60)
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min" if minutes else f"{left} s"


@register.filter
def thousands(value: int | None) -> str:
    """``12345`` → ``12,345``; absent is a dash, which is not 0."""
    return "–" if value is None else f"{value:,}"


@register.filter
def duration(milliseconds: int | None) -> str:
    """Milliseconds for people: ``820 ms``, ``4.2 s``, ``3 min 20 s``."""
    if milliseconds is None:
        return "–"
    if milliseconds < 1_000:
        return f"{milliseconds} ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1_000:.1f} s"
    minutes, rest = divmod(milliseconds // 1_000, 60)
    return f"{minutes:,} min {rest} s" if minutes < 60 else span(milliseconds // 1_000)


@register.filter
def seconds(value: float) -> str:
    return duration(round(value * 1_000))


@register.filter
def digest(value: str) -> str:
    """The start of a digest: enough to compare by eye; the whole one stands in the title."""
    return value[:12]


@register.filter
def words(value: str) -> str:
    """A code word as people read it: ``same_signature`` → ``same signature``."""
    return value.replace("_", " ")


@register.filter
def failure(failure_class: str) -> str:
    """The failure class as part of a sentence."""
    return states.CLASSES.get(failure_class, words(failure_class))


@register.filter
def why(fuse: str) -> str:
    """The fuse as a sentence."""
    return WORDS[Fuse(fuse)] if fuse in Fuse.__members__.values() else words(fuse)
