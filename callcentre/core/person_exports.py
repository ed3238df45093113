"""The export of one person's data: a ZIP with a file of JSON for each kind of rows, and with the stored files."""

import json
import zipfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Any, ClassVar

from django.core.files.storage import default_storage
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models, transaction
from django.utils import timezone, translation
from django.utils.translation import gettext_lazy as _

from callcentre.core import personal_data
from callcentre.core.actor import Actor
from callcentre.core.due_work import Claim
from callcentre.core.encryption import EncryptedTextField
from callcentre.core.exporting.builds import Builder, Progress
from callcentre.core.exporting.jobs import FileJob
from callcentre.core.personal_data import Data, Person
from callcentre.core.scope import WITHOUT_SCOPE_ONLY, Lookups


class PersonExport(FileJob):
    """An export of a person's data. The person is encrypted and forgotten when the file is there.

    The file is kept for 30 days, or until any erasure or deletion: it cannot be searched for the person of that.
    """

    scope_lookups: ClassVar[Lookups] = WITHOUT_SCOPE_ONLY

    class Format(models.TextChoices):
        ZIP = "zip", "ZIP"

    task = "callcentre.build_person_exports"
    folder = "person-exports"

    format = models.CharField(_("format"), max_length=4, choices=Format, default=Format.ZIP)
    person = EncryptedTextField(blank=True, editable=False)
    # The customer; NULL for a person without one.
    customer_id = models.BigIntegerField(_("customer"), null=True, editable=False)

    class Meta:
        app_label = "callcentre"
        verbose_name = _("export of personal data")
        verbose_name_plural = _("exports of personal data")
        ordering = ["-id"]
        default_permissions = ("view",)
        indexes = [models.Index(fields=["next_attempt_at"], condition=FileJob.waits, name="personexport_due")]

    @property
    def file_name(self) -> str:
        return f"person-{self.pk}.zip"

    @property
    def content_type(self) -> str:
        return "application/zip"

    def given_up(self, error: str) -> dict[str, Any]:
        return {**super().given_up(error), "person": ""}


def ask_export(actor: Actor, person: Person) -> PersonExport:
    """Ask a worker for the export of a person. Raise ValidationError if too many of the actor's wait."""
    with transaction.atomic():
        PersonExport.objects.check_may_ask(actor)
        customer_id = person.customers[0] if person.customers else None
        language = translation.get_language()
        export: PersonExport = PersonExport.objects.ask(
            actor, person=person.text, customer_id=customer_id, language=language
        )
    return export


def build_next() -> bool:
    """Build the next export. Return False if there is none, or other workers build."""
    too_long = _("It would have taken longer than an hour.")
    return Builder(PersonExport, _write, _finish, too_long).build_next()


def _finish(claim: Claim[PersonExport], **values: Any) -> None:
    claim.finish(person="", **values)


def _write(export: PersonExport, output: IO[bytes]) -> int:
    """Write all rows of the person, and their files. Return the number of rows."""
    person, count = Person.of(export.person), 0
    progress = Progress(export, timezone.now())
    found = list(personal_data.rows_for_export(person))
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        for place, (model, data, rows) in enumerate(found):
            paths: list[tuple[str, str]] = []
            first = next(rows, None)
            if first is not None:
                with archive.open(f"{model._meta.label_lower}.json", "w", force_zip64=True) as member:
                    count += _write_rows(member, chain([first], rows), data, paths)
            for path, name in paths:
                _add_file(archive, path, name)
            progress.tell((place + 1) / len(found), count)
    return count


def _shown(row: Any, data: Data) -> list[Any]:
    """Return the columns of a row that the person may read: of the person's own rows all but secrets, of others the
    personal ones.
    """
    fields = [field for field in row._meta.concrete_fields if not isinstance(field, EncryptedTextField)]
    if data.rows:
        return [field for field in fields if field.name != "token"]
    return [field for field in fields if field.primary_key or field.name in data.names]


def _write_rows(member: IO[bytes], rows: Iterator[Any], data: Data, paths: list[tuple[str, str]]) -> int:
    """Write a list of objects, one a line; note the files of the rows."""
    count, file_column = 0, data.file
    for row in rows:
        values = {field.attname: field.value_from_object(row) for field in _shown(row, data)}
        if file_column and (path := str(values[file_column] or "")):
            named = getattr(row, "filename", "") or Path(path).name
            values[file_column] = f"files/{row._meta.model_name}-{row.pk}-{named.replace('/', '_')}"
            paths.append((path, values[file_column]))
        member.write(b",\n" if count else b"[\n")
        member.write(json.dumps(values, cls=DjangoJSONEncoder, ensure_ascii=False, default=_as_text).encode())
        count += 1
    member.write(b"\n]\n")
    return count


def _as_text(value: Any) -> Any:
    try:
        return DjangoJSONEncoder().default(value)
    except TypeError:
        return str(value)


def _add_file(archive: zipfile.ZipFile, path: str, name: str) -> None:
    """Add a stored file. One that is gone meanwhile is left out."""
    try:
        stored = default_storage.open(path)
    except FileNotFoundError:
        return
    with stored, archive.open(name, "w", force_zip64=True) as member:
        for chunk in stored.chunks():
            member.write(chunk)


def forget_exports(**_unused: Any) -> None:
    """Remove the files of all exports of persons, at the end of a deletion; called in no transaction."""
    PersonExport.objects.forget_files()
