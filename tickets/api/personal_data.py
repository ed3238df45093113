"""Export and erasure of the data of one person. The right alone decides: all rows of the person count, in any scope."""

from typing import Any

from django.http import FileResponse
from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.fields import IdField, Input, ListField, TextField
from callcentre.api.openapi import array, integer, minute, operation, shape, text
from callcentre.api.viewsets import ApiViewSet
from callcentre.core import erasures, personal_data
from callcentre.core.audit import AuditAction, record_once
from callcentre.core.deletions import LONGEST_REASON, Deletion
from callcentre.core.downloads import file_response
from callcentre.core.errors import ErrorCode, NotFound
from callcentre.core.lookups import get_or_404
from callcentre.core.person_exports import PersonExport, ask_export
from callcentre.core.personal_data import Fate, Person
from tickets.people import find_person

_MOST = 50


class PersonInput(Input):
    customer_id = IdField(
        "The customer, with those merged into it.",
        required=False,
        example=77,
        errors=[ErrorCode.CUSTOMER_NOT_FOUND, ErrorCode.PERSON_REQUIRED],
    )
    phone_numbers = ListField(
        "Phone numbers, in any spelling, that no other customer has.",
        child=TextField(max_length=100),
        required=False,
        max_length=_MOST,
        example=["+48 22 555 09 91"],
        errors=[ErrorCode.PHONE_LETTERS, ErrorCode.PHONE_INVALID, ErrorCode.PHONE_TOO_LONG, ErrorCode.HAS_CUSTOMER],
    )
    emails = ListField(
        "Addresses that no other customer has.",
        child=TextField(max_length=320),
        required=False,
        max_length=_MOST,
        example=["maria.lis@client.example"],
        errors=[ErrorCode.ADDRESS_MALFORMED, ErrorCode.HAS_CUSTOMER],
    )


class ErasureInput(PersonInput):
    reason = TextField(
        "Why, kept for good. Name the request or the rule, no person.",
        max_length=LONGEST_REASON,
        example="Request of 21 November",
    )


KIND = shape(
    "PersonalDataKind",
    "The rows of one model.",
    kind=text("The model.", "tickets.ticket", of="model"),
    count=integer("The number of rows.", 12),
    fate=text("What an erasure does with them.", "deleted", enum=Fate.values, of=lambda found: str(found.fate)),
    reason=text("Why they are not deleted; empty if they are.", of=lambda found: str(found.why)),
)
PREVIEW = shape(
    "PersonalDataPreview",
    "What there is of a person, before an export or an erasure.",
    customer_ids=array(integer("A customer.", 77), "The customer and those merged into it."),
    phone_numbers=array(text("A number.", "+48225550107"), "Numbers of the person alone, in their normal form."),
    emails=array(text("An address.", "maria.lis@client.example"), "Addresses of the person alone."),
    kinds=array(KIND, "The person's own rows. Rows of others that mention the person are not counted."),
)
EXPORT = shape(
    "PersonalDataExport",
    "An export of the data of a person.",
    export_id=integer("Its id.", 12, of="pk"),
    state=text("Its state.", "finished", enum=PersonExport.State.values),
    row_count=integer("The number of rows.", 240),
    file_size=integer("Bytes of the ZIP; 0 before it is there.", 48_213),
    kept_until=minute("Until then the file can be fetched.", "2026-12-28 09:30"),
)
COUNTS: Any = {"type": "object", "additionalProperties": {"type": "integer"}, "example": {"tickets.ticket": 3}}
ERASURE = shape(
    "PersonalDataErasure",
    "An erasure of the data of a person: its report.",
    erasure_id=integer("Its id.", 31, of="pk"),
    state=text("Its state.", "finished", enum=Deletion.State.values),
    reason=text("The reason given.", "Request of 21 November"),
    asked_by=text("Who asked for it.", "demo", of="actor_name"),
    consented_by=text("Who consented; empty without.", "admin"),
    deleted={**COUNTS, "description": "Model -> number of deleted rows."},
    emptied={**COUNTS, "description": "Model -> number of rows that stay without the person."},
    kept={
        **COUNTS,
        "description": "Model -> number of rows that stay.",
        "of": lambda deletion: deletion.kept or {},
    },
    error=text("Why it waits or has failed.", of="why"),
    created_at=minute("When it was asked for.", "2026-11-28 09:30"),
    finished_at=minute("When it ended.", "2026-11-28 09:31"),
)


class PersonalDataViewSet(ApiViewSet):
    """The data of one person in all apps: what there is, its export, its erasure."""

    area = "personal_data"
    secret_actions = ("file",)

    @operation(
        "preview_personal_data",
        "Count the data of a person",
        "Name a customer, or numbers and addresses of a person who is no customer.",
        body=PersonInput,
        status=200,
        answer=PREVIEW,
    )
    def preview(self, request: Request) -> Response:
        person = self._person(PersonInput)[0]
        given = {"customer_ids": list(person.customers), "phone_numbers": list(person.numbers)}
        kinds = [KIND.data(found) for found in personal_data.found_of(person)]
        return Response({**given, "emails": list(person.emails), "kinds": kinds})

    @operation(
        "export_personal_data",
        "Export the data of a person",
        "A worker builds a ZIP: one file of JSON for each kind, and the stored files. It is kept for 30 days.",
        body=PersonInput,
        answer=shape("CreatedPersonalDataExport", "The export.", export_id=integer("Its id.", 12)),
    )
    def export(self, request: Request) -> Response:
        return Response({"export_id": ask_export(self.actor, self._person(PersonInput)[0]).pk}, status=201)

    @operation("get_personal_data_export", "Get an export", "Its state and size.", answer=EXPORT)
    def get_export(self, request: Request, export_id: str) -> Response:
        return Response(EXPORT.data(_export(export_id)))

    @operation(
        "download_personal_data_export",
        "Download an export",
        "The ZIP. It needs the right to write: the file has everything of the person.",
        answer={"type": "string", "format": "binary", "example": "PK…"},
        answer_types=("application/octet-stream",),
    )
    def file(self, request: Request, export_id: str) -> FileResponse:
        export = _export(export_id)
        if not export.file:
            raise NotFound(ErrorCode.PERSON_EXPORT_NOT_FOUND)
        record_once(self.actor, AuditAction.DOWNLOAD, export, name=export.file_name)
        return file_response(lambda: export.file.open("rb"), export.file_name, "application/octet-stream")

    @operation(
        "erase_personal_data",
        "Erase the data of a person",
        "A worker removes all rows of the person, and the person's numbers and addresses from all other texts; see the"
        " preview for what stays. There is no way back. A setting may demand the consent of a second person.",
        body=ErasureInput,
        answer=shape(
            "CreatedPersonalDataErasure",
            "The erasure.",
            erasure_id=integer("Its id.", 31),
            state=text("`asked` until a second person consents, else `queued`.", "queued"),
        ),
        conflicts=[ErrorCode.LEGAL_HOLD, ErrorCode.ERASURE_ASKED_ALREADY],
    )
    def erase(self, request: Request) -> Response:
        person, values = self._person(ErasureInput)
        deletion = erasures.ask(self.actor, person, values["reason"])
        return Response({"erasure_id": deletion.pk, "state": deletion.state}, status=201)

    @operation("get_personal_data_erasure", "Get an erasure", "Its state and its report.", answer=ERASURE)
    def get_erasure(self, request: Request, erasure_id: str) -> Response:
        return Response(ERASURE.data(_erasure(erasure_id)))

    @operation(
        "consent_to_erasure",
        "Consent to an erasure",
        "Another person or program than the one that asked consents.",
        conflicts=[ErrorCode.CONFLICT, ErrorCode.CONSENT_OF_ANOTHER],
    )
    def consent(self, request: Request, erasure_id: str) -> None:
        erasures.consent(self.actor, _erasure(erasure_id))

    @operation(
        "refuse_erasure",
        "Refuse or withdraw an erasure",
        "It must still wait for consent.",
        conflicts=[ErrorCode.CONFLICT],
    )
    def refuse(self, request: Request, erasure_id: str) -> None:
        erasures.refuse(self.actor, _erasure(erasure_id))

    def _person(self, reader: type[PersonInput]) -> tuple[Person, dict[str, Any]]:
        values, faults = self.read(reader)
        named = {name: values[name] for name in ("customer_id", "phone_numbers", "emails") if values.get(name)}
        return find_person(faults, **named), values


def _export(export_id: str) -> PersonExport:
    export: PersonExport = get_or_404(PersonExport.objects.all(), export_id, ErrorCode.PERSON_EXPORT_NOT_FOUND)
    return export


def _erasure(erasure_id: str) -> Deletion:
    erasure: Deletion = get_or_404(Deletion.objects.filter(kind=erasures.KIND), erasure_id, ErrorCode.ERASURE_NOT_FOUND)
    return erasure
