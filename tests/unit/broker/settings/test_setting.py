from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from magnetar.broker.settings.setting import (
    section_from,
    setting,
    settings_of,
    text_of,
    variable_of,
)
from magnetar.errors import InvalidValue


@dataclass(frozen=True)
class Section:
    count: int = setting("theCount", 3, "how many", minimum=1, maximum=9)
    ratio: float = setting("theRatio", 0.5, "how much")
    eager: bool = setting("isEager", False, "whether")
    colour: Literal["red", "green"] = setting("colour", "red", "which")
    fruits: tuple[Literal["fig", "lime"], ...] = setting("fruits", ("fig",), "which of them")
    place: Path = setting("place", Path("here"), "where")


def read(**given: str) -> Section:
    wrong: dict[str, str] = {}
    section = section_from(Section, given, dict.fromkeys(given, "test"), wrong)
    if wrong:
        raise InvalidValue("\n".join(wrong.values()))
    return section


def test_what_is_not_given_keeps_its_default():
    assert read() == Section()


def test_every_kind_of_value_is_parsed():
    section = read(
        theCount=" 7 ",
        theRatio="1e-1",
        isEager="TRUE",
        colour="green",
        fruits="lime, fig,lime",
        place="a/b",
    )
    assert section == Section(
        7, 0.1, eager=True, colour="green", fruits=("lime", "fig"), place=Path("a/b")
    )


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"theCount": "0"}, "theCount='0' (test): use a whole number from 1 to 9"),
        ({"theCount": "10"}, "theCount='10' (test): use a whole number from 1 to 9"),
        ({"theCount": "1.5"}, "theCount='1.5' (test): use a whole number from 1 to 9"),
        ({"theRatio": "nan"}, "theRatio='nan' (test): use a number of at least 0"),
        ({"isEager": "maybe"}, "isEager='maybe' (test): use true or false"),
        ({"colour": "blue"}, "colour='blue' (test): use one of red, green"),
        ({"fruits": "lime,pear"}, "fruits='lime,pear' (test): use some of fig,lime"),
        ({"fruits": ""}, "fruits='' (test): use some of fig,lime"),
        ({"place": ""}, "place='' (test): give it a value, or leave the key out"),
    ],
)
def test_a_bad_value_is_refused_by_key_value_and_remedy(given, text):
    with pytest.raises(InvalidValue) as refused:
        read(**given)
    assert str(refused.value) == text


def test_a_section_knows_its_settings_in_order():
    keys = [one.key for one in settings_of(Section)]
    assert keys == ["theCount", "theRatio", "isEager", "colour", "fruits", "place"]


def test_a_value_is_printed_as_it_would_be_written():
    assert [text_of(v) for v in (True, False, 3, 0.5, ("a", "b"), Path("a/b"))] == [
        "true",
        "false",
        "3",
        "0.5",
        "a,b",
        "a/b",
    ]


@pytest.mark.parametrize(
    ("key", "variable"),
    [
        ("brokerServicePort", "MAGNETAR_BROKER_SERVICE_PORT"),
        ("managedLedgerCacheSizeMB", "MAGNETAR_MANAGED_LEDGER_CACHE_SIZE_MB"),
        ("durability", "MAGNETAR_DURABILITY"),
    ],
)
def test_a_key_has_an_environment_variable(key, variable):
    assert variable_of(key) == variable
