"""Imports of records in the admin: upload a file, choose its columns, watch the import."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, reverse
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.contrib.filters.admin import ChoicesDropdownFilter

from callcentre.admin import actor_of, needs
from callcentre.admin.base import REFUSALS
from callcentre.admin.jobs import JobAdmin
from callcentre.admin.scope import RelatedDropdownFilter, offer_within, scope_of
from callcentre.core.audit import AuditAction, record_once
from callcentre.core.errors import ErrorCode, Invalid
from campaigns.admin.import_forms import ColumnsForm, UploadForm
from campaigns.importing.columns import check_choices, guess_columns
from campaigns.importing.do_not_call_file import columns_of_header
from campaigns.importing.formats import Format, guess_format
from campaigns.importing.import_run import columns_of, format_of
from campaigns.importing.preview import CHECKED_ROWS, Preview, head, preview
from campaigns.models import CampaignField, RecordImport
from campaigns.models.rules import CampaignFacts, facts_or_404
from campaigns.verbs.campaigns import edit_campaign
from campaigns.verbs.imports import describe_import, queue_import, upload_import

State, Target = RecordImport.State, RecordImport.Target
LONGEST_NAME = CampaignField._meta.get_field("name").max_length
# Labels of the rows that were merged, and of those that changed nothing.
COUNTS: Mapping[RecordImport.Target, tuple[Any, Any]] = {
    Target.RECORDS: (_("records added"), _("duplicates left out")),
    Target.DO_NOT_CALL: (_("entries added or extended"), _("further rows of a number")),
    Target.REMOVAL: (_("entries removed"), _("rows without an entry")),
}


@admin.register(RecordImport)
class RecordImportAdmin(JobAdmin):
    """The list answers which files were imported, and with what result."""

    list_display = (
        "file_name",
        "target",
        "campaign",
        "state_label",
        "added_count",
        "duplicate_count",
        "faulty_count",
        "actor_name",
        "created_at",
    )
    list_filter = (
        ("state", ChoicesDropdownFilter),
        ("target", ChoicesDropdownFilter),
        ("campaign", RelatedDropdownFilter),
    )
    joined = ("campaign",)
    search_fields = ("file_name", "campaign__code", "campaign__name")
    search_help_text = _("File or campaign")
    sentences = {ErrorCode.CONFLICT: _("Another user has started this import already.")}
    has_add_permission = needs("campaigns.add_recordimport")

    class Media:
        css = {"all": ["campaigns/import.css"]}
        js = ["campaigns/import.js"]

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(super().has_view_permission(request, obj)) or self.has_add_permission(request)

    def get_urls(self) -> list[URLPattern]:
        return [
            self.url_to("add/", self.upload_view, "add"),
            self.url_to("<int:pk>/columns/", self.columns_view, "columns"),
            self.url_to("<int:pk>/errors/", self.errors_view, "errors"),
            self.url_to("<int:pk>/retry/", self.retry_view, "retry"),
            *super().get_urls(),
        ]

    # 1. The file

    def upload_view(self, request: HttpRequest) -> HttpResponse:
        """Show the form, or store its file, which callcentre.web.bodies has admitted and written to disk."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        if request.method != "POST":
            initial = {"target": Target.RECORDS, **request.GET.dict()}
            return self._page(request, "upload", form=self._upload_form(request, initial=initial))
        form = self._upload_form(request, request.POST, request.FILES)
        if form.is_valid():
            try:
                given = self._store(request, **form.cleaned_data)
            except Invalid as error:
                form.add_error("file", error.messages)
            else:
                return redirect(self.url_of("columns" if given.is_of_records else "change", given.pk))
        return self._page(request, "upload", form=form)

    def _upload_form(self, request: HttpRequest, *args: Any, **options: Any) -> UploadForm:
        form, scope = UploadForm(*args, **options), scope_of(request)
        offer_within(scope, form.fields)
        if scope.outbounds is not None:
            form.offer_records_only()
        return form

    def _store(self, request: HttpRequest, target: str, campaign: Any, file: Any) -> RecordImport:
        if campaign is None:
            return self._store_list(request, target, file)
        form = guess_format(file.file)
        columns = _guessed(file.file, form, facts_or_404(campaign.code))
        file.seek(0)
        return upload_import(
            campaign,
            actor_of(request),
            file,
            encoding=form.encoding,
            delimiter=form.delimiter,
            has_header=form.has_header,
            columns=columns,
        )

    def _store_list(self, request: HttpRequest, target: str, file: Any) -> RecordImport:
        """Store a file of do-not-call entries, whose header names the columns, and import it. Raises Invalid."""
        right = "delete" if target == Target.REMOVAL else "add"
        if not request.user.has_perm(f"campaigns.{right}_donotcall"):
            raise PermissionDenied
        form = guess_format(file.file, has_header=True)
        columns_of_header(head(file.file, form)[0])
        file.seek(0)
        actor = actor_of(request)
        named = {"encoding": form.encoding, "delimiter": form.delimiter, "target": target}
        given = upload_import(None, actor, file, **named)
        queue_import(given, actor)
        return given

    # 2. Its format and columns

    def columns_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        given: RecordImport = self.job_or_404(request, pk)
        if given.state not in (State.UPLOADED, State.FAILED) or not given.file or given.campaign is None:
            return redirect(self.url_of("change", pk))
        facts = facts_or_404(given.campaign.code)
        try:
            with given.file.open("rb") as file:
                return self._columns(request, given, facts, file.file)
        except FileNotFoundError:
            self.message_user(request, _now("The file is not there any more."), messages.ERROR)
            return redirect(self.url_of("change", pk))

    def _columns(self, request: HttpRequest, given: RecordImport, facts: CampaignFacts, file: Any) -> HttpResponse:
        header, examples, faults = _head(file, given)
        form = ColumnsForm(given, facts, header, request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            return self._save_choices(request, form, facts, file, header)
        faults = faults or [fault.message for fault in check_choices(columns_of(given), given.region, facts)]
        return self._page(
            request,
            "columns",
            given=given,
            form=form,
            columns=form.columns(header, examples),
            faults=faults,
            has_fields=bool(facts.fields) or facts.is_crm,
            may_make_fields=not facts.is_crm
            and _may_make_fields(request)
            and bool(_without_target(header, given.columns)),
            **({} if faults else self._preview(given, facts, file)),
        )

    def _save_choices(
        self, request: HttpRequest, form: ColumnsForm, facts: CampaignFacts, file: Any, header: list[str]
    ) -> HttpResponse:
        """Store the choices; queue the import if the person asked for it and no choice is wrong."""
        given, values = form.given, form.values()
        if is_reread := form.format != format_of(given):
            # The new format has other columns than the page showed, so their choices are void.
            values["columns"] = _guessed(file, form.format, facts)
        try:
            if "make_fields" in request.POST and not is_reread:
                values["columns"] |= self._make_fields(request, given, header, values["columns"])
            describe_import(given, actor_of(request), **values)
            if "start" in request.POST and not is_reread and not check_choices(columns_of(given), given.region, facts):
                queue_import(given, actor_of(request))
                return redirect(self.url_of("change", given.pk))
        except REFUSALS as error:
            self.say_refused(request, error)
            return redirect(self.url_of("change", given.pk))
        return redirect(self.url_of("columns", given.pk))

    def _make_fields(
        self, request: HttpRequest, given: RecordImport, header: list[str], columns: Mapping[str, str]
    ) -> dict[str, str]:
        """Make a field of the campaign of each column that is not imported. Return their targets."""
        if not _may_make_fields(request) or given.campaign is None:
            raise PermissionDenied
        wanted = _without_target(header, columns)
        edit_campaign(given.campaign, actor_of(request), field_names=[*wanted.values()])
        keys = dict(given.campaign.fields.values_list("name", "pk"))
        self.say_done(
            request,
            ngettext("%(count)s column is a field now.", "%(count)s columns are fields now.", len(wanted)),
            len(wanted),
        )
        return {position: f"field:{keys[name]}" for position, name in wanted.items()}

    def _preview(self, given: RecordImport, facts: CampaignFacts, file: Any) -> dict[str, Any]:
        columns = columns_of(given)
        is_skipping = given.duplicates == RecordImport.Duplicates.SKIP
        shown: Preview = preview(
            file,
            format_of(given),
            facts,
            columns,
            given.region,
            is_skipping=is_skipping,
            refuses_invalid=given.refuses_invalid,
        )
        names = {f"field:{key}": name for name, key in facts.fields.items()}
        targets = [
            target
            for target in dict.fromkeys(columns.values())
            if target not in ("phone_number", "status", "status_id", "dictionary_status_id")
        ]
        return {
            "preview": shown,
            "checked_rows": CHECKED_ROWS,
            "headings": [names.get(target, target) for target in targets],
            "rows": [
                (row, [(names.get(target, target), row.values.get(target, "")) for target in targets])
                for row in shown.rows
            ],
        }

    # 3. The import

    def change_view(self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None) -> Any:
        given: RecordImport = self.job_or_404(request, object_id)
        may_import = self.has_add_permission(request)
        if given.state == State.UPLOADED and may_import and given.file and given.is_of_records:
            return redirect(self.url_of("columns", given.pk))
        records = reverse("admin:campaigns_record_changelist")
        again = f"campaign={given.campaign_id}" if given.is_of_records else f"target={given.target}"
        return self._page(
            request,
            "state",
            given=given,
            may_import=may_import,
            labels=COUNTS[Target(given.target)],
            again_url=f"{self.url_of('add')}?{again}",
            records_url=f"{records}?campaign__id__exact={given.campaign_id}",
        )

    def progress_of(self, job: RecordImport) -> dict[str, Any]:
        label = str(job.get_state_display())
        return {"label": label, "percent": job.percent, "rows": job.read_count, "has_ended": job.has_ended}

    def errors_view(self, request: HttpRequest, pk: int) -> FileResponse:
        given: RecordImport = self.job_or_404(request, pk)
        if not given.error_file:
            raise Http404
        try:
            file = given.error_file.open("rb")
        except FileNotFoundError as error:
            raise Http404 from error
        record_once(actor_of(request), AuditAction.DOWNLOAD, given, name=given.file_name)
        name = f"{PurePath(given.file_name).stem}-not-imported.csv"
        return FileResponse(file, as_attachment=True, filename=name, content_type="text/csv; charset=utf-8")

    def retry_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        given: RecordImport = self.job_or_404(request, pk)
        if not self.has_add_permission(request):
            raise PermissionDenied
        return self.do_if_sent(request, pk, lambda: queue_import(given, actor_of(request)))

    def _page(self, request: HttpRequest, name: str, **context: Any) -> HttpResponse:
        given = context.get("given")
        titles = {
            "upload": _now("Import a file"),
            "columns": _now("What are the columns?"),
            "state": _now("Import of records") if given and given.is_of_records else _now("Import"),
        }
        media = self.media + (context["form"].media if "form" in context else type(self.media)())
        defaults = {
            "subtitle": given and str(given.campaign or given.get_target_display()),
            "media": media,
            "list_url": self.url_of("changelist"),
        }
        template = f"admin/campaigns/import_{name}.html"
        return self.page(request, template, given, title=titles[name], **defaults | context)


def _head(file: Any, given: RecordImport) -> tuple[list[str], list[list[str]], list[str]]:
    """Return the names of the columns, examples of each, and the faults if the file cannot be read like that."""
    try:
        return *head(file, format_of(given)), []
    except Invalid as error:
        return [], [], error.messages


def _may_make_fields(request: HttpRequest) -> bool:
    return request.user.has_perm("campaigns.change_campaign") and request.user.has_perm("campaigns.add_campaignfield")


def _without_target(header: list[str], columns: Mapping[str, str]) -> dict[str, str]:
    """Return the names of the columns that are not imported, each name once, by their positions."""
    names: dict[str, str] = {}
    for position, title in enumerate(header):
        name = title.strip()[:LONGEST_NAME]
        if name and str(position) not in columns and name not in names.values():
            names[str(position)] = name
    return names


def _guessed(file: Any, form: Format, facts: CampaignFacts) -> dict[str, str]:
    try:
        header, _examples = head(file, form)
    except Invalid:
        return {}
    return {str(position): target for position, target in guess_columns(header, facts).items()}
