"""The admin API, as an administrator asks it."""

import json
from urllib.request import Request, urlopen


def ask(broker, method, path, value=None):
    """What the admin API answers to ``/admin/v2/<path>``. Raises HTTPError."""
    request = Request(
        f"{broker.web_url}/admin/v2/{path}",
        method=method,
        data=None if value is None else json.dumps(value).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urlopen(request, timeout=20) as response:
        answer = response.read()
    return json.loads(answer) if answer else None
