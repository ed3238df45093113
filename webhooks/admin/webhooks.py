from datetime import timedelta
from functools import partial
from typing import Any

from django.contrib import admin
from django.db.models import IntegerField, Q, QuerySet
from django.db.models.expressions import RawSQL
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.formats import localize
from django.utils.html import format_html_join
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from callcentre.admin import (
    ChangeMixin,
    HistoryMixin,
    ReadOnlyAdmin,
    UncountedMixin,
    actor_of,
    confirm_first,
    display,
    page_action,
)
from callcentre.admin.base import REFUSALS
from callcentre.admin.history import SHOWN, Entry, entry_of
from callcentre.admin.lists import ConditionFilter
from callcentre.admin.secrets import OwnPasswordForm, RotateForm, password_inputs
from callcentre.core.errors import ErrorCode, Outdated
from webhooks.admin.forms import CREDENTIALS, ResendForm, WebhookForm, by_group
from webhooks.admin.health import CHART_OPTIONS, MOST_COUNTED, health_of, queue_of, state_of
from webhooks.admin.targets import TargetAdmin
from webhooks.models import Webhook, WebhookChange
from webhooks.rules import faults_of
from webhooks.verbs import webhooks as verbs
from webhooks.verbs.webhooks import start_resend

ACTIONS = {
    "enable": _("enabled"),
    "disable: person": _("disabled"),
    "disable: gone": _("disabled: the receiver answered 410"),
    "disable: failing": _("disabled: nothing but failures for five days"),
    "show_secret": _("secret shown"),
    "resend": _("failed deliveries sent again"),
}
NAMES = {
    "since": _("failed since"),
    "deliveries": _("deliveries"),
    "http_auth_user": _("user of Basic authentication"),
    "http_auth_password": _("password of Basic authentication"),
}


def changes_of(change: WebhookChange) -> list[tuple[Any, Any, Any]]:
    """Return name, old value and new value of each change, in words."""
    return [(_name(name), _plain(name, old), _plain(name, new)) for name, (old, new) in sorted(change.changes.items())]


def _name(name: str) -> Any:
    return NAMES.get(name) or {field.name: field.verbose_name for field in Webhook._meta.fields}.get(name, name)


def _plain(name: str, value: Any) -> str:
    if name == "since" and value and (instant := parse_datetime(value)):
        return str(localize(timezone.localtime(instant)))
    return ", ".join(value) if isinstance(value, list) else "" if value is None else str(value)


@admin.register(WebhookChange)
class WebhookChangeAdmin(ChangeMixin, UncountedMixin, ReadOnlyAdmin):
    """The history of all webhooks, with the people who saw a secret."""

    list_filter = ("actor_kind",)
    action_labels = ACTIONS
    changes_of = staticmethod(changes_of)
    prefetched = ("webhook",)


WAITING = """(SELECT count(*) FROM (
  SELECT FROM webhooks_delivery d WHERE d.webhook_id = webhooks_webhook.id AND d.state = 'waiting' LIMIT %s
) AS counted)"""


class HealthFilter(ConditionFilter):
    title = _("state")
    parameter_name = "health"
    conditions = {
        "healthy": (_("healthy"), Q(is_active=True, failing_since=None)),
        "failing": (_("failing"), Q(is_active=True, failing_since__isnull=False)),
        "disabled": (_("disabled"), Q(is_active=False)),
    }


@admin.register(Webhook)
class WebhookAdmin(HistoryMixin, TargetAdmin):
    """Webhooks, their health, and actions to enable, test and resend."""

    form = WebhookForm
    list_display = ("address", "actions_summary", "state", "waiting", "last_success_at", "failing_since")
    list_filter = (HealthFilter,)
    search_fields = ("subscription_url",)
    search_help_text = _("Part of the address")
    readonly_fields = ("actions_shown", "credentials", "signs_with", "created_at")
    actions = ("enable_selected", "disable_selected")
    actions_detail = (
        "send_test",
        "enable",
        "resend_failed",
        {"title": _("More"), "items": ["show_secret", "rotate_secret", "disable"]},
    )
    change_form_outer_before_template = "admin/webhooks/health.html"
    fault_fields = {"http_auth_user": "new_user", "http_auth_password": "new_password"}
    sentences = {
        ErrorCode.TARGET_CREDENTIALS: _("The address cannot hold a login: write it into the fields below."),
        ErrorCode.EMPTY: _("Choose at least one."),
    }

    def get_queryset(self, request: HttpRequest) -> QuerySet[Webhook]:
        return super().get_queryset(request).filter(deleted_at=None)

    # The list

    def for_list(self, rows: QuerySet[Webhook]) -> QuerySet[Webhook]:
        waiting = RawSQL(WAITING, [MOST_COUNTED + 1], output_field=IntegerField())  # noqa: S611  (a text of ours)
        return rows.annotate(waiting_count=waiting)

    @display(description=_("address"), ordering="subscription_url")
    def address(self, webhook: Webhook) -> str:
        url = webhook.subscription_url
        return url if len(url) <= 60 else f"{url[:57]}…"

    @display(description=_("actions"))
    def actions_summary(self, webhook: Webhook) -> str:
        return ", ".join(f"{group} {len(some)}" for group, some in by_group(webhook.actions).items())

    @display(description=_("state"), label={c: c for c in ("success", "warning", "danger", "info")})
    def state(self, webhook: Webhook) -> tuple[str, str]:
        state = state_of(webhook)
        return state.colour, state.label

    @display(description=_("waiting"))
    def waiting(self, webhook: Webhook) -> str:
        count: int = vars(webhook)["waiting_count"]
        return f"> {localize(MOST_COUNTED)}" if count > MOST_COUNTED else str(localize(count))

    @admin.action(description=_("Enable"), permissions=["change"])
    def enable_selected(self, request: HttpRequest, webhooks: QuerySet[Webhook]) -> None:
        said = ngettext_lazy("%(count)s webhook enabled.", "%(count)s webhooks enabled.", "count")
        self.apply_and_say(request, webhooks.filter(is_active=False), verbs.enable_webhook, said)

    @admin.action(description=_("Disable"), permissions=["change"])
    @confirm_first(
        _("Nothing is sent until they are enabled again. What waits goes on waiting; no new events join it."),
        is_active=True,
    )
    def disable_selected(self, request: HttpRequest, webhooks: QuerySet[Webhook]) -> None:
        said = ngettext_lazy("%(count)s webhook disabled.", "%(count)s webhooks disabled.", "count")
        self.apply_and_say(request, webhooks.filter(is_active=True), verbs.disable_webhook, said)

    # The page

    def get_fieldsets(self, request: HttpRequest, obj: Webhook | None = None) -> Any:
        """Return the fields. Users who may only view see whether there are credentials, but no fields for them."""
        may_change = self.has_change_permission(request, obj) if obj else True
        is_set = obj is not None and bool(obj.http_auth_user or obj.http_auth_password)
        access = [*(["credentials"] if obj else []), *(CREDENTIALS[: 3 if is_set else 2] if may_change else ())]
        access += password_inputs(request) if obj and may_change else []
        about = ["subscription_url", "actions" if may_change else "actions_shown", "format"]
        fieldsets: list[Any] = [(None, {"fields": about}), (_("Basic authentication"), {"fields": access})]
        if obj:
            fieldsets.append((_("Signature"), {"fields": ["signs_with", "created_at"]}))
        return fieldsets

    @display(description=_("actions"))
    def actions_shown(self, webhook: Webhook) -> str:
        lines = (
            (f"{group}: ", " ".join(text for _name, text in some)) for group, some in by_group(webhook.actions).items()
        )
        return format_html_join("", "<div>{}{}</div>", lines)

    @display(description=_("credentials"))
    def credentials(self, webhook: Webhook) -> str:
        if webhook.http_auth_user or webhook.http_auth_password:
            return _now("Set, and never shown. What is typed here replaces them; what is left empty stays.")
        return _now("none")

    @display(description=_("signs with"))
    def signs_with(self, webhook: Webhook) -> str:
        if len(webhook.signing_secrets) > 1:
            until = localize(timezone.localtime(webhook.previous_secret_expires_at))
            return _now("its secret, and until %(until)s also the one before") % {"until": until}
        return _now("its secret")

    def history_of(self, obj: Webhook) -> list[Entry]:
        return [entry_of(change, changes_of(change), ACTIONS) for change in obj.history.all()[:SHOWN]]

    def page_context(self, request: HttpRequest, obj: Webhook | None) -> dict[str, Any]:
        context = super().page_context(request, obj)
        if obj is not None:
            context["health"] = health_of(obj)
            context["chart_options"] = CHART_OPTIONS
            context["resend"] = obj.resends.open().first()
            context["deliveries_url"] = reverse("admin:webhooks_delivery_changelist")
            context["attempts_url"] = reverse("admin:webhooks_attempt_changelist")
        return context

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        values = form.values()
        if change:
            webhook = Webhook.objects.get(pk=obj.pk)
            verbs.edit_webhook(webhook, actor_of(request), faults_of(values), **values)
        else:
            obj.__dict__.update(verbs.create_webhook(actor_of(request), faults_of(values), **values).__dict__)

    def delete_model(self, request: HttpRequest, obj: Webhook) -> None:
        verbs.remove_webhook(obj, actor_of(request))

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Return what is deleted with a webhook. The permission to delete the webhook covers these."""
        waiting = queue_of(objs[0]).shown_count
        gone = [str(objs[0]), _now("what was sent to it, and what waits")]
        return gone, {_now("deliveries that wait"): waiting}, set(), []

    # What can be done with a webhook

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> Any:
        """Enabling what is enabled already is no choice, nor is disabling what is disabled."""
        webhook = self.get_object(request, object_id)
        useless = "webhooks_webhook_enable" if webhook and webhook.is_active else "webhooks_webhook_disable"
        return [action for action in super().get_actions_detail(request, object_id) if action.action_name != useless]

    @page_action(description=_("Send a test event"), url_path="test", icon="send", permissions=["change"])
    def send_test(self, request: HttpRequest, object_id: str) -> HttpResponse:
        webhook = self.row_or_404(request, object_id)
        intro = _now("An event TEST is sent to this webhook alone, signed and repeated like any other.")
        if not webhook.is_active:
            intro = _now("The webhook is disabled: the test event waits until it is enabled.")
        return self.ask_and_do(
            request,
            webhook,
            partial(verbs.send_test, webhook, actor_of(request)),
            title=_now("Send a test event"),
            submit=_now("Send"),
            intro=intro,
            said=_now("A test event is on its way. What came of it is among the deliveries in a moment."),
        )

    @page_action(description=_("Enable"), url_path="enable", icon="play_arrow", permissions=["change"])
    def enable(self, request: HttpRequest, object_id: str) -> HttpResponse:
        webhook = self.row_or_404(request, object_id)
        intro = _now(
            "What waits is sent at once, then all new events. What happened while it was disabled is"
            " not sent: the receiver reads it at /api/events."
        )
        verb = partial(verbs.enable_webhook, webhook, actor_of(request))
        said = _now("The webhook is enabled.")
        return self.ask_and_do(request, webhook, verb, title=_now("Enable"), intro=intro, said=said)

    @page_action(description=_("Disable"), url_path="disable", icon="pause", permissions=["change"])
    def disable(self, request: HttpRequest, object_id: str) -> HttpResponse:
        webhook = self.row_or_404(request, object_id)
        intro = _now("Nothing is sent until it is enabled again. What waits goes on waiting; no new events join it.")
        verb = partial(verbs.disable_webhook, webhook, actor_of(request))
        said = _now("The webhook is disabled.")
        return self.ask_and_do(request, webhook, verb, title=_now("Disable"), intro=intro, said=said)

    @page_action(description=_("Show the secret"), url_path="secret", icon="visibility", permissions=["change"])
    def show_secret(self, request: HttpRequest, object_id: str) -> HttpResponse:
        webhook = self.row_or_404(request, object_id)
        form = OwnPasswordForm.of(request)(request.POST if request.method == "POST" else None)
        if form.is_valid():
            return self.show_to_copy(request, webhook, verbs.show_secret(webhook, actor_of(request)))
        intro = _now("The receiver checks signatures with it. That you have looked at it is kept in the history.")
        return self.action_page(
            request, title=_now("Show the secret"), submit=_now("Show it"), form=form, obj=webhook, intro=intro
        )

    @page_action(description=_("New secret"), url_path="rotate-secret", icon="key", permissions=["change"])
    def rotate_secret(self, request: HttpRequest, object_id: str) -> HttpResponse:
        webhook = self.row_or_404(request, object_id)
        form = RotateForm.of(request)(request.POST or None, initial={"version": webhook.version, "overlap_hours": 24})
        if request.method == "POST" and form.is_valid():
            overlap = timedelta(hours=form.cleaned_data["overlap_hours"])
            try:
                secret = verbs.rotate_secret(webhook, actor_of(request), overlap, form.cleaned_data["version"])
            except Outdated:
                form.add_error(None, _("The webhook was changed meanwhile, or this page was sent before."))
            except REFUSALS as error:
                self.say_refused(request, error)
                return redirect(self.url_of("change", webhook.pk))
            else:
                return self.show_to_copy(request, webhook, secret)
        return self.action_page(
            request,
            title=_now("New secret"),
            submit=_now("Make a new secret"),
            form=form,
            obj=webhook,
            intro=_now("Until the overlap is over each delivery is signed with both, so that either one verifies."),
        )

    @page_action(
        description=_("Send again what failed"), url_path="resend-failed", icon="replay", permissions=["change"]
    )
    def resend_failed(self, request: HttpRequest, object_id: str) -> HttpResponse:
        webhook = self.row_or_404(request, object_id)
        initial = {"since": timezone.now() - timedelta(days=1), "includes_waiting": True}
        form = ResendForm(request.POST or None, initial=initial)
        if request.method == "POST" and form.is_valid():
            try:
                resend = start_resend(webhook, actor_of(request), **form.cleaned_data)
            except REFUSALS as error:
                for _field, sentence in self.refusals_of(error):
                    form.add_error(None, sentence)
            else:
                return redirect(reverse("admin:webhooks_resend_change", args=[resend.pk]))
        intro = _now("In the background, each with all its attempts before it. The receiver sees the same webhook-id.")
        if not webhook.is_active:
            intro = _now("The webhook is disabled: what failed waits until it is enabled.")
        return self.action_page(
            request,
            title=_now("Send again what failed"),
            submit=_now("Send again"),
            form=form,
            obj=webhook,
            intro=intro,
        )
