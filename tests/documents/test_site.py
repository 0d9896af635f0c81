"""The site of documents is made without a warning, and a browser needs nothing else for it.

Building it takes some seconds, nearly all of them for the reference.
"""

import os
import re
import subprocess
import sys

import pytest
from documents.snippets import ROOT, pages

pytestmark = pytest.mark.timeout(230)  # 17 s of CPU, whatever else runs.

LOADED = re.compile(r'<(?:script|img|iframe)[^>]* src="([^"]+)"|<link[^>]*stylesheet[^>]*>')
OUTSIDE = re.compile(r"(?:https?:)?//")
AT_THE_TOP = {
    "README.md": "index.html",
    "CHANGELOG.md": "changes.html",
    "ARCHITECTURE.md": "architecture.html",
    "CONTRIBUTING.md": "contributing.html",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_every_document_is_a_page_of_it(site):
    for page in pages():
        on_site = AT_THE_TOP.get(page, page.removeprefix("docs/").replace(".md", ".html"))
        assert (site / on_site).is_file(), page


def test_nothing_is_loaded_from_elsewhere(site):
    for page in site.rglob("*.html"):
        for loaded in LOADED.finditer(page.read_text()):
            assert not OUTSIDE.match(loaded[1] or ""), f"{page}: {loaded[0]}"
            assert "https://" not in loaded[0], f"{page}: {loaded[0]}"


def test_the_name_of_the_site_leads_to_its_first_page(site):
    for page, home in {"traces.html": "index.html", "client/speed.html": "../index.html"}.items():
        assert f'<a href="{home}" title="Magnetar"' in (site / page).read_text(), page


def test_a_document_that_is_named_is_a_link(site):
    assert '<a href="storage.html"><code>storage.md</code></a>' in (site / "index.html").read_text()


def test_the_reference_says_what_the_docstrings_do(site):
    page = (site / "reference" / "magnetar.html").read_text()
    for name in (
        "magnetar.Client.create_producer",
        "magnetar.Producer.send",
        "magnetar.Consumer.receive",
        "magnetar.Consumer.seek",
        "magnetar.AdminApi.get",
    ):
        assert f'id="{name}"' in page, name
    for name in ("magnetar.Producer.take", "magnetar.Consumer.run", "magnetar.Reader.add"):
        assert f'id="{name}"' not in page, name
