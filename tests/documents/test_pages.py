"""What the documents tell their readers to type works, and prints what they say.

The snippets for Spark are run in ``tests/spark/test_documented.py``, where there is one.
"""

import pytest
from documents.reader import RUNNERS, Reader
from documents.snippets import DRAWING, Snippet, commands, in_text, pages, snippets

from magnetar.testing.local_broker import BrokerThread


def to_follow(page):
    return [one for one in snippets(page) if one.language != DRAWING and not one.needs_spark]


@pytest.mark.parametrize("page", [page for page in pages() if to_follow(page)])
def test_a_reader_gets_through_the_page(page, tmp_path):
    settings = {"advertisedAddress": "localhost", "transactionCoordinatorEnabled": "true"}
    with BrokerThread(tmp_path / "broker", settings=settings) as broker:
        reader = Reader(tmp_path, broker)
        for snippet in to_follow(page):
            try:
                reader.follow(snippet)
            except AssertionError as error:
                pytest.fail(f"{snippet.place}: {error}", pytrace=False)
        reader.finish()


@pytest.mark.parametrize("page", pages())
def test_every_snippet_has_somebody_who_runs_it(page):
    silent = [one.place for one in snippets(page) if one.language not in {*RUNNERS, DRAWING}]
    assert not silent, f"say of these what they are: {', '.join(RUNNERS)}, or {DRAWING}"


def test_blocks_are_found_with_their_language_and_place():
    text = (
        "# Page\n\n```sh\nmake\n```\n\n```python file=conftest.py\nimport x\n```\n```\n-->\n```\n"
    )
    assert list(in_text("page.md", text)) == [
        Snippet("page.md", 4, "sh", "", "make\n"),
        Snippet("page.md", 8, "python", "conftest.py", "import x\n"),
        Snippet("page.md", 11, "", "", "-->\n"),
    ]


def test_a_command_is_what_follows_a_dollar_and_may_go_on_in_the_next_line():
    text = "$ curl -s \\\n    here\nok\n$ true\n"
    found = commands(Snippet("page.md", 1, "console", "", text))
    assert found == [("curl -s     here", "ok\n"), ("true", "")]
