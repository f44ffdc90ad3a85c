"""A ``Request`` as the body of a chat completions call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from controller.reply import Request

MAX_TOKENS_FIELDS = ("max_tokens", "max_completion_tokens")
"""How endpoints call the output limit. Newer hosted models know the second name only."""

RESERVED_FIELDS = frozenset(
    {"model", "messages", "temperature", "seed", "response_format", "n", "stream", "tools", "functions", *MAX_TOKENS_FIELDS}
)
"""Body fields that belong to the signed request, or that would make the answer something other than one whole reply."""


def request_body(request: Request, model: str, extra: Mapping[str, Any], max_tokens_field: str = MAX_TOKENS_FIELDS[0]) -> bytes:
    """The JSON body. ``extra`` holds what a server knows beyond the standard; it never replaces a signed field.

    ASCII only: characters beyond are escaped, so that no string can fail to encode.
    """
    body: dict[str, Any] = {
        **extra,
        "model": model,
        "messages": [{"role": m.role, "content": m.content} for m in request.messages],
        "temperature": request.temperature_hundredths / 100,
        max_tokens_field: request.max_output_tokens,
    }
    if request.seed is not None:
        body["seed"] = request.seed
    if request.response_format != "none":
        body["response_format"] = _response_format(request)
    return json.dumps(body, separators=(",", ":")).encode("ascii")


def _response_format(request: Request) -> dict[str, Any]:
    if request.response_format != "json_schema":
        return {"type": request.response_format}
    schema = dict(request.schema) if request.schema is not None else {}
    return {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": schema}}
