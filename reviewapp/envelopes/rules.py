"""Which approval rules hold for a version: those of its envelope, or stricter ones under which it was signed already."""

from __future__ import annotations

from controller.signature import Rules, strictest
from reviewapp.envelopes.models import Approval, Envelope, Version


def now(envelope: Envelope) -> Rules:
    """The envelope's own rules, as its row says."""
    return Rules(envelope.approvals_needed, envelope.require_passkey)


def holding(version: Version) -> Rules:
    """The rules by which the version's next approval is given, and by which all of them are counted.

    A rule that was made less strict in the middle of a review does not change what was signed under the stricter one.
    """
    statements = Approval.objects.filter(version_id=version.pk).values_list("statement", flat=True)
    return strictest(now(version.envelope), statements)
