"""When to kill a broker: somewhere under load, or in the middle of something, watched from outside.

Each moment is called while the broker serves under load, and returns when it is to be killed.
"""

import json
import threading
import time
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from support.elsewhere import wait_until

MOMENT_TIMEOUT_S = 10.0
STARTS_KILLED = 4
START_S = 0.7  # A start takes about this long; a kill may come at any point of it.
VICTIMS = 3
VICTIM_MESSAGES = 60


def under_load(campaign):
    """At any moment."""
    time.sleep(campaign.chance.uniform(0.1, 1.0))


def at_start(campaign):
    """At any moment, and then several times on the way up; the caller does the last start."""
    under_load(campaign)
    for _ in range(STARTS_KILLED):
        campaign.kill()
        campaign.broker.launch()
        time.sleep(campaign.chance.uniform(0.0, START_S))


def at_rollover(campaign):
    """When a file of the log begins, is sealed, compacted away or kept for later."""
    folder = campaign.data / "ledgers"
    _await_change(lambda: sorted(path.name for path in folder.iterdir()))
    time.sleep(campaign.chance.uniform(0.0, 0.004))


def at_sealing(campaign):
    """When a footer is written: a segment other than the newest changes its length."""
    folder = campaign.data / "ledgers"
    _await_change(lambda: _older_sizes(folder))
    time.sleep(campaign.chance.uniform(0.0, 0.002))


def at_cursor_save(campaign):
    """When the metadata is being written: cursors, 20 times a second, and lists of ledgers."""
    log = campaign.data / "metadata.sqlite-wal"
    _await_change(lambda: log.stat().st_mtime_ns)
    time.sleep(campaign.chance.uniform(0.0, 0.003))


def at_deletion(campaign):
    """While topics are being deleted."""
    victims = [campaign.make_victim(VICTIM_MESSAGES) for _ in range(VICTIMS)]
    threads = [threading.Thread(target=victim.delete, daemon=True) for victim in victims]
    for thread in threads:
        thread.start()
    time.sleep(campaign.chance.uniform(0.002, 0.04))
    campaign.kill()
    for thread in threads:
        thread.join()


MOMENTS = [under_load, at_start, at_rollover, at_cursor_save, at_deletion, at_sealing]


class Victim:
    """A topic that is to be deleted, and what became of that."""

    def __init__(self, topic, web_url, messages):
        self.topic, self.messages = topic, messages
        self.answer = None  # The status of the answer; None: there was none.
        self._url = f"{web_url}/admin/v2/{topic.replace('://', '/')}?force=true"

    def delete(self):
        try:
            with urlopen(Request(self._url, method="DELETE"), timeout=10) as answer:
                self.answer = answer.status
        except HTTPError as refused:
            self.answer = refused.code
        except (URLError, OSError):
            pass  # It was killed first.


def topics_of(web_url):
    """The topics that the broker says exist."""
    with urlopen(f"{web_url}/admin/v2/persistent/public/default", timeout=10) as answer:
        return json.load(answer)


def _older_sizes(folder):
    segments = sorted(folder.glob("segment-*.log"))[:-1]
    return [(path.name, _size(path)) for path in segments]


def _size(path):
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None


def _await_change(look):
    """Until it looks otherwise."""
    before = look()
    untold = "a file tells nobody that it changes"
    wait_until(
        look, untold, met=lambda now: now != before, timeout_s=MOMENT_TIMEOUT_S, pause_s=0.0003
    )
