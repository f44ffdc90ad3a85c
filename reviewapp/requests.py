"""The request as the middleware hands it to a view."""

from __future__ import annotations

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from reviewapp.accounts.models import User


class Request(HttpRequest):
    """A request with what ``django_htmx`` adds: falsy where htmx did not send it. Nobody gets here who is not signed in."""

    user: User
    htmx: HtmxDetails
