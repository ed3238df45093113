"""The base classes of every admin: verbs instead of save(), faults at their fields, lists without a full count."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any, ClassVar, TypeVar, cast
from urllib.parse import urlencode

from csp.decorators import csp_update
from django import forms
from django.apps import apps
from django.contrib import messages
from django.contrib.admin import ShowFacets, helpers
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ERROR_FLAG
from django.contrib.admin.widgets import RelatedFieldWidgetWrapper
from django.core.exceptions import NON_FIELD_ERRORS, BadRequest, ValidationError
from django.db import IntegrityError, OperationalError, models
from django.db.models import ProtectedError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from unfold.admin import checkbox

from callcentre.admin.dates import MinuteField
from callcentre.admin.forms import ShownValueField
from callcentre.admin.list_tools import ListTools
from callcentre.admin.lists import ChangeList
from callcentre.admin.log_entries import NamelessLogMixin
from callcentre.admin.scope import ScopedMixin
from callcentre.admin.secrets import OwnPasswordForm
from callcentre.admin.theme import never
from callcentre.core.actor import Actor
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid, is_lock_refusal
from callcentre.core.scope import may_see
from callcentre.lists.runs import run_of
from callcentre.models import User

logger = logging.getLogger(__name__)

# The errors of a verb, or of the database behind it, for input that breaks a rule or comes too late.
# Of operational errors, `refusals_of` explains refused locks only and raises the others again.
REFUSALS = (ValidationError, Conflict, IntegrityError, OperationalError)
# The most rows that one action takes: a person does not look through more.
MAX_SELECTED = 1000

# A decorator for the views of pages that show what people wrote: the text may have images of other sites.
with_images_from_elsewhere = csp_update({"img-src": ["https:", "http:"]})

Refusal = tuple[str, str]  # field or "", sentence
Row = TypeVar("Row")


def user_of(request: HttpRequest) -> User:
    """Return the person at the page, who has logged in."""
    return cast("User", request.user)


def actor_of(request: HttpRequest) -> Actor:
    return user_of(request).actor


def without_buttons(formfield: Any) -> Any:
    """Take away the buttons that add, change or delete the related row: such rows have pages of their own."""
    if isinstance(widget := getattr(formfield, "widget", None), RelatedFieldWidgetWrapper):
        formfield.widget = widget.widget
    return formfield


class _RefusedForm(forms.BaseForm):
    """A form that was valid and that a verb refused. It shows the sentences of the verb at its fields."""

    refusals: ClassVar[Sequence[Refusal]] = ()

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]  # the types of Django leave it out
        for name, sentence in self.refusals:
            self.add_error(name if name in self.fields else None, sentence)


class Admin(NamelessLogMixin, ScopedMixin, ListTools):
    """The base of every admin. `save_model` calls the verb where there is one. A refusal of the verb or of the database
    is shown in the form and is never a 500."""

    list_per_page = 50
    list_max_show_all = 0
    # Facets would count the table once for each choice of each filter.
    show_facets = ShowFacets.NEVER
    list_filter_submit = True
    # The theme asks for these in each row or field, and templates are slow to find out that an attribute is missing.
    list_sections = ()
    conditional_fields: Mapping[str, str] = {}
    change_form_show_cancel_button = False
    warn_unsaved_form = True
    # The page sends the values along that it showed: a field counts as changed if the person changed it, not if
    # another user did so meanwhile.
    sends_shown_values = True
    # Django's own history is hidden where the object has one.
    has_own_history = False
    # Fields whose values a row gets when it is added, and keeps.
    fixed_fields: tuple[str, ...] = ()
    # Relations that lists and pages read with the rows: by a join, or by queries of their own, where the joined row may
    # be deleted or the planner could begin at the wrong table.
    joined: tuple[str, ...] = ()
    prefetched: tuple[str, ...] = ()
    # The verb's name of a field -> the form's, where they differ.
    fault_fields: Mapping[str, str] = {}
    # Sentences for the admin, where the fault's own sentence speaks of the wire.
    sentences: Mapping[ErrorCode, Any] = {}

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Any]:
        rows = super().get_queryset(request).prefetch_related(*self.prefetched)
        return rows.select_related(*self.joined) if self.joined else rows

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return ChangeList

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Return the list. Warn if its address makes no sense; Django then shows all rows."""
        try:
            return super().get_changelist_instance(request)
        except IncorrectLookupParameters as error:
            if ERROR_FLAG in request.GET:  # Django would blame the database
                raise BadRequest from error
            sentence = _("The list has no such filter or page. It is shown from its beginning, unfiltered.")
            self.message_user(request, sentence, messages.WARNING)
            raise

    def action_checkbox(self, obj: models.Model) -> SafeString:
        return format_html(_checkbox(get_language()), obj.pk)

    def response_action(self, request: HttpRequest, queryset: models.QuerySet[Any], *rest: Any, **options: Any) -> Any:
        """Apply an action to the selected rows, or ask a worker to apply it to all that match.

        Refuse a selection that is no id of a row.
        """
        for selected in request.POST.getlist(helpers.ACTION_CHECKBOX_NAME):
            try:
                self.opts.pk.clean(selected, None)
            except ValidationError as error:
                raise BadRequest from error
        if request.POST.get("select_across") == "1":
            return self.act_on_all(request)
        return super().response_action(request, queryset, *rest, **options)

    def get_actions(self, request: HttpRequest) -> Any:
        """Return the actions without Django's deletion of the selected rows: rows are deleted one by one."""
        actions = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Return the values that the address has for a new row, without those that the fields cannot hold."""
        initial: dict[str, Any] = super().get_changeform_initial_data(request)
        for field in (*self.opts.fields, *self.opts.many_to_many):
            if field.name in initial:
                try:
                    initial[field.name] = _value_of(field, initial[field.name])
                except (ValidationError, TypeError, ValueError):
                    del initial[field.name]
        return initial

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save the changed columns only: two people who edit one row at once keep each other's changes."""
        touched = ["updated_at"] if hasattr(obj, "updated_at") else []
        columns = {"update_fields": [*form.changed_data, *touched] if form.changed_data else []}
        obj.save = partial(obj.save, **(columns if change else {"force_insert": True}))
        try:
            super().save_model(request, obj, form, change)
        finally:
            del obj.save

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return (*super().get_readonly_fields(request, obj), *(self.fixed_fields if obj else ()))

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change=change, **kwargs)
        if refusals := getattr(request, "refusals", None):
            form = type(form.__name__, (_RefusedForm, form), {"refusals": refusals})
        if issubclass(form, OwnPasswordForm):
            form = form.of(request)
        if self.sends_shown_values:
            form.bound_field_class = ShownValueField
            for field in form.base_fields.values():
                field.show_hidden_initial = True
        return form

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if isinstance(db_field, models.DateTimeField):
            kwargs.setdefault("form_class", MinuteField)
        return without_buttons(super().formfield_for_dbfield(db_field, request, **kwargs))

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        extra = {**({"show_history": False} if self.has_own_history else {}), **(extra_context or {})}
        try:
            return super().changeform_view(request, object_id, form_url, dict(extra))
        except REFUSALS as error:
            if request.method != "POST":
                raise
            # The transaction was rolled back. Show the page again, with the refusals in its form.
            request.refusals = self.refusals_of(error)  # type: ignore[attr-defined]
            return super().changeform_view(request, object_id, form_url, dict(extra))

    def history_view(self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None) -> Any:
        """Lead people who may see the audit log to its entries of the object; it has the values."""
        row = self.get_object(request, object_id) if may_see(request.user, "callcentre", "auditlog") else None
        if row is not None and self.has_view_or_change_permission(request, row):
            query = urlencode({"object": f"{self.opts.label_lower}:{row.pk}"})
            return redirect(f"{reverse('admin:callcentre_auditlog_changelist')}?{query}")
        return super().history_view(request, object_id, extra_context)

    def page_context(self, request: HttpRequest, obj: Any) -> dict[str, Any]:
        """Return what the page shows beside the form. `obj` is None on the page of a new row."""
        return {}

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **options: Any) -> Any:
        context |= self.page_context(request, options.get("obj"))
        # For the tabs above the form, which the theme renders without the rest of the context.
        vars(request)["adminform"] = context["adminform"]
        return super().render_change_form(request, context, *args, **options)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None) -> Any:
        try:
            return super().delete_view(request, object_id, extra_context)
        except REFUSALS as error:
            self.say_refused(request, error)
            return redirect(self.url_of("change", object_id))

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Name the rows that prevent a deletion, rather than a missing permission for them."""
        deleted, counts, lacking, protected = super().get_deleted_objects(objs, request)
        return deleted, counts, set() if protected else lacking, protected

    def refusals_of(self, error: Exception) -> list[Refusal]:
        """Return the field of the form, or "", and the sentence of each refusal. Raise other errors again."""
        match error:
            case Invalid():
                return [(self._form_field(fault.field), self.sentence(fault)) for fault in error.faults]
            case Conflict():
                return [("", self.sentence(Fault(error.code)))]
            case ProtectedError():
                return [("", _("It is still in use: %(what)s.") % {"what": _some_of(error.protected_objects)})]
            case OperationalError() if is_lock_refusal(error):
                return [("", _("Another user is changing this. Try again."))]
            case IntegrityError():
                if sentence := sentence_of_constraint(error):
                    return [("", sentence)]
                logger.warning("a constraint refused an edit in the admin", exc_info=error)
                return [("", self.sentence(Fault(ErrorCode.CONFLICT)))]
            case ValidationError():
                by_field = error.message_dict if hasattr(error, "error_dict") else {NON_FIELD_ERRORS: error.messages}
                return [
                    ("" if name == NON_FIELD_ERRORS else self._form_field(name), sentence)
                    for name, sentences in by_field.items()
                    for sentence in sentences
                ]
        raise error

    def sentence(self, fault: Fault) -> str:
        return fault.in_words(self.sentences)

    def _form_field(self, name: str) -> str:
        return self.fault_fields.get(name, name)

    def say_refused(self, request: HttpRequest, error: Exception, subject: str = "") -> None:
        """Show each sentence of a refusal, after the name of its subject."""
        for _field, sentence in self.refusals_of(error):
            self.message_user(request, run_of(request).refusal(subject, sentence), messages.ERROR)

    def say_all_refused(self, request: HttpRequest, refused: Iterable[tuple[str, str]]) -> None:
        """Show a message for each reason. `refused` has the name of a row and a reason why it was not changed."""
        for sentence in run_of(request).refusals(refused):
            self.message_user(request, sentence, messages.ERROR)

    def say_done(self, request: HttpRequest, sentence: str, count: int) -> None:
        """Show to how many rows an action was applied."""
        if run_of(request).shows_count(count):
            level = messages.SUCCESS if count else messages.WARNING
            self.message_user(request, sentence % {"count": count}, level)

    def add_refusals(self, form: forms.BaseForm, error: Exception) -> None:
        """Show a refusal in a form without a model. `form.fault_fields`: the verb's name of a field -> the form's."""
        names: Mapping[str, str] = getattr(form, "fault_fields", {})
        for name, sentence in self.refusals_of(error):
            first = name.partition(".")[0]
            own = names.get(name) or names.get(first, first)
            form.add_error(own if own in form.fields else None, sentence)

    def ask_and_do(
        self,
        request: HttpRequest,
        row: models.Model,
        verb: Callable[[], object],
        *,
        title: str,
        intro: str,
        submit: str = "",
        said: str = "",
    ) -> HttpResponse:
        """Ask for confirmation of a verb on one row; then run it, say so, or why it was refused, and show the row."""
        if request.method != "POST":
            return self.action_page(request, title=title, submit=submit or title, obj=row, intro=intro)
        try:
            verb()
        except REFUSALS as error:
            self.say_refused(request, error)
        else:
            if said:
                self.message_user(request, said, messages.SUCCESS)
        return redirect(self.url_of("change", row.pk))

    def apply_to_each(
        self,
        request: HttpRequest,
        rows: Iterable[Row],
        verb: Callable[[Row], object],
        subject: Callable[[Row], object] = str,
    ) -> int:
        """Apply a verb to each row and return the number of successes. A refusal is shown and stops no other row.

        A verb that found nothing to change returns False.
        """
        count = 0
        for row in rows:
            try:
                run_of(request).note(verb(row) is not False)
                count += 1
            except REFUSALS as error:
                self.say_refused(request, error, str(subject(row)))
        return count

    def apply_and_say(
        self, request: HttpRequest, rows: Iterable[Row], verb: Callable[[Row, Actor], object], said: Any
    ) -> None:
        """Apply a verb of the acting person to each row, and say to how many; `said` is an `ngettext_lazy`."""
        actor = actor_of(request)
        self.say_done(request, said, self.apply_to_each(request, rows, lambda row: verb(row, actor)))


@cache
def _checkbox(language: str | None) -> str:
    """Return the box that selects a row of a list, with a place for the row's key. Lists have fifty of them."""
    return str(checkbox.render(helpers.ACTION_CHECKBOX_NAME, "{}"))


def _value_of(field: Any, given: Any) -> Any:
    """Convert the text, or the texts, of an address to the value of a field. Raise an error for an impossible value."""
    if field.many_to_many:
        return [field.target_field.to_python(pk) for pk in given]
    return (field.target_field if field.is_relation else field).to_python(given)


def sentence_of_constraint(error: IntegrityError) -> str:
    """Return the model's sentence for the broken constraint. It breaks if two people write at once."""
    diagnostics = getattr(error.__cause__, "diag", None)
    name, table = getattr(diagnostics, "constraint_name", None) or "", getattr(diagnostics, "table_name", None)
    for model in apps.get_models():
        if model._meta.db_table != table:
            continue
        for constraint in model._meta.constraints:
            if constraint.name == name and constraint.violation_error_message is not None:
                return str(constraint.violation_error_message) % {"name": name}
        for field in model._meta.fields:
            if field.unique and name.startswith(f"{table}_{field.column}_"):
                labels = {"model_name": model._meta.verbose_name, "field_label": field.verbose_name}
                return str(field.error_messages["unique"]) % labels
    return ""


def _some_of(objects: Iterable[Any], limit: int = 3) -> str:
    names = [str(obj) for obj in objects]
    more = [_("%(count)s more") % {"count": len(names) - limit}] if len(names) > limit else []
    return ", ".join([*names[:limit], *more])


class ReadOnlyAdmin(Admin):
    """An admin of rows that only the service writes: people look at them only."""

    actions: Any = None
    has_add_permission: Any = never
    has_change_permission: Any = never
    has_delete_permission: Any = never
