"""Polish, shorter than Django's: months by number, and both ways to type a date."""

DATE_FORMAT = "j.m.Y"
SHORT_DATE_FORMAT = "j.m.Y"
TIME_FORMAT = "H:i"
DATETIME_FORMAT = "j.m.Y, H:i"
SHORT_DATETIME_FORMAT = "j.m.Y, H:i"
FIRST_DAY_OF_WEEK = 1
DATE_INPUT_FORMATS = ["%Y-%m-%d", "%d.%m.%Y"]
TIME_INPUT_FORMATS = ["%H:%M", "%H:%M:%S"]
DATETIME_INPUT_FORMATS = ["%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%d.%m.%Y %H:%M"]
