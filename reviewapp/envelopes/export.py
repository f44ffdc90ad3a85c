"""One version with everything that is needed to verify it elsewhere: content, source, statements, public keys."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

from reviewapp.envelopes import keys
from reviewapp.envelopes.models import Version

FORMAT = "countersign.export/1"


def files(version: Version) -> Mapping[str, bytes]:
    """File name → bytes. ``envelope.json`` has exactly the bytes that were signed."""
    approvals = version.approvals.order_by("id").values("statement", "signature", "key_id", "passkey")
    about = {
        "format": FORMAT,
        "task": version.envelope.slug,
        "version": version.number,
        "status": version.status,
        "digest": version.digest,
        "author": version.author.username,
        "approvals_needed": version.envelope.approvals_needed,
        "require_passkey": version.envelope.require_passkey,
        "approvals": list(approvals),
    }
    return {
        "envelope.json": version.canonical.encode("utf-8"),
        "envelope.yaml": version.source.encode("utf-8"),
        "approvals.json": _json(about),
        "keys.json": _json({"keys": [key.__dict__ for key in keys.listed()]}),
    }


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode("utf-8")


def write(version: Version, folder: Path) -> list[Path]:
    """Writes the files into ``folder``, which is made where it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, data in files(version).items():
        (folder / name).write_bytes(data)
        written.append(folder / name)
    return written


def archive(version: Version) -> bytes:
    """The same files as a ZIP whose bytes depend on the files only."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, data in files(version).items():
            zipped.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()
