"""The keys of the store, read from `operations/*/records.py`.

Each function there that makes a key says in its docstring what is stored under it; so does the comment of a constant
named `…_KEY`. The first part of a key has one or two letters, that of an entry in an index is a word. Where one
function makes keys of several forms, its docstring lists them, a line each: "- `FORM`: what is stored".

The form of a key is read from the code: TAB is ⇥, a value is its name in capitals. The entries in the two indexes and
the type of the record are read from the calls of `tx.put`, wherever in operations/ they are. What cannot be read is
shown as `…`.
"""

from __future__ import annotations

import ast
import re
from itertools import product
from typing import NamedTuple

from tools.sources import Source, assigned, named, sources

FAMILY = re.compile(r"[A-Za-z]{1,2}(?=[/⇥]|$)")
LISTED = re.compile(r"^- `(.+?)`: (.+?)$", re.MULTILINE)
EMPTY = "nothing"  # begins the docstring of a key that has no record
MAX_DEPTH = 12  # of functions and names that are followed
SHORT_NAMES = {"IDENTIFIER": "ID", "WHEN": "TIME"}


class Key(NamedTuple):
    """A kind of key."""

    form: str
    room: str
    what: str  # is stored there
    type: str  # of the record
    first: tuple[str, ...]  # its entries in the first index
    second: tuple[str, ...]


class Write(NamedTuple):
    """One call of `tx.put`."""

    form: str
    type: str
    first: tuple[str, ...]
    second: tuple[str, ...]


def keys() -> list[Key]:
    """Every kind of key, by room and in the order of their definitions."""
    writes: dict[str, list[Write]] = {}
    for write in _writes():
        writes.setdefault(family_of(write.form), []).append(write)
    types = _read_types()
    rows = defined()
    made = [_key(room, form, what, writes.get(family_of(form), []), types.get(form, "")) for room, form, what in rows]
    return sorted(made, key=lambda key: key.room)


def defined() -> list[tuple[str, str, str]]:
    """The keys that a records.py defines: room, form, what is stored there."""
    return [(source.room, form, what) for source in named("records") for form, what in definitions_of(source)]


def family_of(form: str) -> str:
    """The letters that a key begins with; "" if it is no key."""
    match = FAMILY.match(form)
    return match.group() if match else ""


def _key(room: str, form: str, what: str, writes: list[Write], read: str) -> Key:
    if form.endswith("⇥"):  # a prefix: the whole key is where it is written
        longer = [write.form for write in writes if write.form.startswith(form) and len(write.form) > len(form)]
        form = longer[0] if longer else f"{form}…"
    return Key(
        form,
        room,
        what,
        ", ".join(dict.fromkeys(write.type for write in writes if write.type)) or read,
        tuple(dict.fromkeys(entry for write in writes for entry in write.first)),
        tuple(dict.fromkeys(entry for write in writes for entry in write.second)),
    )


def definitions_of(source: Source) -> list[tuple[str, str]]:
    """The forms of keys that a file defines, each with what is stored there. A whole key goes before its prefix."""
    listed: list[tuple[str, str]] = []
    rows: dict[str, tuple[str, str]] = {}
    for name, node in source.definitions.items():
        if isinstance(node, ast.FunctionDef):
            docstring = ast.get_docstring(node) or ""
            forms = LISTED.findall(docstring)
            listed += forms
            _add(rows, name, "" if forms else _returned(source, node), _lowered(docstring))
    for name, value in source.constants.items():
        if name.endswith("_KEY"):
            _add(rows, name.lower(), Reader(source).forms(value)[0], source.comment(value))
    families = {family_of(form) for form, _ in listed}
    return [*listed, *[row for family, row in rows.items() if family not in families]]


def _add(rows: dict[str, tuple[str, str]], name: str, form: str, what: str) -> None:
    """Keep a definition, if it is one: of a family that has none, or of which only a prefix was defined so far."""
    family = family_of(form)
    if (
        family
        and what
        and not what.startswith(EMPTY)
        and (family not in rows or (name.endswith("_key") and rows[family][0].endswith("⇥")))
    ):
        rows[family] = (form, what)


def _lowered(docstring: str) -> str:
    """The first sentence of a docstring, as a part of a table."""
    text = " ".join(docstring.partition("\n\n")[0].split()).rstrip(".")
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def _returned(source: Source, function: ast.FunctionDef) -> str:
    """The form of the key that a function makes; "" if it makes something else."""
    if function.returns is None or ast.unparse(function.returns) != "str":
        return ""
    values = _returns(function)
    form = Reader(source, function).forms(values[0])[0] if values else ""
    return form if "⇥" in form or function.name.endswith("_key") else ""


def _returns(function: ast.FunctionDef) -> list[ast.expr]:
    returns = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
    return [node.value for node in sorted(returns, key=lambda node: node.lineno) if node.value is not None]


def _writes() -> list[Write]:
    """Every `tx.put` of the operations."""
    writes = []
    for source in sources().values():
        for function in [node for node in source.definitions.values() if isinstance(node, ast.FunctionDef)]:
            reader = Reader(source, function)
            calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
            writes += [reader.write(node) for node in calls if ast.unparse(node.func) == "tx.put"]
    return [write for write in writes if family_of(write.form)]


def _read_types() -> dict[str, str]:
    """The type that a function of a file of records gives for what it gets, by the form of the key."""
    types: dict[str, str] = {}
    for source in named("records"):
        for function in [node for node in source.definitions.values() if isinstance(node, ast.FunctionDef)]:
            reader = Reader(source, function)
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "tx.get" and function.returns is not None:
                    name = ast.unparse(function.returns).removesuffix(" | None").partition("[")[0]
                    if is_record(name):
                        types.setdefault(reader.forms(node.args[0])[0], name)
    return types


class Reader:
    """Reads forms of keys and entries from the expressions of one function, or of a file's constants."""

    def __init__(self, source: Source, function: ast.FunctionDef | None = None, depth: int = 0) -> None:
        self._source = source
        self._depth = depth
        self._locals: dict[str, list[ast.expr]] = {}
        self._types: dict[str, str] = {}
        for node in ast.walk(function) if function is not None else ():
            if isinstance(node, ast.Assign):
                for name, value in assigned(node.targets[0], node.value).items():
                    self._locals.setdefault(name, []).append(value)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                self._types[node.target.id] = ast.unparse(node.annotation)
            elif isinstance(node, ast.arg) and node.annotation is not None:
                self._types[node.arg] = ast.unparse(node.annotation)

    def write(self, call: ast.Call) -> Write:
        """What a call of `tx.put` writes."""
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        key, value, *others = call.args
        first, second = [*others, None, None][:2]
        if isinstance(first, ast.Starred):
            entries = self._pairs(first.value)
        else:
            entries = [self._entries(node) for node in (given.get("i1", first), given.get("i2", second))]
        return Write(self.forms(key)[0], self._type(value), entries[0], entries[1])

    def forms(self, node: ast.expr) -> list[str]:  # noqa: PLR0911 - one for each form of syntax
        """What a key or an entry can be, as people read it; [""] for None."""
        match node:
            case ast.Constant(value=None):
                return [""]
            case ast.Constant(value=str() as text):
                return [text.replace("\t", "⇥")]
            case ast.JoinedStr(values=parts):
                return _products([self.forms(part) for part in parts])
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return _products([self.forms(left), self.forms(right)])
            case ast.FormattedValue(value=inner) | ast.BinOp(op=ast.Sub(), right=inner):
                return self.forms(inner)
            case ast.IfExp(body=body, orelse=other):
                return [*self.forms(body), *self.forms(other)]
            case ast.Subscript(slice=ast.Constant(value=str() as name)) | ast.Attribute(attr=name):
                return [_placeholder(name)]
            case ast.Subscript(value=ast.Name(id=name)) if isinstance(self._source.constants.get(name), ast.Dict):
                return self._choices(name)
            case ast.Subscript(value=inner):
                return self.forms(inner)
            case ast.Name(id=name):
                return self._named(name)
            case ast.Call(func=function):
                return self._called(function)
        return ["…"]

    def _choices(self, name: str) -> list[str]:
        table = self._source.constants[name]
        assert isinstance(table, ast.Dict)
        return [form for value in table.values for form in self.forms(value)]

    def _named(self, name: str) -> list[str]:
        """What a local name or a constant is, if that is a part of a key; else the name itself."""
        if name in self._locals:
            forms = [form for value in self._locals[name] for form in self._deeper(value)]
            return forms if any("⇥" in form for form in forms) else [_placeholder(name)]
        if name in self._source.constants:
            return self._deeper(self._source.constants[name])
        room, file, original = self._source.imports.get(name, ("", "", ""))
        other = sources().get((room, file))
        if other is not None and original in other.constants:
            return Reader(other, depth=self._depth + 1).forms(other.constants[original])
        return [_placeholder(name)]

    def _deeper(self, node: ast.expr) -> list[str]:
        if self._depth > MAX_DEPTH:
            return ["…"]
        self._depth += 1
        try:
            return self.forms(node)
        finally:
            self._depth -= 1

    def _called(self, function: ast.expr) -> list[str]:
        """What a function returns, if that is a key or an entry; else its name."""
        source, node = self._function(function)
        values = _returns(node) if node is not None and self._depth < MAX_DEPTH else []
        forms = [form for value in values for form in Reader(source, node, self._depth + 1).forms(value)]
        name = ast.unparse(function).rpartition(".")[2].removesuffix("_of")
        return forms if any("⇥" in form for form in forms) else [_placeholder(name)]

    def _function(self, function: ast.expr) -> tuple[Source, ast.FunctionDef | None]:
        """A function that is called, and the file that defines it."""
        module, _, name = ast.unparse(function).rpartition(".")
        room, file, original = self._source.imports.get(module or name, ("", "", ""))
        source = sources().get((room, file), self._source)
        node = source.definitions.get(original or name)
        return source, node if isinstance(node, ast.FunctionDef) else None

    def _pairs(self, call: ast.expr) -> list[tuple[str, ...]]:
        """The entries in both indexes that a function returns as pairs."""
        source, node = self._function(call.func) if isinstance(call, ast.Call) else (self._source, None)
        reader = Reader(source, node)
        pairs = [value.elts for value in _returns(node) if isinstance(value, ast.Tuple)] if node is not None else []
        return [tuple(entry for pair in pairs for entry in reader._entries(pair[place])) for place in (0, 1)]

    def _entries(self, node: ast.expr | None) -> tuple[str, ...]:
        """The entries that an expression can be, without those that only begin another."""
        forms = [form for form in self.forms(node) if form] if node is not None else []
        return tuple(form for form in forms if not any(other != form and other.startswith(form) for other in forms))

    def _type(self, value: ast.expr) -> str:
        """The type of the record that is written, if the code says it and a file of records defines it."""
        name = self._types.get(value.id, "").partition("[")[0] if isinstance(value, ast.Name) else ""
        return name if is_record(name) else ""


def is_record(name: str) -> bool:
    """Does a file of records define a type of this name?"""
    return any(isinstance(source.definitions.get(name), ast.ClassDef) for source in named("records"))


def _products(parts: list[list[str]]) -> list[str]:
    return ["".join(choice) for choice in product(*parts)]


def _placeholder(name: str) -> str:
    text = name.lstrip("_").upper()
    return SHORT_NAMES.get(text, text)
