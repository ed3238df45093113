from callcentre.api.filters import FilterSet, IdFilter, ListFilter
from webhooks.event_types import EventType
from webhooks.models import Event


class EventFilterSet(FilterSet):
    after = IdFilter(field_name="id", lookup_expr="gt", help_text="The id of the last event that was read.")
    actions = ListFilter(field_name="action", choices=EventType.values, help_text="One or more actions.")

    class Meta:
        model = Event
        fields: tuple[str, ...] = ()
