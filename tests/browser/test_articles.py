"""The editor of articles in a real Chromium: it writes text, uploads pictures, and loads no file of another site."""

import re
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from knowledgebase.models import Article, ArticleImage
from tests.browser.conftest import Visit
from tests.knowledgebase.factories import PNG, CategoryFactory

pytestmark = pytest.mark.usefixtures("plain_static")


def test_an_article_is_written_with_a_picture_and_previewed(visit: Visit, tmp_path: Path) -> None:
    category = CategoryFactory()
    picture = tmp_path / "picture.png"
    picture.write_bytes(PNG)
    page = visit.open("/admin/knowledgebase/article/add/")
    page.fill("input[name=title]", "Written here")
    page.evaluate(f"document.querySelector('select[name=category]').value = '{category.pk}'")
    editor = page.locator(".jodit-wysiwyg")
    editor.click()
    page.keyboard.type("Some text. ")
    page.locator(".jodit-toolbar-button_image button").first.click()
    page.locator(".jodit-popup input[type=file]").set_input_files(picture)
    expect(editor.locator("img")).to_have_attribute("src", re.compile("/knowledge-base/images/"))

    with page.expect_navigation():
        page.get_by_role("button", name="Save and continue editing").click()

    article = Article.objects.get()
    assert article.text == "Some text."
    assert ArticleImage.objects.get().article == article
    visit.open(reverse("admin:knowledgebase_article_preview", args=[article.pk]))
    frame = page.frame_locator("iframe.reader")
    expect(frame.locator("h1")).to_have_text("Written here")
    expect(frame.locator("img")).to_be_visible()
    assert visit.trouble == []
