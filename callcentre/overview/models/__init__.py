from callcentre.overview.models.alarm import Alarm
from callcentre.overview.models.alarm_mail import AlarmMail

__all__ = ["Alarm", "AlarmMail"]
