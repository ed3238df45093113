"""Take over the open sessions, so that the upgrade logs no person out."""

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.db import migrations
from django.utils import timezone


def take_over(apps, schema_editor):
    user_model = apps.get_model(settings.AUTH_USER_MODEL)
    users = set(user_model.objects.values_list("pk", flat=True))
    known = apps.get_model("signin", "UserSession").objects
    store = SessionStore()
    for old in apps.get_model("sessions", "Session").objects.filter(expire_date__gt=timezone.now()).iterator():
        user = str(store.decode(old.session_data).get(SESSION_KEY, ""))
        if user.isdecimal() and int(user) in users:
            known.update_or_create(
                session_key=old.session_key,
                defaults={"session_data": old.session_data, "expire_date": old.expire_date, "user_id": int(user)},
            )


class Migration(migrations.Migration):

    dependencies = [
        ("sessions", "0001_initial"),
        ("signin", "0001_initial"),
    ]

    operations = [migrations.RunPython(take_over, migrations.RunPython.noop)]
