from typing import Any

from django.db.models import QuerySet

from callcentre.api.filters import FilterSet, IdFilter, InstantFilter, TextFilter
from telephony.models import Agent
from telephony.models.connection import ConnectionQuerySet
from telephony.models.connection_fields import FILTER_SENTENCES
from telephony.numbers import comparable


class NumberFilter(TextFilter):
    """A number in any spelling."""

    def parse(self, text: str) -> str:
        return comparable(super().parse(text))


class LoginFilter(TextFilter):
    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        # The key is looked up first: with a join the planner does not use the order of the agent's index, with a
        # subquery it does not know the number of the agent's calls.
        pk = Agent.objects.filter(login=value).order_by().values_list("pk", flat=True).first()
        return qs.filter(agent_id=pk) if pk else qs.none()


class UidFilter(TextFilter):
    def filter(self, qs: ConnectionQuerySet, value: Any) -> QuerySet[Any]:
        return qs.with_uid(value)


class ConnectionFilterSet(FilterSet):
    date_from = InstantFilter(field_name="created_at", lookup_expr="gte", help_text="First start.")
    date_to = InstantFilter(field_name="created_at", lookup_expr="lte", is_upper_bound=True, help_text="Last start.")
    user_login = LoginFilter(help_text=FILTER_SENTENCES["user_login"])
    agent_login = LoginFilter(help_text="The same as `user_login`.")
    queue_id = IdFilter(field_name="queue", help_text=FILTER_SENTENCES["queue_id"])
    src = NumberFilter(field_name="src_number", help_text=FILTER_SENTENCES["src"])
    dst = NumberFilter(field_name="dst_number", help_text=FILTER_SENTENCES["dst"])
    connection_id = UidFilter(help_text=FILTER_SENTENCES["connection_id"])
