"""Pairs of Avro schemas that resemble each other, made by chance: what a resolver is asked about.

A schema is a tree without references until ``written`` makes a definition of it.
"""

import json
from random import Random
from typing import Any, Final

PRIMITIVES: Final = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
NAMED: Final = ("record", "record", "record", "enum", "fixed")  # The outermost is a record.
NAMES: Final = ("A", "B", "C")
NAMESPACES: Final = ("n", "n", "m")
FIELDS: Final = ("x", "y", "z")
SYMBOLS: Final = ("P", "Q", "R")
ODD_DEFAULTS: Final = (None, True, 7, "P", [], {}, [7], {"x": 7})
DEPTH_MAX: Final = 3

Tree = Any  # What the json module knows.


def pair(random: Random) -> tuple[str, str]:
    """Two definitions, a reader's and a writer's; mostly the one was made of the other."""
    maker = _Maker(random)
    first = maker.tree(0)
    second = maker.changed(first) if random.random() < 0.9 else maker.tree(0)
    made = [json.dumps(written(each), separators=(",", ":")) for each in (first, second)]
    random.shuffle(made)
    return made[0], made[1]


class _Maker:
    """Makes trees with aliases, or with defaults that their types do not have, and not with both:

    where there are aliases, Java's resolver looks at the defaults of writers, too.
    """

    def __init__(self, random: Random) -> None:
        self.random = random
        self.aliases = random.random() < 0.5

    def tree(self, depth: int) -> Tree:
        chance = self.random.random()
        if chance < (1, 0.3, 0.2, 0)[depth]:
            return self.named(depth)
        if depth == DEPTH_MAX or chance > 0.6:
            return self.random.choice(PRIMITIVES)
        if chance > 0.55:
            return {"type": "array", "items": self.tree(depth + 1)}
        if chance > 0.5:
            return {"type": "map", "values": self.tree(depth + 1)}
        branches = [self.tree(depth + 1) for _ in range(self.random.randint(1, 3))]
        return ["null", *branches] if self.random.random() < 0.5 else branches

    def named(self, depth: int) -> Tree:
        kind = self.random.choice(NAMED) if depth else "record"
        made: Tree = {"type": kind, "name": self.random.choice(NAMES)}
        made["namespace"] = self.random.choice(NAMESPACES)
        if kind == "fixed":
            return made | {"size": self.random.randint(1, 2)}
        if kind == "enum":
            symbols = self.random.sample(SYMBOLS, self.random.randint(1, 3))
            return made | {"symbols": symbols} | ({"default": symbols[0]} if self.seldom() else {})
        names = self.random.sample(FIELDS, self.random.randint(0 if depth else 1, 3))
        return made | {"fields": [self.field(name, depth) for name in names]}

    def field(self, name: str, depth: int) -> Tree:
        made = {"name": name, "type": self.tree(depth + 1)}
        if self.random.random() < 0.4:
            made["default"] = self.default(made["type"])
        return made

    def default(self, kind: Tree) -> Tree:
        if not self.aliases and self.seldom():
            return self.random.choice(ODD_DEFAULTS)
        if isinstance(kind, list):
            return self.default(kind[0]) if kind else None
        name = kind["type"] if isinstance(kind, dict) else kind
        if name == "enum":
            return kind["symbols"][0]
        if name == "record":
            return {each["name"]: self.default(each["type"]) for each in kind["fields"]}
        values = {"boolean": True, "array": [], "map": {}, "null": None}
        return values.get(name, "P" if name in ("bytes", "string", "fixed") else 7)

    def changed(self, node: Tree) -> Tree:
        """The same schema after some changes, as one evolves."""
        if isinstance(node, str):
            return self.random.choice(PRIMITIVES) if self.seldom() else self.wrapped(node)
        if isinstance(node, list):
            return self.shuffled([self.changed(each) for each in node], self.tree(2))
        made = dict(node)
        for key in ("items", "values"):
            if key in made:
                made[key] = self.changed(made[key])
        if "name" in made:
            for key, values in (("name", NAMES), ("namespace", NAMESPACES)):
                if self.random.random() < 0.15:
                    made[key] = self.random.choice(values)
            if self.aliases and self.random.random() < 0.3:
                made["aliases"] = [f"{node['namespace']}.{node['name']}"]
        if "size" in made and self.seldom():
            made["size"] = 3 - made["size"]
        if "symbols" in made and self.random.random() < 0.3:
            made["symbols"] = self.random.sample(SYMBOLS, self.random.randint(1, 3))
            made.pop("default", None)
        if "fields" in made:
            fields = [self.changed_field(each) for each in made["fields"]]
            new = self.field(self.random.choice(FIELDS), 1)
            made["fields"] = self.shuffled(fields, new)
        return self.wrapped(made)

    def changed_field(self, field: Tree) -> Tree:
        made = field | {"type": self.changed(field["type"])}
        if "default" in made:  # Of another type it would be an odd one.
            made["default"] = self.default(made["type"])
        if self.seldom():
            made["name"] = self.random.choice(FIELDS)
            if self.aliases:
                made["aliases"] = [field["name"]]
        return made

    def shuffled(self, found: list[Tree], new: Tree) -> list[Tree]:
        if self.seldom():
            self.random.shuffle(found)
        if len(found) > 1 and self.random.random() < 0.2:
            del found[self.random.randrange(len(found))]
        return [*found, new] if self.random.random() < 0.2 else found

    def wrapped(self, node: Tree) -> Tree:
        chance = self.random.random()
        return ["null", node] if chance < 0.04 else [node, "null"] if chance < 0.06 else node

    def seldom(self) -> bool:
        return self.random.random() < 0.1


def written(node: Tree, known: set[str] | None = None, around: tuple[str, ...] = ()) -> Tree:
    """A definition: what has a name is defined once, unions hold no type twice, fields differ.

    What is within itself (``around`` has the records without a choice between) is optional there.
    """
    known = set() if known is None else known
    if isinstance(node, str):
        return node
    if isinstance(node, list):
        return _union(node, known)
    made = dict(node)
    for key in ("items", "values"):
        if key in made:
            made[key] = written(made[key], known)
    if "name" not in made:
        return made
    full = f"{made['namespace']}.{made['name']}"
    if full in known:
        return ["null", full] if full in around else full
    known.add(full)
    if "fields" in made:
        unique = {each["name"]: each for each in made["fields"]}
        around = (*around, full)
        made["fields"] = [_field(each, known, around) for each in unique.values()]
    return made


def _field(field: Tree, known: set[str], around: tuple[str, ...]) -> Tree:
    made = field | {"type": written(field["type"], known, around)}
    kinds = made["type"] if isinstance(made["type"], list) else [made["type"]]
    if any(isinstance(each, str) and each not in PRIMITIVES for each in kinds):
        made.pop("default", None)  # It was made for the tree, not for what this refers to.
    return made


def _union(branches: list[Tree], known: set[str]) -> Tree:
    found: dict[str, Tree] = {}
    for each in branches:
        made = written(each, known)
        for one in made if isinstance(made, list) else [made]:
            found.setdefault(_key(one), one)
    return list(found.values())


def _key(node: Tree) -> str:
    if isinstance(node, str):
        return node
    return f"{node['namespace']}.{node['name']}" if "name" in node else node["type"]
