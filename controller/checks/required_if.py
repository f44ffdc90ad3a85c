"""Fields that must have a value where a condition over another field is met."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, model_validator

from controller.checks.base import PATH_FACT, Check, CheckSpec, Pattern, Subject, listed, reporter, require_named
from controller.checks.values import identity
from controller.pointer import resolve
from controller.report import JSON, Finding

FACTS = PATH_FACT


class Condition(BaseModel):
    """``equals`` one of these values, or only ``exists``: present and not null (or, with ``exists: false``, the contrary)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    at: Pattern
    equals: tuple[StrictStr | StrictBool | StrictInt, ...] | None = Field(default=None, min_length=1)
    exists: bool | None = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> Condition:
        if (self.equals is None) == (self.exists is None):
            raise ValueError("a condition has either equals, with a list of values, or exists")
        return self

    def is_met(self, value: JSON) -> bool:
        stated = [node for _, node in resolve(value, self.at) if node is not None]
        if self.equals is None:
            return bool(stated) is self.exists
        wanted = {identity(node) for node in self.equals}
        return any(identity(node) in wanted for node in stated)

    def words(self) -> str:
        if self.equals is None:
            return f"{self.at} {'has a value' if self.exists else 'has no value'}"
        return f"{self.at} is {listed(self.equals)}"


class Spec(CheckSpec):
    """``scope`` applies the rule to every item on its own; the other pointers then begin at the item."""

    kind: Literal["required_if"] = "required_if"
    scope: Pattern = ""
    condition: Condition = Field(alias="if")
    require: Annotated[tuple[Pattern, ...], Field(min_length=1, max_length=50)]


def compile(spec: Spec, contract: Mapping[str, Any]) -> Check:
    require_named(contract, "scope", spec.scope)
    require_named(contract, "if.at", spec.scope + spec.condition.at)
    require_named(contract, "require", *(spec.scope + pattern for pattern in spec.require))
    say = reporter(spec, contract)
    expected = f"a value, because {spec.condition.words()}"

    def check(subject: Subject) -> Iterable[Finding]:
        return findings(subject)

    def findings(subject: Subject) -> Iterator[Finding]:
        for pointer, scoped in resolve(subject.value, spec.scope):
            if not spec.condition.is_met(scoped):
                continue
            for pattern in spec.require:
                has_value = any(node is not None for _, node in resolve(scoped, pattern))
                yield (say.passed if has_value else say.failed)(pointer + pattern, expected)

    return check
