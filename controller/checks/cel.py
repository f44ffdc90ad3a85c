"""Rules in CEL (the Common Expression Language): terminating, without side effects, and exact about numbers.

A rule sees the reply as ``doc``, the item at hand as ``item`` and the document as ``text``. Whole numbers are CEL ints; every
other number is an exact amount that no CEL operator accepts, only the functions declared here: a rule that would have
rounded fails instead. The engine bounds recursion (32 levels) and iterations (10,000); sizes and amounts are bounded here.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal, DecimalException
from functools import lru_cache
from typing import Any

from cel_expr_python import cel

from controller.checks.base import SpecError
from controller.checks.numbers import EXACT, Locale, readings
from controller.report import JSON

MAX_SOURCE = 2_000
"""Characters of one rule."""
MAX_OPERATIONS = 50_000
"""Amounts that the functions below may touch in one evaluation."""
_AMOUNT = "$amount"
_INT64 = range(-(2**63), 2**63)
_PLACES = range(13)

_spent = threading.local()


class _TooCostly(ValueError):
    pass


def _spend(operations: int) -> None:
    _spent.operations = getattr(_spent, "operations", 0) + operations
    if _spent.operations > MAX_OPERATIONS:
        raise _TooCostly("too many operations")


def as_cel(value: JSON) -> Any:
    """A parsed value as CEL sees it."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int | Decimal):
        return _out(Decimal(value))
    if isinstance(value, list):
        return [as_cel(child) for child in value]
    return {key: as_cel(child) for key, child in value.items()}


def _out(number: Decimal) -> int | dict[str, str]:
    """One form for equal numbers, so that CEL's own ``==`` is right between them."""
    if number.adjusted() < 19 and number == number.to_integral_value() and int(number) in _INT64:
        return int(number)
    return {_AMOUNT: str(EXACT.normalize(number))}


_PLAIN = re.compile(r"-?[0-9]{1,100}(\.[0-9]{1,100})?")


def _in(value: Any) -> Decimal:
    _spend(1)
    if isinstance(value, Mapping):
        return Decimal(value[_AMOUNT])
    if isinstance(value, str):
        if _PLAIN.fullmatch(value) is None:
            raise ValueError("not a plain number")
        return Decimal(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("not a number")
    return Decimal(value)


def _sum(values: Sequence[Any]) -> Decimal:
    total = Decimal(0)
    for value in values:
        total = EXACT.add(total, _in(value))
    return total


def _rounded(number: Decimal, places: int) -> Decimal:
    if places not in _PLACES:
        raise ValueError("places is 0 to 12")
    return number.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP, context=Context(prec=4_000))


def _quotient(dividend: Decimal, divisor: Decimal, places: int) -> Decimal:
    return _rounded(Context(prec=200).divide(dividend, divisor), places)


def _printed(text: str, locale: str) -> Decimal:
    _spend(1)
    found = readings(text, Locale(locale))
    if len(found) != 1:
        raise ValueError("not one number in this locale")
    return found.pop()


_NUMBER = {
    "int": cel.Type.INT,
    "uint": cel.Type.UINT,
    "string": cel.Type.STRING,
    "amount": cel.Type.Map(cel.Type.DYN, cel.Type.DYN),
}


def _unary(name: str, work: Callable[[Decimal], Decimal]) -> cel.FunctionDecl:
    def call(a: Any) -> Any:
        return _out(work(_in(a)))

    return cel.FunctionDecl(
        name, [cel.Overload(f"{name}_{kind}", cel.Type.DYN, [type_], impl=call) for kind, type_ in _NUMBER.items()]
    )


def _binary(name: str, work: Callable[[Decimal, Decimal], Decimal | bool]) -> cel.FunctionDecl:
    is_comparison = name in _COMPARISONS

    def call(a: Any, b: Any) -> Any:
        result = work(_in(a), _in(b))
        return result if isinstance(result, bool) else _out(result)

    return cel.FunctionDecl(
        name,
        [
            cel.Overload(f"{name}_{a}_{b}", cel.Type.BOOL if is_comparison else cel.Type.DYN, [left, right], impl=call)
            for a, left in _NUMBER.items()
            for b, right in _NUMBER.items()
        ],
    )


def _round_declaration() -> cel.FunctionDecl:
    def call(a: Any, places: int) -> Any:
        return _out(_rounded(_in(a), places))

    return cel.FunctionDecl(
        "round", [cel.Overload(f"round_{a}", cel.Type.DYN, [left, cel.Type.INT], impl=call) for a, left in _NUMBER.items()]
    )


def _div_declaration() -> cel.FunctionDecl:
    def call(a: Any, b: Any, places: int) -> Any:
        return _out(_quotient(_in(a), _in(b), places))

    return cel.FunctionDecl(
        "div",
        [
            cel.Overload(f"div_{a}_{b}", cel.Type.DYN, [left, right, cel.Type.INT], impl=call)
            for a, left in _NUMBER.items()
            for b, right in _NUMBER.items()
        ],
    )


_COMPARISONS: Mapping[str, Callable[[Decimal, Decimal], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


@lru_cache(maxsize=1)
def _environment() -> cel.Env:
    functions = [
        _unary("dec", lambda a: a),
        _unary("abs", abs),
        _binary("add", EXACT.add),
        _binary("sub", EXACT.subtract),
        _binary("mul", EXACT.multiply),
        *(_binary(name, work) for name, work in _COMPARISONS.items()),
        _round_declaration(),
        _div_declaration(),
        cel.FunctionDecl(
            "sum",
            [cel.Overload("sum_list", cel.Type.DYN, [cel.Type.List(cel.Type.DYN)], impl=lambda values: _out(_sum(values)))],
        ),
        cel.FunctionDecl(
            "num",
            [
                cel.Overload(
                    "num_string_string",
                    cel.Type.DYN,
                    [cel.Type.STRING, cel.Type.STRING],
                    impl=lambda text, locale: _out(_printed(text, locale)),
                )
            ],
        ),
    ]
    return cel.NewEnv(variables={"doc": cel.Type.DYN, "item": cel.Type.DYN, "text": cel.Type.STRING}, functions=functions)


class RuleFailed(Exception):
    """The rule could not be evaluated. Carries nothing of the reply."""


class CompiledRule:
    """A CEL expression that gives true or false. Compile once; threads may share it."""

    def __init__(self, source: str, field: str) -> None:
        _require_exact(source, field)
        try:
            self._expression = _environment().compile(source)
        except RuntimeError as error:
            raise SpecError(field, _compile_words(str(error))) from None
        result = self._expression.return_type()
        if result not in (cel.Type.BOOL, cel.Type.DYN):
            raise SpecError(field, "the expression does not give true or false")
        self._names = frozenset(re.findall(r"\b(doc|item|text)\b", source))

    def holds(self, doc: Any, item: Any, text: str) -> bool:
        """Whether the rule is true; ``doc`` and ``item`` as ``as_cel`` gives them. Raises ``RuleFailed`` and nothing else."""
        given = {"doc": doc, "item": item, "text": text}
        _spent.operations = 0
        try:
            answer = self._expression.eval(data={name: given[name] for name in self._names}).value()
        except (RuntimeError, ValueError, TypeError, KeyError, OverflowError, DecimalException, RecursionError):
            raise RuleFailed from None
        if answer is not True and answer is not False:  # errors and other types come back as values
            raise RuleFailed
        return answer is True


_STRING = re.compile(
    r"""[rR]?(?:'{3}.*?'{3}|"{3}.*?"{3}|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")""",
    re.DOTALL,
)
_FLOAT = re.compile(r"(?<![\w.])(?:\d+\.\d+(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)|\bdouble\s*\(")


def _require_exact(source: str, field: str) -> None:
    if len(source) > MAX_SOURCE:
        raise SpecError(field, f"a rule has at most {MAX_SOURCE} characters")
    if _FLOAT.search(_STRING.sub("''", source)):
        raise SpecError(field, "decimals are written dec('2.50') and compared with eq, lt, le, gt, ge: no rounding numbers")


def _compile_words(message: str) -> str:
    found = re.search(r"<input>:(\d+):(\d+): ([^\n]*)", message)
    if found is None:
        return "not a CEL expression"
    words = found[3].split(" (in container")[0].split(", expecting")[0].split(" expecting {")[0]
    return f"line {found[1]}, column {found[2]}: {words}"[:300]
