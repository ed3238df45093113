"""WSGI entry point: `granian --interface wsgi callcentre.wsgi:application`."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "callcentre.settings")

application = get_wsgi_application()
