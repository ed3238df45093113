"""The pages of imports in the admin, and files for them."""

import re
from typing import Any

from django.core.files.base import ContentFile
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from campaigns.models import Campaign
from tests.campaigns.factories import RecordImportFactory

LIST = reverse("admin:campaigns_recordimport_changelist")
ADD = reverse("admin:campaigns_recordimport_add")
POLISH = "Imię;Telefon;city\nŻaneta;22 555 01 01;Łódź\nJan;22 555 01 02;Kraków\n".encode("cp1250")


def upload(client: Client, campaign: Campaign, content: bytes, name: str = "klienci.csv") -> Any:
    return client.post(ADD, {"campaign": campaign.pk, "file": SimpleUploadedFile(name, content)})


def uploaded(campaign: Campaign, content: str, **values: Any) -> Any:
    file = ContentFile(content.encode(), "records.csv")
    return RecordImportFactory.create(campaign=campaign, file=file, file_size=len(content.encode()), **values)


def shown_text(markup: str) -> str:
    return " ".join(re.sub("<[^>]*>", " ", markup).split()).replace(" :", ":")


def faults_of(page: str) -> str:
    """Return the list of the file's faults as text."""
    return shown_text(page.partition('<ul class="import-faults">')[2].partition("</ul>")[0])
