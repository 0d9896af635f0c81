"""What the routes of the admin API say of themselves is what they do."""

import re
from pathlib import Path

import magnetar.broker.admin
from magnetar.broker.admin.routes.table import ROUTES

FOLDER = Path(magnetar.broker.admin.__file__).parent
READ = re.compile(r"""(?:flag|query\.get|parameter)\((?:request, )?"(\w+)\"""")


def test_every_parameter_that_is_read_from_a_query_is_in_the_document():
    named = {query.name for route in ROUTES for query in route.parameters}
    read = {name for file in FOLDER.rglob("*.py") for name in READ.findall(file.read_text())}
    unnamed = sorted(read - named)
    assert not unnamed, f"put @reads(Query(...)) of router.py on the handlers of: {unnamed}"
