"""Topics of calls, their fields, and evaluation criteria."""

from typing import Any

from django.contrib import admin
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from callcentre.admin import Admin, Inline, column, never
from callcentre.admin.scope import RelatedDropdownFilter
from telephony.models import Connection, ConnectionTopic, EvaluationCriterion, Topic, TopicField, TopicGroup


def topic_of(connection: Connection) -> dict[str, Any]:
    """Return the context of `telephony/_topic.html`: topic and values of fields. This takes two queries at most."""
    topics = ConnectionTopic.objects.select_related("topic__group", "agent")
    topic = topics.filter(connection=connection).first()
    if topic is None:
        return {"call_topic": None}
    names = TopicField.objects.in_bulk([value["field_id"] for value in topic.fields]) if topic.fields else {}
    noted = [(names.get(value["field_id"], ""), value["value"]) for value in topic.fields]
    return {"call_topic": topic, "noted": noted}


class TopicInline(Inline):
    model = Topic
    fields = ("name", "show_custom_fields", "is_active", "order")
    has_delete_permission = never


@admin.register(TopicGroup)
class TopicGroupAdmin(Admin):
    """Topics from which agents choose, by group."""

    list_display = ("name", "queue", "topics_count", "is_active", "order")
    list_filter = (("queue", RelatedDropdownFilter), "is_active")
    list_select_related = ("queue",)
    ordering = ("queue__name", "order", "id")
    search_fields = ("name", "topics__name")
    search_help_text = _("Name of a group or of a topic")
    fields = ("queue", "name", "is_active", "order")
    fixed_fields = ("queue",)  # calls have its topics, and belong to that queue
    inlines = (TopicInline,)
    has_delete_permission = never  # calls have topics, values and results: what is not used is made inactive
    topics_count = column(lambda group: group.topic_count, description=_("active topics"), ordering="topic_count")

    def get_queryset(self, request: HttpRequest) -> QuerySet[TopicGroup]:
        active = Count("topics", filter=Q(topics__is_active=True), distinct=True)
        groups: QuerySet[TopicGroup] = super().get_queryset(request)
        return groups.annotate(topic_count=active)


@admin.register(TopicField)
class TopicFieldAdmin(Admin):
    """Fields that agents fill in for calls."""

    list_display = ("name", "queue", "type", "is_required", "is_active", "order")
    list_filter = (("queue", RelatedDropdownFilter), "is_active")
    list_select_related = ("queue",)
    ordering = ("queue__name", "order", "id")
    search_fields = ("name",)
    fields = ("queue", "name", "type", "is_required", "is_active", "order")
    fixed_fields = ("queue", "type")  # calls have values of it
    has_delete_permission = never


@admin.register(EvaluationCriterion)
class EvaluationCriterionAdmin(Admin):
    """Criteria by which the model evaluates calls."""

    list_display = ("name", "description", "queue", "is_active", "order")
    list_filter = (("queue", RelatedDropdownFilter), "is_active")
    list_select_related = ("queue",)
    search_fields = ("name", "description")
    fields = ("name", "description", "queue", "is_active", "order")
    empty_for_all = "queue"
    has_delete_permission = never
