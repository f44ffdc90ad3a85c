from __future__ import annotations

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest


class ClosedSignup(DefaultAccountAdapter):
    """Nobody signs up alone: an operator adds members."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False
