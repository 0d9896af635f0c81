"""Makes the site of documents out of the repository, as hooks of mkdocs: ``make docs``.

Beside the pages of ``docs``, it has the project's own pages, a reference made from docstrings, and
one of the admin API, made from its OpenAPI description. A page that is named as `docs/admin.md` is
a link there.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from magnetar import __version__
from magnetar.broker.admin.routes.table import ROUTES
from magnetar.rest import openapi

ROOT: Final = Path(__file__).parents[1]
REPOSITORY_PAGES: Final = {
    "README.md": "index.md",
    "CHANGELOG.md": "changes.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
}
"""Pages at the top of the repository, and where they are on the site."""

REFERENCE: Final = {
    "magnetar": ("The client", ["magnetar"]),
    "blocking": ("The blocking client", ["magnetar.client.blocking"]),
    "errors": ("Errors", ["magnetar.errors"]),
    "schemas": ("Schemas", ["magnetar.schemas"]),
    "functions": (
        "Functions",
        [
            "magnetar.compat.functions.context",
            "magnetar.functions.in_memory",
            "magnetar.functions.local_run",
        ],
    ),
    "spark": ("Spark", ["magnetar.spark.session"]),
    "testing": ("Testing", ["magnetar.testing.local_broker", "magnetar.testing.processes"]),
}
"""Pages of the reference: their titles, and the modules on them."""

_OF_OTHERS: Final = re.compile(r"https://unpkg\.com/iframe-worker[^\"]*")
_OURS: Final = "site/file-worker.js"
_BLOCK: Final = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_NAMED: Final = re.compile(r"`((?:docs/)?[\w./-]+\.md)`")
_LINK: Final = re.compile(r"\]\(([^)#\s:]+)(#[^)]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and figures that are not in ``docs``."""
    for source, page in REPOSITORY_PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    for result in sorted((ROOT / "bench" / "results").glob("*.txt")):
        made = File.generated(
            config, result.relative_to(ROOT).as_posix(), content=result.read_text()
        )
        files.append(made)
    decisions = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    listed = "".join(f"- [{_title(each)}](decisions/{each.name})\n" for each in decisions)
    files.append(File.generated(config, "decisions.md", content=f"# Decisions\n\n{listed}"))
    for name, (title, modules) in REFERENCE.items():
        blocks = "\n\n".join(f"::: {module}" for module in modules)
        page = f"# {title}\n\n{blocks}\n"
        files.append(File.generated(config, f"reference/{name}.md", content=page))
    described = openapi.document(ROUTES, version=__version__)
    files.append(File.generated(config, "reference/openapi.json", content=json.dumps(described)))
    page = "".join(_rest(described))
    files.append(File.generated(config, "reference/rest.md", content=page))
    return files


def on_page_markdown(markdown: str, page: Page, files: Files, **_: Any) -> str:
    """Links to pages of the site, by where these are there."""
    source = next(
        (name for name, made in REPOSITORY_PAGES.items() if made == page.file.src_uri),
        f"docs/{page.file.src_uri}",
    )
    above = "../" * page.file.src_uri.count("/")

    def place(path: str) -> str | None:
        """The link to a file of the repository; None where the site does not have it."""
        on_site = REPOSITORY_PAGES.get(path, path.removeprefix("docs/"))
        return above + on_site if files.get_file_from_path(on_site) is not None else None

    def named(match: re.Match[str]) -> str:
        link = place(match[1])
        return match[0] if link is None else f"[`{match[1].removeprefix('docs/')}`]({link})"

    def linked(match: re.Match[str]) -> str:
        path = (ROOT / source).parent.joinpath(match[1]).resolve()
        link = place(path.relative_to(ROOT).as_posix()) if path.is_relative_to(ROOT) else None
        return f"]({link}{match[2] or ''})" if link else f"]({match[1]}{match[2] or ''})"

    pieces, end = [], 0
    for block in [*_BLOCK.finditer(markdown), None]:
        prose = markdown[end : block.start() if block else len(markdown)]
        pieces.append(_NAMED.sub(named, _LINK.sub(linked, prose)))
        if block is not None:
            pieces.append(block[0])
            end = block.end()
    return "".join(pieces)


def on_post_page(output: str, page: Page, **_: Any) -> str:
    """The theme's search takes a script from elsewhere; here it is our own."""
    return _OF_OTHERS.sub("../" * page.file.dest_uri.count("/") + _OURS, output)


def on_post_template(output_content: str, **_: Any) -> str:
    """The same in pages that are no document."""
    return _OF_OTHERS.sub(_OURS, output_content)


def _rest(described: dict[str, Any]) -> Iterator[str]:
    """A page with a table of the operations of each tag."""
    yield f"# The admin REST API\n\n{described['info']['description']}\n\n"
    yield "[The OpenAPI document](openapi.json) is made of the same; a broker serves it at\n"
    yield "`/admin/v2/openapi.json`.\n"
    operations = [
        (path, method, operation)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
        if method != "parameters"
    ]
    for tag in sorted({operation["tags"][0] for _, _, operation in operations}):
        yield f"\n## {tag}\n\n| | path | what it does | query | asks for |\n|---|---|---|---|---|\n"
        for path, method, operation in operations:
            if operation["tags"][0] == tag:
                query = ", ".join(f"`{one['name']}`" for one in operation["parameters"])
                row = (method.upper(), f"`{path}`", operation["summary"], query)
                yield f"| {' | '.join(row)} | {operation['x-magnetar-access']} |\n"


def _title(page: Path) -> str:
    return page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
