from callcentre.api.exceptions import CONSTRAINTS
from callcentre.api.openapi import path
from callcentre.api.routers import route
from callcentre.core.errors import ErrorCode, Fault
from tickets.api.chats import CHAT_ID, ChatViewSet
from tickets.api.customers import CompanyViewSet, CustomerViewSet
from tickets.api.files import FileViewSet, TemporaryFileViewSet
from tickets.api.personal_data import PersonalDataViewSet
from tickets.api.tickets import TicketViewSet, TicketWordsViewSet

path("customer_id", "id", "Id of the customer.", "77", ErrorCode.CUSTOMER_NOT_FOUND)
path("chat_id", "id", "Id of the chat: a UUID.", CHAT_ID, ErrorCode.CHAT_NOT_FOUND)
path("token", "token", "Token of an attachment.", "Zk3vJp", ErrorCode.ATTACHMENT_NOT_FOUND)
path("ticket_id", "id", "Id of the ticket.", "5012", ErrorCode.TICKET_NOT_FOUND)
path("export_id", "id", "Id of the export.", "12", ErrorCode.PERSON_EXPORT_NOT_FOUND)
path("erasure_id", "id", "Id of the erasure.", "31", ErrorCode.ERASURE_NOT_FOUND)

urlpatterns = [
    route("tickets", TicketViewSet, get="list", post="create"),
    route("tickets/take_next", TicketViewSet, post="take_next"),
    route("tickets/:ticket_id", TicketViewSet, get="retrieve", put="update"),
    route("tickets/:ticket_id/comment", TicketViewSet, post="comment"),
    route("tickets/:ticket_id/macro", TicketViewSet, post="macro"),
    route("tickets/:ticket_id/agent_response", TicketViewSet, post="agent_response"),
    route("tickets/:ticket_id/customer_response", TicketViewSet, post="customer_response"),
    route("customers", CustomerViewSet, get="list", post="create"),
    route("customers/:customer_id", CustomerViewSet, get="retrieve"),
    route("customers/:customer_id/timeline", CustomerViewSet, get="timeline"),
    route("customers/:customer_id/notes", CustomerViewSet, post="add_note"),
    route("companies", CompanyViewSet, get="list", post="create"),
    route("chats", ChatViewSet, get="list", post="create"),
    route("chats/:chat_id", ChatViewSet, get="retrieve"),
    route("chats/:chat_id/assign", ChatViewSet, post="assign"),
    route("chats/:chat_id/messages", ChatViewSet, get="messages", post="write"),
    route("chats/:chat_id/close", ChatViewSet, post="close"),
    route("temporary_files", TemporaryFileViewSet, post="create"),
    route("files/:token", FileViewSet, get="retrieve"),
    route("ticket_statuses", TicketWordsViewSet, get="statuses"),
    route("ticket_categories", TicketWordsViewSet, get="categories"),
    route("ticket_teams", TicketWordsViewSet, get="teams"),
    route("ticket_macros", TicketWordsViewSet, get="macros"),
    route("ticket_types", TicketWordsViewSet, get="types"),
    route("ticket_queues", TicketWordsViewSet, get="queues"),
    route("personal_data/preview", PersonalDataViewSet, post="preview"),
    route("personal_data/exports", PersonalDataViewSet, post="export"),
    route("personal_data/exports/:export_id", PersonalDataViewSet, get="get_export"),
    route("personal_data/exports/:export_id/file", PersonalDataViewSet, get="file"),
    route("personal_data/erasures", PersonalDataViewSet, post="erase"),
    route("personal_data/erasures/:erasure_id", PersonalDataViewSet, get="get_erasure"),
    route("personal_data/erasures/:erasure_id/consent", PersonalDataViewSet, post="consent"),
    route("personal_data/erasures/:erasure_id/refuse", PersonalDataViewSet, post="refuse"),
]

CONSTRAINTS["customer_identifier_is_unique"] = Fault(ErrorCode.CUSTOMER_IDENTIFIER_TAKEN, "identifier")
