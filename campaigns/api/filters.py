from callcentre.api.filters import BooleanFilter, FilterSet, IdFilter, InstantFilter, ListFilter, TextFilter
from campaigns.models import SystemStatus


class RecordFilterSet(FilterSet):
    system_status = ListFilter(choices=SystemStatus.values, help_text="One or more system statuses.")
    status_id = IdFilter(help_text="A status of the campaign.")
    agent_login = TextFilter(field_name="agent__login", help_text="Agent the record is assigned to.")
    user_login = TextFilter(field_name="agent__login", help_text="The same as `agent_login`.")
    identifier = TextFilter(help_text="Unique identifier of the record.")
    next_call_date_from = InstantFilter(field_name="next_call_at", lookup_expr="gte", help_text="First next call.")
    next_call_date_to = InstantFilter(
        field_name="next_call_at", lookup_expr="lte", is_upper_bound=True, help_text="Last next call."
    )
    has_agent = BooleanFilter(field_name="agent", lookup_expr="isnull", exclude=True, help_text="Assigned or not.")
