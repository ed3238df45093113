"""WSGI entry point: `granian --interface wsgi callcentre.wsgi:application`."""

import gc
import os

from django.core.wsgi import get_wsgi_application

from callcentre.phone import warm_up

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "callcentre.settings")

application = get_wsgi_application()
warm_up()
# What is loaded by now stays: without it in the collector's sight, and with a collection at every 20,000th instead of
# every 700th new object, a batch of 10,000 records loses no tenth of a second to looking at modules.
gc.collect()
gc.freeze()
gc.set_threshold(20_000, 20, 20)
