import re

import pytest

from magnetar.auth.access import Access
from magnetar.broker.admin.routes.console import FOLDER, ROUTES

HTML = {"Accept": "text/html,application/xhtml+xml", "Content-Type": None}
FILES = sorted(file.relative_to(FOLDER).as_posix() for file in FOLDER.rglob("*.*"))
IMPORT = re.compile(r"""(?:from|import)\s*\(?["'](\.[^"'`$]+)["']""")


async def test_a_browser_is_led_to_the_console_and_a_program_is_told_that_there_is_nothing(world):
    answer = await world.ask("GET", "/", **HTML)
    assert (answer.status, answer.headers["Location"]) == (302, "/console/")
    assert (await world.ask("GET", "/console", **HTML)).headers["Location"] == "/console/"
    assert (await world.ask("GET", "/")).status == 404
    assert (await world.ask("GET", "/", Accept="*/*")).status == 404


async def test_the_page_may_run_nothing_but_what_comes_with_it(world):
    answer = await world.ask("GET", "/console/", **HTML)
    assert answer.status == 200
    assert answer.content_type == "text/html; charset=utf-8"
    policy = answer.headers["Content-Security-Policy"]
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "<script>" not in answer.text
    assert " style=" not in answer.text


async def test_a_file_that_is_known_is_not_sent_again(world):
    first = await world.ask("GET", "/console/js/main.js", **HTML)
    assert first.content_type == "text/javascript; charset=utf-8"
    known = {**HTML, "If-None-Match": first.headers["ETag"]}
    again = await world.ask("GET", "/console/js/main.js", **known)
    assert (again.status, again.text) == (304, "")
    assert again.headers["ETag"] == first.headers["ETag"]
    other = await world.ask("GET", "/console/js/router.js", **known)
    assert other.status == 200


@pytest.mark.parametrize(
    "path", ["/nothing.js", "/..%2f..%2fapp.py", "/js/..%2f..%2f..%2fapp.py", "/../app.py", "/js"]
)
async def test_nothing_else_is_served(world, path):
    assert (await world.ask("GET", f"/console{path}", **HTML)).status == 404


def test_everybody_may_load_the_files():
    assert {route.access for route in ROUTES} == {Access.PUBLIC}


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".js")])
def test_a_module_names_modules_that_are_there_and_uses_what_it_imports(name):
    text = (FOLDER / name).read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 300
    for target in IMPORT.findall(text):
        assert ((FOLDER / name).parent / target).is_file(), target
    for names, target in re.findall(r'import \{([^}]*)\} from "([^"]*)"', text):
        exported = ((FOLDER / name).parent / target).read_text(encoding="utf-8")
        for imported in (each.strip() for each in names.split(",")):
            assert len(re.findall(rf"\b{imported}\b", text)) > 1, f"{imported} is not used"
            declared = rf"export (async )?(function\*? |const |class ){imported}\b"
            assert re.search(declared, exported), f"{target} has no {imported}"


def test_nothing_is_asked_elsewhere():
    for name in FILES:
        text = (FOLDER / name).read_text(encoding="utf-8")
        urls = set(re.findall(r"https?://[\w.]+", text))
        assert urls <= {"http://www.w3.org"}, name
