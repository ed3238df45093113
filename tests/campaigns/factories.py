"""Factories of campaigns and records; a trait names a state.

Campaigns are created by their verb, so that each has its statuses. Records are inserted as rows, because some tests
need states that the verbs refuse, such as a second record of one number.
"""

from datetime import time, timedelta
from typing import Any

import factory
from django.utils import timezone

from callcentre.core.actor import SYSTEM
from callcentre.core.phone import calling_code, normalise
from callcentre.core.phone_zones import zones_of_number
from campaigns.models import (
    AdditionalNumber,
    Attempt,
    Campaign,
    CampaignField,
    CampaignGroup,
    CampaignHours,
    DiallerState,
    DiallingDay,
    DiallingSwitch,
    DictionaryStatus,
    DoNotCall,
    FormerCode,
    LegalHours,
    Record,
    RecordChange,
    RecordImport,
    RecordOffer,
    RecordStatus,
    RetryRule,
    SystemStatus,
    TrunkFailure,
)
from campaigns.verbs.campaigns import create_campaign
from telephony.verbs import ledger
from tests.model_factory import ModelFactory
from tests.telephony.factories import AgentFactory, ConnectionFactory


class CampaignGroupFactory(ModelFactory[CampaignGroup]):
    name = factory.Sequence(lambda n: f"Group {n}")


class DictionaryStatusFactory(ModelFactory[DictionaryStatus]):
    name = factory.Sequence(lambda n: f"Status {n}")
    system_status = SystemStatus.CALL


class CampaignFactory(ModelFactory[Campaign]):
    code = factory.Sequence(lambda n: f"T{n:04}")
    name = factory.Sequence(lambda n: f"Campaign {n}")
    dialer = Campaign.Dialer.PROGRESSIVE

    class Params:
        crm = factory.Trait(is_crm=True)

    @classmethod
    def _create(cls, model_class: type[Campaign], *args: Any, **kwargs: Any) -> Campaign:
        script = kwargs.pop("script", "")
        campaign = create_campaign(SYSTEM, **kwargs)
        if script:  # it may name fields that come later, or that are gone
            Campaign.objects.filter(pk=campaign.pk).update(script=script)
            campaign.script = script
        return campaign

    @factory.post_generation  # type: ignore[untyped-decorator]
    def fields(self, create: bool, names: list[str] | None, **kwargs: Any) -> None:
        """Give the campaign the fields of `fields=["city"]`, in this order."""
        for order, name in enumerate(names or (), start=1):
            CampaignFieldFactory(campaign=self, name=name, order=order)


class CampaignFieldFactory(ModelFactory[CampaignField]):
    campaign = factory.SubFactory(CampaignFactory)
    name = factory.Sequence(lambda n: f"field_{n}")


class RecordStatusFactory(ModelFactory[RecordStatus]):
    campaign = factory.SubFactory(CampaignFactory)
    name = factory.Sequence(lambda n: f"Own status {n}")
    system_status = SystemStatus.CALL


class RecordFactory(ModelFactory[Record]):
    campaign = factory.SubFactory(CampaignFactory)
    phone_number = factory.Sequence(lambda n: f"+4822{n % 10_000_000:07}")
    number = factory.LazyAttribute(lambda record: normalise(record.phone_number))
    status = factory.LazyAttribute(
        lambda record: record.campaign.statuses.filter(system_status=record.system_status).first()
    )
    system_status = SystemStatus.TO_CALL
    zone = factory.LazyAttribute(lambda record: zones_of_number(record.number))
    calling_code = factory.LazyAttribute(lambda record: calling_code(record.number))

    class Params:
        # A second record of a number, which only an import can add.
        duplicate = factory.Trait(is_primary=False)
        of_agent = factory.Trait(
            system_status=SystemStatus.MY_RECORD,
            agent=factory.SubFactory(AgentFactory),
            next_call_at=factory.LazyFunction(lambda: timezone.now() + timedelta(days=1)),
        )
        in_live_call = factory.Trait(
            system_status=SystemStatus.IN_PROGRESS,
            leased_by="1416225570.341",
            leased_until=factory.LazyFunction(lambda: timezone.now() + timedelta(minutes=5)),
        )
        of_lost_call = factory.Trait(
            system_status=SystemStatus.IN_PROGRESS,
            leased_by="1416225570.341",
            leased_until=factory.LazyFunction(lambda: timezone.now() - timedelta(seconds=1)),
        )


class AdditionalNumberFactory(ModelFactory[AdditionalNumber]):
    record = factory.SubFactory(RecordFactory)
    campaign = factory.SelfAttribute("record.campaign")
    phone_number = factory.Sequence(lambda n: f"+4812{n % 10_000_000:07}")
    number = factory.LazyAttribute(lambda additional: normalise(additional.phone_number))


class RecordChangeFactory(ModelFactory[RecordChange]):
    record = factory.SubFactory(RecordFactory)
    actor_kind = "system"
    actor_name = "system"
    action = "edit"


class AttemptFactory(ModelFactory[Attempt]):
    """An attempt whose call goes on and holds the record."""

    class Params:
        record = factory.SubFactory(RecordFactory, system_status="IN_PROGRESS")
        connection = factory.SubFactory(ConnectionFactory, talking=True)

    campaign = factory.SelfAttribute("record.campaign")
    campaign_code = factory.SelfAttribute("record.campaign.code")
    record_id = factory.SelfAttribute("record.pk")
    phone_number = factory.SelfAttribute("record.phone_number")
    number = factory.SelfAttribute("record.number")
    mode = Attempt.Mode.ONE_TO_ONE
    connection_id = factory.SelfAttribute("connection.pk")
    connection_uid = factory.SelfAttribute("connection.uid")
    dialled_at = factory.SelfAttribute("connection.created_at")

    @factory.post_generation  # type: ignore[untyped-decorator]
    def holds_record(self, create: bool, extracted: bool | None, **kwargs: Any) -> None:
        if extracted is not False and self.ended_at is None:
            Record.objects.filter(pk=self.record_id).update(leased_by=f"call:{self.connection_id}")


class RecordOfferFactory(ModelFactory[RecordOffer]):
    """An open offer of a record, which it holds, to an agent, who looks at it."""

    class Params:
        record = factory.SubFactory(RecordFactory)

    campaign = factory.SelfAttribute("record.campaign")
    record_id = factory.SelfAttribute("record.pk")
    agent = factory.SubFactory(AgentFactory)
    offered_at = factory.LazyFunction(timezone.now)
    expires_at = factory.LazyAttribute(lambda offer: offer.offered_at + timedelta(seconds=60))

    @factory.post_generation  # type: ignore[untyped-decorator]
    def holds_record(self, create: bool, extracted: bool | None, **kwargs: Any) -> None:
        if self.ended_at is None:
            Record.objects.filter(pk=self.record_id).update(leased_by=f"offer:{self.pk}", leased_until=self.expires_at)
            now = ledger.lock(self.agent_id)
            ledger.change_state(now, now.instant(None), ledger.State("preview"))


class DiallingSwitchFactory(ModelFactory[DiallingSwitch]):
    is_running = False
    action = "stop"
    actor_kind = "system"
    actor_name = "system"


class DiallerStateFactory(ModelFactory[DiallerState]):
    campaign = factory.SubFactory(CampaignFactory)
    owner = "test:1"
    state = "dialling"


class TrunkFailureFactory(ModelFactory[TrunkFailure]):
    trunk = "trunk"
    began_at = factory.LazyFunction(timezone.now)
    try_at = factory.LazyFunction(timezone.now)


class DiallingDayFactory(ModelFactory[DiallingDay]):
    campaign = factory.SubFactory(CampaignFactory)
    day = factory.LazyFunction(timezone.localdate)


class RecordImportFactory(ModelFactory[RecordImport]):
    campaign = factory.SubFactory(CampaignFactory)
    file = factory.django.FileField(filename="records.csv", data=b"phone_number\n+48221234567\n")
    file_name = "records.csv"
    file_size = 27
    encoding = "utf-8"
    delimiter = ","
    columns = {"0": "phone_number"}
    actor_kind = "system"
    actor_name = "system"


class DoNotCallFactory(ModelFactory[DoNotCall]):
    phone_number = factory.Sequence(lambda n: f"+4832{n % 10_000_000:07}")
    number = factory.LazyAttribute(lambda entry: normalise(entry.phone_number))
    since = factory.LazyFunction(lambda: timezone.now() - timedelta(days=1))


class CampaignHoursFactory(ModelFactory[CampaignHours]):
    campaign = factory.SubFactory(CampaignFactory)
    weekday = 1
    begins_at = time(9)
    ends_at = time(17)


class LegalHoursFactory(ModelFactory[LegalHours]):
    name = factory.Sequence(lambda n: f"Rule {n}")
    prefix = "48"
    begins_at = time(8)
    ends_at = time(20)
    source = "A law"


class RetryRuleFactory(ModelFactory[RetryRule]):
    campaign = factory.SubFactory(CampaignFactory)
    outcome = Attempt.Outcome.BUSY
    delay_seconds = 600


class PastAttemptFactory(ModelFactory[Attempt]):
    """An attempt whose call, and perhaps record, are gone."""

    campaign = factory.SubFactory(CampaignFactory)
    campaign_code = factory.SelfAttribute("campaign.code")
    record_id = factory.Sequence(lambda n: 1_000_000 + n)
    phone_number = factory.Sequence(lambda n: f"+4842{n % 10_000_000:07}")
    number = factory.LazyAttribute(lambda attempt: normalise(attempt.phone_number))
    mode = Attempt.Mode.ONE_TO_ONE
    connection_id = factory.Sequence(lambda n: 5_000_000 + n)
    dialled_at = factory.LazyFunction(timezone.now)
    outcome = Attempt.Outcome.NO_ANSWER


class FormerCodeFactory(ModelFactory[FormerCode]):
    code = factory.Sequence(lambda n: f"{n + 1:05}")
