"""The forms of an import: the file and its campaign, then its format and columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminFileFieldWidget,
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminSelect2Widget,
    UnfoldAdminSelectWidget,
    UnfoldBooleanWidget,
)

from callcentre.core.errors import ErrorCode, Fault
from campaigns.importing.columns import choices, regions
from campaigns.importing.formats import ENCODINGS, Format
from campaigns.models import Campaign, RecordImport
from campaigns.models.rules import CampaignFacts


class UploadForm(forms.Form):
    target = forms.ChoiceField(
        choices=RecordImport.Target.choices,
        label=_("Content"),
        required=False,
        widget=UnfoldAdminRadioSelectWidget,
        help_text=_(
            "The columns of do-not-call entries are named number or prefix, and perhaps outbound_id, reason, since and"
            " until."
        ),
    )
    campaign = forms.ModelChoiceField(
        Campaign.objects.order_by("code"),
        label=_("Campaign"),
        required=False,
        widget=UnfoldAdminSelect2Widget(),
        help_text=_("For records only."),
    )
    file = forms.FileField(
        label=_("File"),
        max_length=200,
        widget=UnfoldAdminFileFieldWidget(attrs={"accept": ".csv,.txt,.tsv,text/csv,text/plain"}),
        help_text=_("CSV as a spreadsheet writes it: any delimiter, UTF-8, UTF-16 or Windows-1250."),
        error_messages={"required": _("Choose a file.")},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The page refuses a larger file before it is sent.
        self.fields["file"].widget.attrs["data-max-bytes"] = settings.MAX_IMPORT_MB * 1024 * 1024
        self.fields["file"].widget.attrs["data-too-large"] = too_large()

    def offer_records_only(self) -> None:
        """Offer no list of do-not-call entries: a row of it can name any campaign."""
        target: Any = self.fields["target"]
        target.choices = [choice for choice in target.choices if choice[0] == RecordImport.Target.RECORDS]

    def clean_target(self) -> str:
        return self.cleaned_data["target"] or RecordImport.Target.RECORDS

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("target") != RecordImport.Target.RECORDS:
            cleaned["campaign"] = None
        elif "campaign" in cleaned and cleaned["campaign"] is None:
            self.add_error("campaign", forms.Field.default_error_messages["required"])
        return cleaned

    def clean_file(self) -> "UploadedFile[bytes]":
        file: UploadedFile[bytes] = self.cleaned_data["file"]
        if (file.size or 0) > settings.MAX_IMPORT_MB * 1024 * 1024:
            raise forms.ValidationError(too_large())
        return file


def too_large() -> str:
    return Fault(ErrorCode.FILE_TOO_LARGE, "", {"limit": settings.MAX_IMPORT_MB}).message


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the file on the page: its name, examples, and the choice of its target."""

    position: int
    name: str
    examples: Sequence[str]
    field: Any


class ColumnsForm(forms.Form):
    """The format of the file, and one choice for each of its columns."""

    region = forms.ChoiceField(
        label=_("Country of numbers without a country code"), choices=regions, widget=UnfoldAdminSelect2Widget()
    )
    duplicates = forms.ChoiceField(
        label=_("Numbers that the campaign already has"),
        choices=[
            (RecordImport.Duplicates.SKIP, _("Leave them out")),
            (RecordImport.Duplicates.ALLOW, _("Add them as further records")),
        ],
        widget=UnfoldAdminRadioSelectWidget(),
    )
    refuses_invalid = forms.BooleanField(
        label=_("Refuse numbers that are not valid in their country"), required=False, widget=UnfoldBooleanWidget()
    )
    encoding = forms.ChoiceField(label=_("Encoding"), choices=[*ENCODINGS.items()], widget=UnfoldAdminSelectWidget())
    delimiter = forms.ChoiceField(
        label=_("Delimiter"),
        choices=[(",", _("comma ,")), (";", _("semicolon ;")), ("\t", _("tab")), ("|", _("pipe |"))],
        widget=UnfoldAdminSelectWidget(),
    )
    has_header = forms.BooleanField(
        label=_("The first row names the columns"), required=False, widget=UnfoldBooleanWidget()
    )

    def __init__(self, given: RecordImport, campaign: CampaignFacts, header: Sequence[str], data: Any = None) -> None:
        initial = {name: getattr(given, name) for name in self.base_fields}
        initial |= {f"column-{position}": target for position, target in given.columns.items()}
        super().__init__(data, initial=initial)
        self.given = given
        self.width = len(header)
        targets = [("", _("– not imported –")), *choices(campaign)]
        for position in range(self.width):
            self.fields[f"column-{position}"] = forms.ChoiceField(
                required=False,
                choices=targets,
                widget=UnfoldAdminSelectWidget(),
            )

    @property
    def settings(self) -> list[Any]:
        return [self[name] for name in self.base_fields]

    def columns(self, header: Sequence[str], examples: Sequence[Sequence[str]]) -> list[Column]:
        return [
            Column(position, header[position], examples[position], self[f"column-{position}"])
            for position in range(self.width)
        ]

    def values(self) -> dict[str, Any]:
        """Return the values for describe_import()."""
        values = {name: self.cleaned_data[name] for name in self.base_fields}
        chosen = {str(position): self.cleaned_data[f"column-{position}"] for position in range(self.width)}
        return {**values, "columns": {position: target for position, target in chosen.items() if target}}

    @property
    def format(self) -> Format:
        return Format(*(self.cleaned_data[name] for name in ("encoding", "delimiter", "has_header")))
