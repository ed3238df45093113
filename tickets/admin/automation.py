"""The pages of rules and macros. Their forms have a row for each condition and action of the vocabulary."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import URLPattern
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminSelect2MultipleWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from callcentre.admin import Admin, display, user_of
from callcentre.admin.theme import ModelForm
from callcentre.core.errors import ErrorCode
from callcentre.core.integers import integer_of
from callcentre.core.scope import within_scope
from telephony.models import Agent
from tickets.admin.ticket_page_forms import tags_of
from tickets.admin.ticket_page_sidebar import entries_of
from tickets.models import CustomField, Macro, Rule, Ticket, TicketStatus
from tickets.models.automation import Happening
from tickets.models.ticket import LONGEST_TAG
from tickets.models.vocabulary import (
    ACTIONS,
    MYSELF,
    OPERATORS,
    Action,
    Fact,
    Operator,
    actions_in_words,
    all_hold,
    checks_of,
    facts,
    in_words,
)
from tickets.verbs.automation import EVERYTHING, try_actions

# The last tickets that a new rule is tried on.
TRIED = 100


def _choice(label: Any, choices: Any) -> forms.Field:
    return forms.ChoiceField(label=capfirst(label), required=False, choices=choices, widget=UnfoldAdminSelectWidget())


def _words(label: Any) -> forms.Field:
    return forms.CharField(
        label=label, required=False, widget=UnfoldAdminTextInputWidget(), help_text=_("Commas between them.")
    )


def _operator_field(fact: Fact, *, may_change: bool) -> forms.Field:
    operators = [each for each in fact.operators if may_change or each is not Operator.BECAME]
    return _choice(fact.label, [("", "–"), *((each.value, OPERATORS[each]) for each in operators)])


def _values_field(fact: Fact) -> forms.Field:
    if fact.choices is None:
        return _words(_("Words"))
    widget = UnfoldAdminSelect2MultipleWidget()
    return forms.MultipleChoiceField(label=_("Values"), required=False, choices=fact.choices, widget=widget)


def _action_field(action: Action, *, has_agent: bool) -> forms.Field:
    if action.choices is not None:
        # No agent uses a rule.
        offered = [choice for choice in action.choices() if has_agent or choice[0] != MYSELF]
        return _choice(action.label, [("", "–"), *offered])
    if action.takes_many:
        return _words(capfirst(action.label))
    widget = UnfoldAdminTextareaWidget(attrs={"rows": 3})
    return forms.CharField(label=capfirst(action.label), required=False, max_length=10_000, widget=widget)


class ConditionalForm(ModelForm):
    """The form of conditions. A subclass has the fields of the present vocabulary."""

    known: Mapping[str, Fact] = {}

    def conditions(self) -> list[dict[str, Any]]:
        # Those on a field that is gone stay: without them it would match more.
        found = [each for each in self.instance.conditions if each["name"] not in self.known]
        for name, fact in self.known.items():
            if operator := self.cleaned_data.get(f"if_{name}"):
                given: Any = self.cleaned_data.get(f"of_{name}") or ""
                values = list(given) if fact.choices else tags_of(given)
                takes_values = Operator(operator).takes_values
                if takes_values and not values:
                    self.add_error(f"of_{name}", _now("Choose or write a value."))
                    continue
                found.append({"name": name, "operator": operator, "values": list(values) if takes_values else []})
        return found

    def clean(self) -> dict[str, Any]:
        super().clean()
        self.instance.conditions = self.conditions()
        return self.cleaned_data


class AutomationForm(ConditionalForm):
    """The form of conditions and actions."""

    def actions(self) -> dict[str, Any]:
        given = {name: self.cleaned_data.get(f"do_{name}") for name in ACTIONS}
        return {name: tags_of(value) if ACTIONS[name].takes_many else value for name, value in given.items() if value}

    def clean(self) -> dict[str, Any]:
        super().clean()
        self.instance.actions = self.actions()
        for name in ("add_tags", "remove_tags"):
            if any(len(tag) > LONGEST_TAG for tag in self.instance.actions.get(name, ())):
                self.add_error(f"do_{name}", _now("A tag has at most 100 characters."))
        chosen = self.instance.actions.get("status")
        status = TicketStatus.objects.filter(pk=chosen).first() if chosen else None
        if "postpone" in self.instance.actions and status and status.kind != TicketStatus.Kind.POSTPONED:
            self.add_error("do_postpone", ErrorCode.POSTPONED_STATUS.text)
        if not self.instance.actions:
            self.add_error(None, _now("Nothing is to be done: choose an action."))
        return self.cleaned_data


def form_class(base: Any, known: Mapping[str, Fact], row: Any, *, may_change: bool) -> Any:
    """Build the form with the conditions and actions that there are, and what the row has of them."""
    fields: dict[str, Any] = {"known": known}
    for name, fact in known.items():
        fields[f"if_{name}"] = _operator_field(fact, may_change=may_change)
        fields[f"of_{name}"] = _values_field(fact)
    for name, action in ACTIONS.items() if issubclass(base, AutomationForm) else ():
        fields[f"do_{name}"] = _action_field(action, has_agent=not may_change)
    for condition in row.conditions if row else []:
        if (name := condition["name"]) in known:
            values = condition["values"]
            fields[f"if_{name}"].initial = condition["operator"]
            fields[f"of_{name}"].initial = values if known[name].choices else ", ".join(values)
    for name, value in getattr(row, "actions", {}).items():
        if name in ACTIONS:
            fields[f"do_{name}"].initial = ", ".join(value) if ACTIONS[name].takes_many else value
    return type(base.__name__, (base,), fields)


class ConditionalAdmin(Admin):
    """The base of what holds for the tickets that meet conditions."""

    form: Any = ConditionalForm
    list_display: Any = ("name", "order", "is_active")
    list_display_links = ("name",)
    list_filter = ("is_active",)
    search_fields = ("name",)
    own_fields: tuple[Any, ...] = ("name", ("order", "is_active"))
    # Whether a condition may ask what a change set.
    may_change = False

    def known(self, request: HttpRequest) -> Mapping[str, Fact]:
        """Return the facts of the vocabulary. The request keeps them, so that a page reads them once."""
        kept = vars(request)
        if "vocabulary" not in kept:
            kept["vocabulary"] = facts()
        return kept["vocabulary"]  # type: ignore[no-any-return]

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        kwargs["form"] = form_class(self.form, self.known(request), obj, may_change=self.may_change)
        return super().get_form(request, obj, change=change, **kwargs)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        conditions = [(f"if_{name}", f"of_{name}") for name in self.known(request)]
        return [(None, {"fields": self.own_fields}), (_("If all of this holds"), {"fields": conditions})]

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save the columns that the person changed. Conditions and actions are a column each."""
        own = {name for name in form.changed_data if not name.startswith(("if_", "of_", "do_"))}
        parts = {"conditions": ("if_", "of_"), "actions": ("do_",)}
        own |= {column for column, begun in parts.items() if any(n.startswith(begun) for n in form.changed_data)}
        form.changed_data[:] = sorted(own | self.columns_that_follow(obj, own))
        super().save_model(request, obj, form, change)

    def columns_that_follow(self, obj: Any, changed: set[str]) -> set[str]:
        return set()


class AutomationAdmin(ConditionalAdmin):
    """The base of rules and macros."""

    form = AutomationForm
    change_form_outer_after_template = "admin/tickets/automation_try.html"

    def get_urls(self) -> list[URLPattern]:
        return [self.url_to("try/", self.try_view, "try"), *super().get_urls()]

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        return [*super().get_fieldsets(request, obj), (_("Then"), {"fields": [f"do_{name}" for name in ACTIONS]})]

    def try_view(self, request: HttpRequest) -> HttpResponse:
        """Show which of the last tickets the posted conditions match, and what the actions would do to one of them."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not (self.has_change_permission(request) and request.user.has_perm("tickets.view_ticket")):
            raise PermissionDenied
        known = self.known(request)
        form = self.get_form(request)(request.POST, instance=self.model())
        form.is_valid()
        # It is tried before it has a name, or with the name that it has already.
        form.errors.pop("name", None)
        conditions, actions = form.instance.conditions, form.instance.actions
        checks = checks_of(conditions, known) or ()
        tickets = within_scope(Ticket.objects.select_related("status", "queue", "customer", "agent"), user_of(request))
        last = list(tickets.order_by("-updated_at", "-id")[:TRIED])
        matching = [ticket for ticket in last if all_hold(checks, ticket, EVERYTHING)]
        chosen = integer_of(request.POST.get("tried_on", "").strip().lstrip("#"))
        one = tickets.filter(pk=chosen).first() if chosen else next(iter(matching), None)
        # A rule has no agent.
        agent = None if self.may_change else Agent.objects.of_user(user_of(request))
        is_complete = one is not None and not form.errors
        tried = try_actions(one, str(self.opts.verbose_name), actions, agent) if is_complete and one else None
        fields = list(CustomField.objects.of(CustomField.Owner.TICKET)) if one else []
        return self.page(
            request,
            "admin/tickets/automation_tried.html",
            None,
            title=_now("What it would do"),
            conditions=[in_words(condition, known) for condition in conditions],
            actions=actions_in_words(actions),
            errors=[error for errors in form.errors.values() for error in errors],
            last=len(last),
            matching=matching,
            one=one,
            tried=tried,
            entries=entries_of(tried.changes, fields) if tried else [],
        )


@admin.register(Macro)
class MacroAdmin(AutomationAdmin):
    """Several actions that agents do in one click, on tickets that meet the conditions."""


class RuleForm(AutomationForm):
    events = forms.MultipleChoiceField(
        label=_("When"),
        required=False,
        choices=Happening.choices,
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
        help_text=_("Or choose a time below."),
    )

    def clean(self) -> dict[str, Any]:
        super().clean()
        if self.cleaned_data.get("anchor"):
            for condition in self.instance.conditions:
                if condition["operator"] == Operator.BECAME:
                    self.add_error(f"if_{condition['name']}", _now("At a time nothing becomes: choose “is one of”."))
        return self.cleaned_data


@admin.register(Rule)
class RuleAdmin(AutomationAdmin):
    """Rules, which act on tickets when something happens to them, or some time later."""

    form = RuleForm
    list_display = ("name", "when", "order", "is_active", "trouble")
    own_fields = ("name", ("order", "is_active"), "events", ("anchor", "after_minutes"), "starts_others")
    may_change = True

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return ("trouble",) if obj and obj.trouble else ()

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        (_title, own), *rest = super().get_fieldsets(request, obj)
        trouble = self.get_readonly_fields(request, obj)
        return [(None, {"fields": (*own["fields"], *trouble)}), *rest]

    def columns_that_follow(self, obj: Rule, changed: set[str]) -> set[str]:
        """Let a rule that begins to run take no ticket whose time came before."""
        if changed.isdisjoint({"is_active", "anchor", "after_minutes"}):
            return set()
        obj.since = timezone.now()
        return {"since"}

    @display(description=_("when"))
    def when(self, rule: Rule) -> str:
        if not rule.anchor:
            return ", ".join(str(Happening(each).label) for each in rule.events)
        minutes = rule.after_minutes or 0
        sentence = _now("%(minutes)s min before: %(time)s") if minutes < 0 else _now("%(minutes)s min after: %(time)s")
        return sentence % {"minutes": abs(minutes), "time": rule.get_anchor_display()}
