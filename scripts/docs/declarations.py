# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The public declarations of the headers, with their doc comments, as clang reads them.

A public header is include/ashlar/<room>/<file>.hpp, and fwd.hpp for what it defines. Of `detail` only that is read
which a public type inherits or names as its own: users see these members too.
"""
import os
import re
import subprocess
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from clang import cindex
from clang.cindex import CursorKind as Kind

COMPILER = os.environ.get("CXX", "clang++-19")
LIBRARY = "libclang-19.so.19"

FUNCTIONS = {Kind.FUNCTION_DECL, Kind.FUNCTION_TEMPLATE, Kind.CXX_METHOD, Kind.CONSTRUCTOR, Kind.DESTRUCTOR,
             Kind.CONVERSION_FUNCTION}
CLASSES = {Kind.CLASS_DECL, Kind.STRUCT_DECL, Kind.CLASS_TEMPLATE, Kind.UNION_DECL}
ALIASES = {Kind.TYPE_ALIAS_DECL, Kind.TYPE_ALIAS_TEMPLATE_DECL, Kind.TYPEDEF_DECL}
VARIABLES = {Kind.VAR_DECL, Kind.FIELD_DECL, Kind.UNEXPOSED_DECL}  # the last: templates of variables
KIND_OF = ({kind: "function" for kind in FUNCTIONS} | {kind: "class" for kind in CLASSES}
           | {kind: "alias" for kind in ALIASES} | {kind: "variable" for kind in VARIABLES}
           | {Kind.ENUM_DECL: "enum", Kind.CONCEPT_DECL: "concept", Kind.ENUM_CONSTANT_DECL: "enumerator"})

MACRO = re.compile(r"\bASHLAR_(?:[A-Z]+_)*[A-Z]+(?:\([^()]*\))? ")
BEFORE = re.compile(r"\s*(?:(?:\[\[[^\]]*\]\]|ASHLAR_\w+|static|friend|constexpr|inline|explicit|virtual)\s+)*")
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'', re.DOTALL)
COMMENT = re.compile(r"[ \t]*//[^\n]*")
INITIALISERS = re.compile(r"\s:(?!:)\s")
LONGEST_VALUE = 240


@dataclass
class Declaration:
    kind: str       # function, class, alias, variable, enum, enumerator, concept
    name: str       # `allocate(bytes, alignment)` of a function, else the identifier
    scope: str      # `ashlar::plan`; empty of a member
    text: str       # as in the header, without body and macros
    comment: str    # as in the header
    members: list = field(default_factory=list)
    bases: list = field(default_factory=list)    # public ones outside of detail, as written
    proofs: list = field(default_factory=list)   # static_asserts below a class

    @cached_property
    def identifier(self):
        return self.name.split("(")[0]


def matching(text, at, opening, closing):
    """The position of the bracket that closes the one at `at`."""
    depth = 0
    for position in range(at, len(text)):
        depth += (text[position] == opening) - (text[position] == closing)
        if depth == 0:
            return position
    return len(text)


def blanked(text):
    """The text with comments and literals blanked out, so that positions stay."""
    return NOISE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


class Source:
    """The bytes of the headers, since clang counts in bytes."""

    def __init__(self):
        self.files = {}

    def bytes_of(self, name):
        if name not in self.files:
            self.files[name] = Path(name).read_bytes()
        return self.files[name]

    def between(self, file, first, last):
        """The text from `first` on, without the indentation of its first line."""
        data = self.bytes_of(file)
        depth = first - data.rfind(b"\n", 0, first) - 1
        return re.sub(rf"\n {{0,{depth}}}", "\n", data[first:last].decode())

    def start_of(self, cursor):
        """Attributes and macros in front belong to a declaration, though clang does not count them."""
        start = cursor.extent.start
        before = self.between(start.file.name, start.offset - start.column + 1, start.offset)
        return start.offset - len(before.lstrip().encode()) if BEFORE.fullmatch(before) else start.offset

    def text_of(self, cursor):
        end = cursor.extent.end
        return self.between(end.file.name, self.start_of(cursor), end.offset)

    def without_body(self, cursor):
        """A function up to its body or its initialisers."""
        body = next((child for child in cursor.get_children() if child.kind == Kind.COMPOUND_STMT), None)
        if body is None:
            return self.text_of(cursor)
        start = cursor.extent.start
        text = self.between(start.file.name, self.start_of(cursor), body.extent.start.offset)
        if cursor.kind not in (Kind.CONSTRUCTOR, Kind.FUNCTION_TEMPLATE):
            return text
        opening = text.find(f"{cursor.spelling.split('<')[0]}(")
        closing = matching(blanked(text), text.find("(", opening), "(", ")") if opening >= 0 else len(text)
        initialisers = INITIALISERS.search(blanked(text), closing)
        return text[:initialisers.start()] if initialisers else text

    def head_of(self, cursor):
        """A class up to its bases, and with the defaults of its template, which stand at its first declaration."""
        text = self.text_of(cursor)
        code = blanked(text)
        opening = re.search(r"\b(?:class|struct|union)\b(?=[^<>]*?\b" + re.escape(cursor.spelling) + r"\b)", code)
        if opening is None:  # a macro makes it
            return "struct " + cursor.displayname
        end = re.search(r"\s*(?::(?!:)|\{|\bfinal\b|;|$)", code[opening.end():])
        own = text[opening.start():opening.end() + end.start()].strip()
        first = self.text_of(cursor.canonical)
        template = first[:first.rfind(opening.group(), 0, self.position_of_name(first, cursor.spelling))]
        return template + own

    @staticmethod
    def position_of_name(text, name):
        return [match.start() for match in re.finditer(rf"\b{re.escape(name)}\b", text)][0]


def tidy(text):
    text = MACRO.sub("", COMMENT.sub("", text)).strip().rstrip(";").rstrip()
    text = "\n".join(line for line in text.split("\n") if line.strip())
    return re.sub(r" \{\}$", "", text)


def is_detail(cursor):
    while cursor is not None and cursor.kind != Kind.TRANSLATION_UNIT:
        if cursor.kind == Kind.NAMESPACE and cursor.spelling == "detail":
            return True
        cursor = cursor.semantic_parent
    return False


def scope_of(cursor):
    """The namespaces around a declaration, without the inline one of the ABI."""
    names, parent = [], cursor.semantic_parent
    while parent is not None and parent.kind == Kind.NAMESPACE:
        if not re.match(r"v\d+_\d+_", parent.spelling):
            names.append(parent.spelling)
        parent = parent.semantic_parent
    return "::".join(reversed(names))


def type_named_by(cursor):
    """The class, enum or function that a base, an alias or a using-declaration names; None if clang knows none."""
    for child in cursor.get_children():
        named = child.referenced if child.kind in (Kind.TEMPLATE_REF, Kind.TYPE_REF) else None
        if child.kind == Kind.OVERLOADED_DECL_REF:
            named = cindex.conf.lib.clang_getOverloadedDecl(child, 0)
        found = named.get_definition() if named is not None else None
        if found is not None and (found.kind in CLASSES | FUNCTIONS or found.kind == Kind.ENUM_DECL):
            return found
    return None


def bases_of(cursor):
    return [child for child in cursor.get_children() if child.kind == Kind.CXX_BASE_SPECIFIER]


class Reader:
    def __init__(self, root):
        self.root = Path(root)
        self.source = Source()

    def declaration(self, cursor, text, comment=None):
        name = cursor.spelling.split("<")[0]
        if cursor.kind in FUNCTIONS:
            name = self.call_of(cursor, name)
        return Declaration(KIND_OF[cursor.kind], name, scope_of(cursor), tidy(text),
                           cursor.raw_comment or "" if comment is None else comment)

    @staticmethod
    def call_of(cursor, name):
        names = [child.spelling for child in cursor.get_children() if child.kind == Kind.PARM_DECL and child.spelling]
        return cursor.spelling + f"({', '.join(names)})" if "operator" in name else f"{name}({', '.join(names)})"

    def read(self, cursor):
        """The declaration at a cursor; None of what is not shown."""
        if cursor.kind == Kind.FRIEND_DECL:
            child = next(iter(cursor.get_children()), None)
            return self.function(child, cursor) if child is not None and child.kind in FUNCTIONS else None
        if cursor.spelling.startswith("<deduction guide"):
            return None
        if cursor.kind in FUNCTIONS:
            return self.function(cursor, cursor)
        if cursor.kind in CLASSES:
            return self.record(cursor) if cursor.is_definition() else None
        if cursor.kind == Kind.ENUM_DECL:
            return self.enumeration(cursor)
        if cursor.kind in ALIASES:
            return self.alias(cursor)
        if cursor.kind == Kind.USING_DECLARATION:
            return self.imported(cursor)
        if cursor.kind in VARIABLES:
            return self.variable(cursor)
        if cursor.kind == Kind.CONCEPT_DECL:
            return self.declaration(cursor, self.source.text_of(cursor))
        return None

    def function(self, cursor, whole):
        if cursor.semantic_parent != cursor.lexical_parent and whole.kind != Kind.FRIEND_DECL:
            return None  # the definition of a member, outside of its class
        text = self.source.without_body(cursor)
        if whole.kind == Kind.FRIEND_DECL and "friend" not in text:
            text = self.source.between(whole.extent.start.file.name, self.source.start_of(whole),
                                       self.source.start_of(cursor)) + text
        return self.declaration(cursor, text)

    def variable(self, cursor):
        text = self.source.text_of(cursor)
        if not cursor.spelling or (cursor.kind == Kind.UNEXPOSED_DECL and not text.startswith("template")):
            return None
        if len(text) > LONGEST_VALUE:
            text = text.split("=")[0] + "= …"
        return self.declaration(cursor, text)

    def enumeration(self, cursor):
        made = self.declaration(cursor, self.source.text_of(cursor).split("{")[0])
        made.members = [self.declaration(child, child.spelling) for child in cursor.get_children()
                        if child.kind == Kind.ENUM_CONSTANT_DECL]
        return made

    def record(self, cursor):
        made = self.declaration(cursor, self.source.head_of(cursor))
        shown = [base for base in bases_of(cursor)
                 if base.access_specifier.name == "PUBLIC" and not is_detail(type_named_by(base))]
        made.bases = [re.sub(r"^public ", "", self.source.text_of(base)) for base in shown]
        if made.bases:
            made.text += f" : public {', public '.join(made.bases)}"
        made.members = [each for each in self.members(cursor) if each.text]  # none where a macro makes the class
        for base in (type_named_by(each) for each in bases_of(cursor)):
            if base is not None and base.raw_comment and f"`{base.spelling}`" in made.comment:
                made.comment += f"\n///\n{base.raw_comment}"
        return made

    def alias(self, cursor):
        """An alias of a class in detail has the members of that class."""
        made = self.declaration(cursor, self.source.text_of(cursor))
        named = type_named_by(cursor)
        if named is not None and is_detail(named) and re.fullmatch(r"using \w+ = (?:detail::)?\w+", made.text):
            made.members = self.members(named)
            made.comment = made.comment or named.raw_comment or ""
        return made

    def imported(self, cursor):
        """A name of detail that a header takes over."""
        named = type_named_by(cursor)
        if named is None or not is_detail(named):
            return None
        made = self.read(named)
        made.scope, made.comment = scope_of(cursor), cursor.raw_comment or made.comment
        return made

    def members(self, cursor):
        """The public members of a class, and after them those of its bases in detail."""
        found, imported = [], set()
        for child in cursor.get_children():
            if child.kind == Kind.USING_DECLARATION and child.access_specifier.name == "PUBLIC":
                imported.add(self.source.text_of(child).split("::")[-1].strip())
            elif child.kind == Kind.FRIEND_DECL or child.access_specifier.name == "PUBLIC":
                made = self.read(child)
                if made is not None:
                    made.scope = ""
                    found.append(made)
        hidden = {each.identifier for each in found} - imported
        for base in bases_of(cursor):
            named = type_named_by(base)
            if named is None or not is_detail(named):
                continue
            is_public = base.access_specifier.name == "PUBLIC"
            found += [each for each in self.members(named)
                      if each.identifier not in {*hidden, named.spelling, f"~{named.spelling}", "operator="}
                      and (is_public or each.identifier in imported)]
        return found


def headers_in(root):
    folder = Path(root) / "include/ashlar"
    rooms = sorted(path for path in folder.glob("*/*.hpp") if path.parent.name != "detail")
    return [path.relative_to(folder).as_posix() for path in [folder / "fwd.hpp", *rooms]]


def parse(root, headers):
    cindex.Config.set_library_file(LIBRARY)
    resources = subprocess.run([COMPILER, "-print-resource-dir"], capture_output=True, text=True, check=True)
    options = ["-xc++", "-std=c++20", f"-I{Path(root) / 'include'}", f"-resource-dir={resources.stdout.strip()}"]
    text = "".join(f"#include <ashlar/{header}>\n" for header in headers)
    without_bodies = cindex.TranslationUnit.PARSE_SKIP_FUNCTION_BODIES
    unit = cindex.Index.create().parse("headers.cpp", options, [("headers.cpp", text)], without_bodies)
    errors = [str(each) for each in unit.diagnostics if each.severity >= cindex.Diagnostic.Error]
    if errors:
        raise RuntimeError("clang cannot read the headers:\n" + "\n".join(errors[:5]))
    return unit


def in_namespaces(cursor):
    """The declarations directly in namespaces of the library, in the order of the text."""
    for child in cursor.get_children():
        if child.kind == Kind.NAMESPACE:
            if child.spelling != "detail" and (cursor.kind != Kind.TRANSLATION_UNIT or child.spelling == "ashlar"):
                yield from in_namespaces(child)
        elif cursor.kind == Kind.NAMESPACE:
            yield child


def home_of(cursor, headers, folder):
    """The header on whose page a declaration stands: its own; of an alias in fwd.hpp that of the class."""
    here = cursor.location.file.name.removeprefix(folder)
    named = type_named_by(cursor) if here == "fwd.hpp" else None
    there = named.location.file.name.removeprefix(folder) if named is not None else here
    return there if there in headers else here


def read_headers(root):
    """{`room/file.hpp`: its declarations}"""
    headers = headers_in(root)
    reader = Reader(root)
    found = {header: [] for header in headers}
    folder = str(Path(root) / "include/ashlar") + "/"
    unit = parse(root, headers)
    read = set()
    for cursor in in_namespaces(unit.cursor):
        of_header = found.get(cursor.location.file.name.removeprefix(folder))
        place = cursor.location.file.name, cursor.location.offset
        if of_header is None or place in read:  # clang lists instances of templates at the place of the template
            continue
        read.add(place)
        if cursor.kind == Kind.STATIC_ASSERT:
            if of_header and of_header[-1].kind == "class":
                of_header[-1].proofs.append(tidy(reader.source.text_of(cursor)))
            continue
        made = reader.read(cursor)
        if made is not None:
            found[home_of(cursor, found, folder)].append(made)
    return found
