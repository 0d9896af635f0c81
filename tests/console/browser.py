"""Chromium, driven by Playwright: one page that notes what it should not do."""

import shutil
from contextlib import contextmanager

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium: apt-get install chromium has one"
)
STEP_MS = 25_000  # Of a machine that does other things as well.


@contextmanager
def browser():
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only where there is a browser

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


class Window:
    """A page of the console. ``complaints`` must stay empty."""

    def __init__(self, browser, url, *, width=1280, height=900, colors="dark"):
        self.url = url
        self.complaints = []
        self.page = browser.new_page(
            viewport={"width": width, "height": height},
            color_scheme=colors,
            reduced_motion="reduce",
        )
        self.page.set_default_timeout(STEP_MS)
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("request", self._asked)
        self.page.on("response", self._answered)

    def go(self, place):
        """Show a screen, from wherever this is."""
        if self.page.url == "about:blank":
            self.page.goto(f"{self.url}/console/#/{place}")
        else:
            self.page.evaluate("place => { location.hash = `#/${place}`; }", place)
        path = place.partition("?")[0]
        self.page.locator(f"main[data-place='{path}']").wait_for()

    def button(self, name, *, within=None):
        return (within or self.page).get_by_role("button", name=name, exact=True)

    def press(self, name):
        self.button(name).first.click()

    @property
    def dialog(self):
        return self.page.locator("dialog[open]").last

    def fill(self, label, value):
        self.dialog.get_by_label(label, exact=True).fill(value)

    def confirm(self, verb, *, typed=None):
        """Press the verb of the dialog that is open, and wait until all is done."""
        dialog = self.dialog
        if typed is not None:
            dialog.locator("input[name=typed]").fill(typed)
        dialog.locator("footer button[type=submit]", has_text=verb).click()
        # Where it changed what is shown, the screen is made anew in the same moment.
        self.page.wait_for_function("() => !document.querySelector('dialog, [aria-busy=true]')")

    def choose(self, item):
        """An action of the menu behind the dots."""
        self.page.get_by_role("button", name="More").first.click()
        self.page.get_by_role("menuitem", name=item, exact=True).click()

    def says(self, text):
        self.page.locator(":visible", has_text=text).first.wait_for()

    def _said(self, message):
        # A refusal that the console expects and shows is said by the browser as an error, too.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.complaints.append(f"console: {message.text}")

    def _asked(self, request):
        if not request.url.startswith(("data:", self.url)):
            self.complaints.append(f"elsewhere: {request.url}")

    def _answered(self, response):
        if response.status >= 500:
            self.complaints.append(f"{response.status}: {response.url}")
