"""What every admin of ours is made of: verbs instead of save(), faults at their fields, pages without a full count."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, TypeVar, cast

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
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from unfold import decorators as theme
from unfold.admin import ModelAdmin, TabularInline

from callcentre.admin.edit_conflicts import ShownValueField
from callcentre.admin.lists import ChangeList
from callcentre.admin.secrets import OwnPasswordForm
from callcentre.core.actor import Actor
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid, is_lock_refusal

logger = logging.getLogger(__name__)

# What a verb raises, or the database behind it, where input breaks a rule or comes too late.
# Of operational errors `refusals_of` takes refused locks only, and raises the others again.
REFUSALS = (ValidationError, Conflict, IntegrityError, OperationalError)
# More rows than this no action takes at once: nobody looks through what he has selected.
MAX_SELECTED = 1000

# For the views of pages that show what people have written: it may have images of other sites.
with_images_from_elsewhere = csp_update({"img-src": ["https:", "http:"]})

Refusal = tuple[str, str]  # field or "", sentence
Function = TypeVar("Function", bound=Callable[..., Any])


def display(**options: Any) -> Callable[[Function], Function]:
    """The theme's decorator of what a list or a page shows, with types."""
    return cast("Callable[[Function], Function]", theme.display(**options))


def page_action(**options: Any) -> Callable[[Function], Function]:
    """The theme's decorator of an action with an address of its own, with types."""
    return cast("Callable[[Function], Function]", theme.action(**options))


def actor_of(request: HttpRequest) -> Actor:
    actor: Actor = request.user.actor  # type: ignore[union-attr]
    return actor


def cut(text: Any) -> str:
    """In a list: what is too long for its place is whole under the mouse."""
    return format_html('<span class="cc-cut" title="{}">{}</span>', text, text)


def without_buttons(formfield: Any) -> Any:
    """Without the buttons that add, change or delete what the field points to: those have pages of their own."""
    if isinstance(widget := getattr(formfield, "widget", None), RelatedFieldWidgetWrapper):
        for name in ("can_add_related", "can_change_related", "can_delete_related", "can_view_related"):
            setattr(widget, name, False)
    return formfield


class MinuteField(forms.SplitDateTimeField):
    """An instant shown and typed to the minute: one with seconds that nobody touched has not changed."""

    def has_changed(self, initial: Any, data: Any) -> bool:
        if isinstance(initial, datetime):
            initial = initial.replace(second=0, microsecond=0)
        return super().has_changed(initial, data)


class _RefusedForm:
    """Makes a form of one that was found valid and then refused by a verb: with what the verb said at its fields."""

    refusals: ClassVar[Sequence[Refusal]] = ()

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]
        for name, sentence in self.refusals:
            self.add_error(name if name in self.fields else None, sentence)  # type: ignore[attr-defined]


class Admin(ModelAdmin):
    """The base of every admin. `save_model` of the ones with verbs calls the verb; whatever a verb refuses, or the
    database, is shown in the form and never a 500."""

    list_per_page = 50
    list_max_show_all = 0
    # A count beside each choice of a filter is a count of the table for each.
    show_facets = ShowFacets.NEVER
    list_filter_submit = True
    warn_unsaved_form = True
    # The page says what it showed, so that what counts as changed is what the person changed, and not what somebody
    # else did meanwhile.
    sends_shown_values = True
    # The history of the object itself is shown where it has one; then Django's own is one too many.
    has_own_history = False
    # The model's name for a value -> the form's, where they differ.
    fault_fields: Mapping[str, str] = {}
    # Sentences in the words of the admin, where a fault's own speaks of the wire.
    sentences: Mapping[ErrorCode, Any] = {}

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return ChangeList

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Return the list. Say so if its address makes no sense, and all rows are shown instead."""
        try:
            return super().get_changelist_instance(request)
        except IncorrectLookupParameters as error:
            if ERROR_FLAG in request.GET:  # Django would blame the database
                raise BadRequest from error
            sentence = _("The list has no such filter or page. It is shown from its beginning, unfiltered.")
            self.message_user(request, sentence, messages.WARNING)
            raise

    def response_action(self, request: HttpRequest, queryset: models.QuerySet[Any], *rest: Any, **options: Any) -> Any:
        """Apply an action to the selected rows. Refuse what cannot be the id of a row."""
        for selected in request.POST.getlist(helpers.ACTION_CHECKBOX_NAME):
            try:
                self.opts.pk.clean(selected, None)
            except ValidationError as error:
                raise BadRequest from error
        return super().response_action(request, queryset, *rest, **options)

    def get_actions(self, request: HttpRequest) -> Any:
        """Without Django's deletion of whatever is selected: what may be deleted at all is deleted one by one."""
        actions = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Return what the address says of a new row, without the values that its fields cannot hold."""
        initial: dict[str, Any] = super().get_changeform_initial_data(request)
        for field in (*self.opts.fields, *self.opts.many_to_many):
            if field.name in initial:
                try:
                    initial[field.name] = _value_of(field, initial[field.name])
                except (ValidationError, TypeError, ValueError):
                    del initial[field.name]
        return initial

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save what was changed and nothing else: two who edit one row at once keep each other's changes."""
        if not change:
            obj.save(force_insert=True)
        elif form.changed_data:
            touched = ["updated_at"] if hasattr(obj, "updated_at") else []
            obj.save(update_fields=[*form.changed_data, *touched])

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
            # Nothing was changed: the transaction is gone. Make the page again, with what is wrong in its form.
            request.refusals = self.refusals_of(error)  # type: ignore[attr-defined]
            return super().changeform_view(request, object_id, form_url, dict(extra))

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None) -> Any:
        try:
            return super().delete_view(request, object_id, extra_context)
        except REFUSALS as error:
            self.say_refused(request, error)
            return redirect(self.url_of("change", object_id))

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """What stands against a deletion is named as such, not as a permission that is lacking."""
        deleted, counts, lacking, protected = super().get_deleted_objects(objs, request)
        return deleted, counts, set() if protected else lacking, protected

    def refusals_of(self, error: Exception) -> list[Refusal]:
        """(field of the form or "", sentence) of each thing that is wrong."""
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

    def say_refused(self, request: HttpRequest, error: Exception) -> None:
        for _field, sentence in self.refusals_of(error):
            self.message_user(request, sentence, messages.ERROR)

    def url_of(self, page: str, *args: Any) -> str:
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_{page}", args=args)

    def action_page(
        self,
        request: HttpRequest,
        *,
        title: str,
        submit: str,
        form: forms.Form | None = None,
        obj: models.Model | None = None,
        selected: Iterable[models.Model] = (),
        **context: Any,
    ) -> HttpResponse:
        """The page on which an action asks for what it needs, or says what it is about to do."""
        return TemplateResponse(
            request,
            "admin/action.html",
            {
                **self.admin_site.each_context(request),
                "title": title,
                "subtitle": str(obj) if obj else None,
                "opts": self.opts,
                "original": obj,
                "form": form,
                "media": self.media + (form.media if form else forms.Media()),
                "submit_label": submit,
                "selected": [(str(row.pk), str(row)) for row in selected],
                "action": request.POST.get("action", ""),
                "checkbox": helpers.ACTION_CHECKBOX_NAME,
                "cancel_url": self.url_of("change", obj.pk) if obj else request.get_full_path(),
                **context,
            },
        )


def _value_of(field: Any, given: Any) -> Any:
    """Return what a field makes of the text, or the texts, of an address; raise an error if it makes nothing of it."""
    if field.many_to_many:
        return [field.target_field.to_python(pk) for pk in given]
    return (field.target_field if field.is_relation else field).to_python(given)


def sentence_of_constraint(error: IntegrityError) -> str:
    """What the model says of the constraint that was broken: two people did at once what each alone may do."""
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


class Inline(TabularInline):
    """Rows in a table: the heading of a column is the name of each of its inputs."""

    extra = 0
    hide_title = True

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = without_buttons(super().formfield_for_dbfield(db_field, request, **kwargs))
        if field is not None:
            widget = getattr(field.widget, "widget", field.widget)
            widget.attrs.setdefault("aria-label", capfirst(str(field.label)))
        return field


class ReadOnlyAdmin(Admin):
    """Rows that only the service writes: looked at, never added, changed or deleted."""

    actions: Any = None

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
