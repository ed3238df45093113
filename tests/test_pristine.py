"""Restoring the database while a process of an earlier test still writes, and after a test has ended connections."""

import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
from django.db import connection

from callcentre.launch.embedded import Stores
from campaigns.models import Campaign
from tests.campaigns.factories import CampaignFactory
from tests.pristine import Pristine


def test_cleaning_up_waits_for_a_writer_with_another_order_of_tables(stores: Stores, pristine_stores: Pristine) -> None:
    # A test before this one may have left rows in these stores, which all of them share.
    pristine_stores.restore()
    CampaignFactory()
    with psycopg.connect(stores.database_url) as other, ThreadPoolExecutor() as pool:
        other.execute("LOCK TABLE telephony_agent IN ROW EXCLUSIVE MODE")

        def go_on() -> int:
            # The other process now asks for all tables, in the order of their names.
            time.sleep(0.3)
            changed = other.execute("UPDATE campaigns_campaign SET name = 'Changed'").rowcount
            other.commit()
            return changed

        writing = pool.submit(go_on)
        pristine_stores.restore()
        assert writing.result() == 1
    assert not Campaign.objects.exists()


def test_cleaning_up_goes_on_after_all_connections_were_ended(stores: Stores, pristine_stores: Pristine) -> None:
    CampaignFactory()
    with psycopg.connect(stores.database_url, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    connection.close()

    pristine_stores.restore()

    assert not Campaign.objects.exists()
