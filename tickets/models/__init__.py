from tickets.models.agent_preferences import AgentPreferences, NoticeKind, TicketDraft
from tickets.models.automation import AutomationState, Macro, Rule, RuleRun
from tickets.models.chat import Chat, ChatMessage, ChatState
from tickets.models.custom_field import CustomField
from tickets.models.customer import Company, Customer, CustomerChange, CustomerNote, CustomerNumber, CustomerSettings
from tickets.models.dispatch import Dispatch
from tickets.models.file import StoredFile
from tickets.models.mail import AcknowledgedAddress, CannedReply, Marketplace
from tickets.models.mail_login import MailLogin
from tickets.models.mail_senders import BlockedSender, BouncedAddress
from tickets.models.mailbox import MailboxGrant, MailboxTest
from tickets.models.message import Message, Rating
from tickets.models.notice import Notice, TicketFollower
from tickets.models.received_mail import ReceivedMail
from tickets.models.service_level import BusinessCalendar, CalendarHours, ClosedDay, DeadlineNotice, ServiceLevel
from tickets.models.status import TicketCategory, TicketStatus, TicketSubstatus, TicketType, as_read
from tickets.models.team import Team, TeamMember
from tickets.models.ticket import Priority, Source, Ticket, TicketChange, TicketCount
from tickets.models.ticket_queue import TicketQueue
