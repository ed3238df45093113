"""Saved views of lists: saved, renamed, shared, deleted, and chosen as the view with which a list opens.

The session has the queries of the default views, so that a list opens without a further query.
"""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.http import QueryDict

from callcentre.lists.models import DefaultView, SavedView
from callcentre.models import User

# The right to share one's views with all who may see the list.
SHARES = "lists.share_savedview"
# Parameters of an address that are no part of a view: the page of the list, and the name of the view.
SAVED = "saved"
# The address of a list without a view, which is not the bare one if the list opens with a view.
WHOLE_LIST = f"?{SAVED}="
_LEFT_OUT = ("p", "e", SAVED)
_OF_SESSION = "default_views"


def save_view(user: User, list_name: str, name: str, query: str, *, is_shared: bool) -> SavedView:
    """Save the address of a list under a name. Raises ValidationError."""
    view = SavedView(user=user, list_name=list_name, name=name.strip(), query=query_of_view(query))
    view.is_shared = is_shared and user.has_perm(SHARES)
    _write(view)
    return view


def edit_view(view: SavedView, user: User, name: str, *, is_shared: bool) -> None:
    """Rename or share a view of one's own. Raises ValidationError."""
    if view.user_id != user.pk:
        raise ValidationError({})
    view.name = name.strip()
    if user.has_perm(SHARES):
        view.is_shared = is_shared
    _write(view)


def _write(view: SavedView) -> None:
    view.full_clean()
    try:
        with transaction.atomic():
            view.save()
    except IntegrityError:
        view.validate_constraints()  # another request took the name meanwhile
        raise


def query_of_view(query: str) -> str:
    """Return the part of an address that a view keeps."""
    kept = QueryDict(query, mutable=True)
    for name in _LEFT_OUT:
        kept.pop(name, None)
    return kept.urlencode()


def set_default(session: Any, user: User, list_name: str, view: SavedView | None) -> None:
    """Open the list with this view from now on; with no view if it is None."""
    if view is None:
        DefaultView.objects.filter(user=user, list_name=list_name).delete()
    else:
        DefaultView.objects.update_or_create(user=user, list_name=list_name, defaults={"view": view})
    keep_in_session(session, user)


def keep_in_session(session: Any, user: User) -> None:
    """Store in the session what a list of this person opens with."""
    chosen = DefaultView.objects.filter(user=user).select_related("view")
    views = {
        each.list_name: address_of_view(each.view)
        for each in chosen
        if each.view.is_shared or each.view.user_id == user.pk
    }
    if session.get(_OF_SESSION) != views:
        session[_OF_SESSION] = views


def default_of(session: Any, list_name: str) -> str:
    """Return the query with which the list opens, or ""."""
    return str(session.get(_OF_SESSION, {}).get(list_name, ""))


def address_of_view(view: SavedView) -> str:
    return f"{view.query}&{SAVED}={view.pk}".lstrip("&")
