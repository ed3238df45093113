"""A list of the admin as a function of its admin, a person and the parameters of an address."""

from dataclasses import dataclass, field
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.contrib.admin.exceptions import DisallowedModelAdminLookup
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import SEARCH_VAR
from django.core.exceptions import BadRequest
from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from callcentre.core.exporting.builds import Refused
from callcentre.lists.runs import WorkerRun
from callcentre.models import User
from callcentre.signin.enforcement import must_set_up


@dataclass
class Asked:
    """A person and the parameters of a list, and the form of an action on its rows.

    Admins, filters and actions read no more of what Django calls a request to find and change the rows of a list.
    """

    user: User
    GET: QueryDict
    POST: QueryDict = field(default_factory=QueryDict)
    run: WorkerRun = field(default_factory=WorkerRun)
    # All rows are read, not those of a page.
    takes_all_rows = True
    # No page leads back to the list.
    resolver_match = None

    @property
    def method(self) -> str:
        return "POST" if self.POST else "GET"


def list_of(shown: Any, user: User, query: str) -> Any:
    """Return the list of an admin with its filters, search, order and columns, as one person sees it. Raises Refused.

    Its `queryset` has the rows of all pages. A page shows a part of the same list.
    """
    asked = Asked(user, QueryDict(query))
    if shown is None or not shown.has_view_or_change_permission(asked):
        raise Refused(_("You may not see this list any more."))
    try:
        return shown.get_changelist_instance(asked)
    except (IncorrectLookupParameters, DisallowedModelAdminLookup, BadRequest) as error:
        raise Refused(_("A filter of the list makes no sense any more.")) from error


def admin_of(list_name: str) -> Any:
    """Return the admin of a list by the label of its model; None if there is none any more."""
    return admin.site._registry.get(apps.get_model(list_name))


def without_search(query: str) -> str:
    """Return the address of the list without the words that were searched for."""
    kept = QueryDict(query, mutable=True)
    kept.pop(SEARCH_VAR, None)
    return kept.urlencode()


def query_of_log(query: str) -> str:
    """Return the address of the list for the audit log, which is kept longer than the rows that the words find."""
    if SEARCH_VAR not in QueryDict(query):
        return query
    return f"{without_search(query)}&{SEARCH_VAR}=•••".lstrip("&")


def address_of(list_name: str) -> str:
    return reverse(f"admin:{list_name.replace('.', '_').lower()}_changelist")


def person(user_id: int) -> User:
    """Return the person for whom a worker works. Raise Refused if they may not log in any more."""
    user = User.objects.filter(pk=user_id, is_active=True, is_staff=True).first()
    if user is None:
        raise Refused(_("The person who asked may not log in any more."))
    if must_set_up(user):
        raise Refused(_("The person who asked needs a second factor and has none."))
    return user
