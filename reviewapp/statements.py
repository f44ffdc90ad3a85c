"""SQL for the few statements that every run goes through many times, put together once per statement and process.

Building a query costs the ORM about ten times what the database needs to answer it. These functions write and read single
tables by the models' own columns, conversions and quoting; whatever is not on a run's way uses querysets. Field names are
attribute names (``run_id``). A ``where`` value of ``None`` means NULL, a tuple means one of.

Names come from models, values travel as parameters: no text of a caller's becomes SQL but ``only_if``, which is a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper

Model = type[models.Model]
Where = Mapping[str, Any]
M = TypeVar("M", bound=models.Model)


def insert(model: Model, **values: Any) -> Any:
    """Writes one row and returns its primary key. Fields that are not named take their constant defaults."""
    db = connections[DEFAULT_DB_ALIAS]
    sql, constants, returns = _insert_sql(db.vendor, model, tuple(values))
    parameters = _prepared(db, model, values) + constants
    with db.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchone()[0] if returns else values[_key(model)]


def update(model: Model, where: Where, *, only_if: tuple[str, Sequence[Any]] = ("", ()), **values: Any) -> int:
    """Changes the rows that fit and returns how many did. ``only_if`` is a further condition as SQL with its parameters."""
    db = connections[DEFAULT_DB_ALIAS]
    shape, parameters = _where(db, model, where)
    sql = _update_sql(db.vendor, model, tuple(values), shape, only_if[0])
    with db.cursor() as cursor:
        cursor.execute(sql, [*_prepared(db, model, values), *parameters, *only_if[1]])
        return int(cursor.rowcount)


def increase(model: Model, where: Where, **by: int) -> int:
    """Adds to the counts of the rows that fit, in the database, and returns how many did."""
    db = connections[DEFAULT_DB_ALIAS]
    shape, parameters = _where(db, model, where)
    sql = _increase_sql(db.vendor, model, tuple(by), shape)
    with db.cursor() as cursor:
        cursor.execute(sql, [*by.values(), *parameters])
        return int(cursor.rowcount)


def first(
    model: Model, fields: tuple[str, ...], where: Where, *, order: str = "", lock: bool = False
) -> tuple[Any, ...] | None:
    """The fields of the first row that fits, or ``None``. ``order`` is a field, ``-`` before it for descending order.

    ``lock`` holds the row until the transaction ends, as ``select_for_update(no_key=True)`` does.
    """
    found = _selected(model, fields, where, order, " LIMIT 1", lock)
    return found[0] if found else None


def every(model: Model, fields: tuple[str, ...], where: Where, *, order: str = "") -> list[tuple[Any, ...]]:
    """The fields of all rows that fit."""
    return _selected(model, fields, where, order, "", False)


def count(model: Model, where: Where) -> int:
    """How many rows fit."""
    db = connections[DEFAULT_DB_ALIAS]
    shape, parameters = _where(db, model, where)
    with db.cursor() as cursor:
        cursor.execute(_count_sql(db.vendor, model, shape), parameters)
        return int(cursor.fetchone()[0])


def instance(model: type[M], where: Where, *, fields: tuple[str, ...] | None = None, lock: bool = False) -> M | None:
    """The first row that fits as an instance, with all of its own columns or ``fields`` (the rest is deferred, as ever)."""
    fields = fields or tuple(_fields(model))
    row = first(model, fields, where, lock=lock)
    return None if row is None else model.from_db(DEFAULT_DB_ALIAS, fields, row)


@dataclass(frozen=True)
class Join:
    """A table joined by its primary key with the column ``key`` of an earlier one: number ``to``, the root being 0."""

    model: Model
    to: int
    key: str
    fields: tuple[str, ...] | None = None


def together(root: Model, joins: tuple[Join, ...], where: Where) -> tuple[Any, ...] | None:
    """The first row of ``root`` that fits and the rows that it names, as instances, in one statement; ``None`` without one."""
    db = connections[DEFAULT_DB_ALIAS]
    shape, parameters = _where(db, root, where)
    sql, converters, parts = _together_sql(db.vendor, root, joins, shape)
    with db.cursor() as cursor:
        cursor.execute(sql, parameters)
        row = cursor.fetchone()
    if row is None:
        return None
    values = list(row)
    for place, convert in converters:
        values[place] = convert(values[place])
    return tuple(model.from_db(DEFAULT_DB_ALIAS, fields, values[start:end]) for model, fields, start, end in parts)


def _selected(model: Model, fields: tuple[str, ...], where: Where, order: str, limit: str, lock: bool) -> list[tuple[Any, ...]]:
    db = connections[DEFAULT_DB_ALIAS]
    shape, parameters = _where(db, model, where)
    sql, converters = _select_sql(db.vendor, model, fields, shape, order, limit, lock)
    with db.cursor() as cursor:
        cursor.execute(sql, parameters)
        rows = cursor.fetchall()
    if not converters:
        return rows  # type: ignore[no-any-return]
    found = []
    for row in rows:
        values = list(row)
        for place, convert in converters:
            values[place] = convert(values[place])
        found.append(tuple(values))
    return found


def _key(model: Model) -> str:
    return str(model._meta.pk.attname)


def _field(model: Model, name: str) -> Any:
    return _fields(model)[name]


@lru_cache(maxsize=256)
def _fields(model: Model) -> dict[str, Any]:
    return {field.attname: field for field in model._meta.concrete_fields}


def _column(model: Model, name: str) -> str:
    return connection.ops.quote_name(_field(model, name).column)


def _table(model: Model) -> str:
    return connection.ops.quote_name(model._meta.db_table)


def _prepared(db: BaseDatabaseWrapper, model: Model, values: Mapping[str, Any]) -> list[Any]:
    fields = _fields(model)
    return [value if type(value) in _PLAIN else fields[name].get_db_prep_save(value, db) for name, value in values.items()]


_PLAIN = frozenset({int, str, bool, type(None)})
"""Values that both drivers take as they are. A field would only look at them again."""


def _where(db: BaseDatabaseWrapper, model: Model, where: Where) -> tuple[tuple[tuple[str, int], ...], list[Any]]:
    """The shape of a condition (field, number of values; 0 is NULL) and its parameters."""
    fields = _fields(model)
    shape: list[tuple[str, int]] = []
    parameters: list[Any] = []
    for name, value in where.items():
        wanted = value if isinstance(value, tuple) else () if value is None else (value,)
        shape.append((name, len(wanted)))
        parameters += [one if type(one) in _PLAIN else fields[name].get_db_prep_value(one, db) for one in wanted]
    return tuple(shape), parameters


def _condition(model: Model, shape: tuple[tuple[str, int], ...]) -> str:
    return " AND ".join(_conditions(model, shape))


def _conditions(model: Model, shape: tuple[tuple[str, int], ...]) -> list[str]:
    found = []
    for name, count in shape:
        sign = " IS NULL" if count == 0 else " = %s" if count == 1 else f" IN ({', '.join(['%s'] * count)})"
        found.append(_column(model, name) + sign)
    return found


@lru_cache(maxsize=256)
def _insert_sql(vendor: str, model: Model, names: tuple[str, ...]) -> tuple[str, list[Any], bool]:
    rest = [
        field
        for name, field in _fields(model).items()
        if name not in names and not (field.primary_key and isinstance(field, models.AutoField | models.BigAutoField))
    ]
    # A callable default, or a time that the ORM fills in, must be named by the caller: nothing is made up here.
    missing = [field.name for field in rest if not _has_constant_default(field)]
    if missing:
        raise TypeError(f"{model.__name__}: {', '.join(missing)} must be given")
    constants = [field.get_db_prep_save(field.get_default(), connection) for field in rest]
    columns = ", ".join(_column(model, name) for name in (*names, *(field.attname for field in rest)))
    marks = ", ".join(["%s"] * (len(names) + len(rest)))
    returns = _key(model) not in names
    returning = f" RETURNING {_column(model, _key(model))}" if returns else ""
    return f"INSERT INTO {_table(model)} ({columns}) VALUES ({marks}){returning}", constants, returns  # noqa: S608


def _has_constant_default(field: Any) -> bool:
    if getattr(field, "auto_now_add", False) or getattr(field, "auto_now", False):
        return False
    if field.has_default():
        return not callable(field.default)
    return bool(field.null or (field.empty_strings_allowed and field.blank))


@lru_cache(maxsize=256)
def _update_sql(vendor: str, model: Model, names: tuple[str, ...], shape: tuple[tuple[str, int], ...], only_if: str) -> str:
    changes = ", ".join(f"{_column(model, name)} = %s" for name in names)
    condition = _condition(model, shape) + (f" AND {only_if}" if only_if else "")
    return f"UPDATE {_table(model)} SET {changes} WHERE {condition}"  # noqa: S608


@lru_cache(maxsize=256)
def _increase_sql(vendor: str, model: Model, names: tuple[str, ...], shape: tuple[tuple[str, int], ...]) -> str:
    changes = ", ".join(f"{_column(model, name)} = {_column(model, name)} + %s" for name in names)
    return f"UPDATE {_table(model)} SET {changes} WHERE {_condition(model, shape)}"  # noqa: S608


@lru_cache(maxsize=64)
def _count_sql(vendor: str, model: Model, shape: tuple[tuple[str, int], ...]) -> str:
    return f"SELECT COUNT(*) FROM {_table(model)} WHERE {_condition(model, shape)}"  # noqa: S608


Converters = tuple[tuple[int, Callable[[Any], Any]], ...]
Parts = tuple[tuple[Model, tuple[str, ...], int, int], ...]
"""Of each table of a joined row: its model, its fields, and where its values begin and end."""


@lru_cache(maxsize=16)
def _together_sql(
    vendor: str, root: Model, joins: tuple[Join, ...], shape: tuple[tuple[str, int], ...]
) -> tuple[str, Converters, Parts]:
    tables = [(root, tuple(_fields(root))), *((join.model, join.fields or tuple(_fields(join.model))) for join in joins)]
    columns: list[str] = []
    converters: list[tuple[int, Callable[[Any], Any]]] = []
    parts: list[tuple[Model, tuple[str, ...], int, int]] = []
    for number, (model, fields) in enumerate(tables):
        parts.append((model, fields, len(columns), len(columns) + len(fields)))
        for name in fields:
            convert = _converter(model, name)
            if convert is not None:
                converters.append((len(columns), convert))
            columns.append(f"t{number}.{_column(model, name)}")
    sql = f"SELECT {', '.join(columns)} FROM {_table(root)} t0"  # noqa: S608
    for number, join in enumerate(joins, start=1):
        key = _column(tables[join.to][0], join.key)
        sql += f" JOIN {_table(join.model)} t{number} ON t{number}.{_column(join.model, _key(join.model))} = t{join.to}.{key}"
    condition = " AND ".join(f"t0.{part}" for part in _conditions(root, shape))
    return f"{sql} WHERE {condition} LIMIT 1", tuple(converters), tuple(parts)


@lru_cache(maxsize=256)
def _select_sql(
    vendor: str, model: Model, fields: tuple[str, ...], shape: tuple[tuple[str, int], ...], order: str, limit: str, lock: bool
) -> tuple[str, Converters]:
    columns = ", ".join(_column(model, name) for name in fields)
    sql = f"SELECT {columns} FROM {_table(model)} WHERE {_condition(model, shape)}"  # noqa: S608
    if order:
        sql += f" ORDER BY {_column(model, order.lstrip('-'))}{' DESC' if order.startswith('-') else ''}"
    sql += limit
    if lock and connection.features.has_select_for_update:
        sql += f" {connection.ops.for_update_sql(no_key=True)}"
    converters = ((place, _converter(model, name)) for place, name in enumerate(fields))
    return sql, tuple((place, convert) for place, convert in converters if convert is not None)


def _converter(model: Model, name: str) -> Callable[[Any], Any] | None:
    """What the ORM would do with a value from the database: SQLite keeps times as text."""
    column = _field(model, name).get_col(model._meta.db_table)
    steps = [*connection.ops.get_db_converters(column), *column.get_db_converters(connection)]
    if not steps:
        return None

    def convert(value: Any) -> Any:
        for step in steps:
            value = step(value, column, connection)
        return value

    return convert
