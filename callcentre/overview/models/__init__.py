from callcentre.overview.models.alarm import Alarm, AlarmMail
