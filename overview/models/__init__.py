from overview.models.alarm import Alarm
from overview.models.alarm_mail import AlarmMail

__all__ = ["Alarm", "AlarmMail"]
