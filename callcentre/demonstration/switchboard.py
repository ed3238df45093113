"""The switchboard of the demonstration: agents, the queue Hotline and its topics, a month of calls."""

from callcentre.demonstration import DATA, add, calls, data, transcriptions
from telephony.models import (
    Agent,
    AgentGroup,
    EvaluationCriterion,
    Pause,
    Queue,
    QueueMember,
    Topic,
    TopicField,
    TopicGroup,
    TransferShortcut,
)


def seed() -> None:
    """Add the rows that are missing, and a month of work to a database without calls."""
    given = data("switchboard")
    agents = []
    for row in given["agents"]:
        (group,) = add(AgentGroup, [{"name": row["group"]}])
        values = {"email": f"{row['login']}@callcentre.example", "outbound_mode": group.name == "Sales", "group": group}
        agents += add(Agent, [{**row, **values}], "login")
    pauses = add(Pause, given["pauses"])
    queue = Queue.objects.filter(name="Hotline").first()
    if queue is None:
        queue = Queue.objects.create(name="Hotline", number="+48225550100")
        QueueMember.objects.bulk_create(QueueMember(queue=queue, agent=agent) for agent in agents)
    calls.seed(queue, agents, pauses, given["shifts"])
    for row in given["topic_groups"]:
        topics = row.pop("topics")
        add(Topic, topics, group=add(TopicGroup, [row], queue=queue)[0])
    add(TopicField, given["topic_fields"], queue=queue)
    add(EvaluationCriterion, given["criteria"])
    for row in given["shortcuts"]:
        values = {"icon": (DATA / row["icon"]).read_bytes(), "queue": None if row.get("number") else queue}
        add(TransferShortcut, [row | values])
    transcriptions.seed(queue)
