"""Who says nothing about access asks for a superuser."""

from magnetar.auth.access import Access
from magnetar.rest.router import Route


async def _answer(_services, _request):
    raise AssertionError("not called")


def test_a_route_that_says_nothing_is_for_superusers():
    assert Route("GET", "/admin/v2/x", _answer).access is Access.SUPERUSER
