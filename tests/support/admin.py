"""The admin API, as an administrator asks it."""

import json
from urllib.error import HTTPError
from urllib.request import Request, urlopen


def ask(broker, method, path, value=None):
    """What the admin API answers to ``/admin/v2/<path>``. Raises HTTPError."""
    data = None if value is None else json.dumps(value).encode()
    url = f"{broker.web_url}/admin/v2/{path}"
    while True:
        headers = {"Content-Type": "application/json"}
        try:
            with urlopen(Request(url, data, headers, method=method), timeout=20) as response:
                answer = response.read()
            return json.loads(answer) if answer else None
        except HTTPError as error:
            if error.code != 307:  # To the broker that serves what is asked for.
                raise
            url = error.headers["Location"]
