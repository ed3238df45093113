"""The table of what the models of campaigns have of a person: by the numbers of the records."""

from django.db.models import Model, Q, QuerySet
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from callcentre.core.deletions import Busy, Deletion
from callcentre.core.file_removals import FileRemoval
from callcentre.core.personal_data import SETTINGS, WORK, Data, Fate, Nothing, Person
from callcentre.core.statements import Statement, rows_of
from campaigns import models
from campaigns.models.record_rows import IDS_WITH_NUMBERS
from campaigns.verbs.records import delete_record

_IDS = Statement("{ids_with_numbers}").of(ids_with_numbers=IDS_WITH_NUMBERS)


def additional_of(person: Person) -> "QuerySet[models.AdditionalNumber]":
    """Return their numbers at records of other numbers."""
    campaigns = list(models.Campaign.objects.order_by().values_list("pk", flat=True))
    found = models.AdditionalNumber.objects.filter(campaign__in=campaigns, number__in=person.numbers)
    return found.exclude(record__in=records_of(person).order_by().values("pk"))


def records_of(person: Person) -> "QuerySet[models.Record]":
    """Return the records of their numbers. Each index of a number begins with the campaign."""
    campaigns = list(models.Campaign.objects.order_by().values_list("pk", flat=True))
    ids = [pk for (pk,) in rows_of(_IDS, {"campaigns": campaigns, "numbers": list(person.numbers)})]
    return models.Record.objects.filter(pk__in=ids, number__in=person.numbers)


def attempts_of(person: Person) -> "QuerySet[models.Attempt]":
    return models.Attempt.objects.filter(number__in=person.numbers)


def remove_person(deletion: Deletion, person: Person) -> None:
    """Delete records and additional numbers, empty attempts, and remove the files of ended imports.

    Raises Busy while a call holds one of the records.
    """
    for pk in records_of(person).order_by("id").values_list("pk", flat=True):
        with deletion.step() as deleted:
            record = models.Record.objects.select_for_update().filter(pk=pk).first()
            if record and record.is_leased:
                raise Busy(gettext_noop("A call of a campaign still goes on."))
            if record:
                deleted["campaigns.recordchange"] += models.RecordChange.objects.filter(record=pk).delete()[0]
                delete_record(record)
                deleted["campaigns.record"] += 1
    with deletion.step() as deleted:
        deleted["campaigns.additionalnumber"] += additional_of(person).delete()[0]
        emptied = attempts_of(person).update(phone_number="", number="", before={}, result=None)
        deletion.count_emptied("campaigns.attempt", emptied)
        ended = models.RecordImport.objects.exclude(models.RecordImport.waits)
        FileRemoval.add([path for paths in ended.values_list("file", "error_file") for path in paths])
        ended.update(file="", error_file="")


TABLE: dict[type[Model], Data | Nothing] = {
    models.Record: Data("phone_number number identifier last_note fields", records_of),
    models.AdditionalNumber: Data("phone_number number", additional_of),
    models.RecordChange: Data(
        "changes",
        lambda person: models.RecordChange.objects.filter(record__in=records_of(person).order_by().values("pk")),
    ),
    models.Attempt: Data(
        "phone_number number before result",
        attempts_of,
        Fate.EMPTIED,
        _("Attempts keep time, campaign, agent and outcome: the law asks how campaigns call."),
    ),
    models.DoNotCall: Data(
        "reason",
        lambda person: models.DoNotCall.objects.filter(Q(number__in=person.numbers, is_prefix=False)),
        Fate.KEPT,
        _("The number stays on the do-not-call list, so that the person is not called again."),
    ),
    # Files of an import cannot be searched; those of all ended imports are removed.
    models.RecordImport: Data("file_name message"),
    **SETTINGS.of(
        models,
        "CampaignGroup Campaign CampaignField FormerCode DictionaryStatus RecordStatus RetryRule CampaignHours "
        "LegalHours",
    ),
    **WORK.of(models, "DiallingSwitch DiallingDay DiallerState TrunkFailure RecordOffer"),
}
