# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The files of the repository that are pages of the site: docs/, the Markdown files that these link to, the examples,
and the public headers. A path of the repository becomes a path of the site."""
import posixpath
import re
from pathlib import Path

CONTENTS = "docs/README.md"
HOME = "README.md"
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
WEB = re.compile(r"[a-z]+:")
SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
GROUP = re.compile(r"(\w+): \[")
ROW = re.compile(r"^\| (?!page |---)(.+?) \| (.*) \|$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
# Of Markdown outside docs/, in the order of the navigation. The others that are linked follow.
PROJECT = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")


def target_of(path, link):
    """(path in the repository, anchor) of a link on the page at `path`."""
    target, _, anchor = link.partition("#")
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), target)) if target else path, anchor


def place_of(path):
    """The path on the site of a page of the repository."""
    if path == HOME:
        return "index.md"
    if path == CONTENTS:
        return "contents.md"
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path.startswith("examples/"):
        return path.removesuffix(".cpp") + ".md" if path.endswith(".cpp") else path
    if path.startswith("include/ashlar/") and path.endswith(".hpp"):
        return "api/" + path.removeprefix("include/ashlar/").removesuffix(".hpp") + ".md"
    return "project/" + path.lower().replace("/readme.md", ".md").replace("include/ashlar.md", "map.md")


class Sources:
    def __init__(self, root, headers):
        self.root = Path(root)
        self.headers = [f"include/ashlar/{header}" for header in headers]
        self.examples = [f"examples/{path.name}" for path in sorted((self.root / "examples").glob("*.cpp"))]
        self.manual = self.linked_pages()
        self.pages = {path: place_of(path) for path in [*self.manual, *self.examples, *self.headers]}
        self.pages["examples"] = "examples/index.md"

    def text(self, path):
        return (self.root / path).read_text(encoding="utf-8")

    def linked_pages(self):
        """README.md, all of docs/, and each Markdown file that one of these links to."""
        found = [HOME, *(path.relative_to(self.root).as_posix() for path in sorted((self.root / "docs").rglob("*.md"))),
                 *PROJECT]
        for path in found:
            for link in LINK.findall(FENCED.sub("", self.text(path))):
                target, _ = target_of(path, link)
                if not WEB.match(link) and target.endswith(".md") and target not in found:
                    found.append(target)
        return found

    def listed(self):
        """Yields (section, [(name of its subpages, [page, its subpages…])]) in the order of docs/README.md: the first
        link of a row is a page, the others in the row are its subpages, named by the word in front of them."""
        text = self.text(CONTENTS)
        sections = list(SECTION.finditer(text))
        ends = [each.start() for each in sections[1:]] + [len(text)]
        for section, end in zip(sections, ends):
            rows = []
            for row in ROW.finditer(text, section.end(), end):
                paths = [target_of(CONTENTS, link)[0] for link in LINK.findall(row.group())]
                rows.append((GROUP.search(row.group(2)), [path for path in paths if path in self.pages]))
            yield section.group(1), [(group and group.group(1), row) for group, row in rows if row]

    def described_types(self):
        """{name of a type: the page of the manual whose row in docs/README.md names it}"""
        found = {}
        for row in ROW.finditer(self.text(CONTENTS)):
            link = LINK.search(row.group(1))
            for name in re.findall(r"`([\w:]+)[^`]*`", row.group(2)) if link else []:
                found.setdefault(name.removeprefix("ashlar::"), target_of(CONTENTS, link.group(1))[0])
        return found

    def navigation(self):
        """The navigation as mkdocs takes it."""
        listed = list(self.listed())
        entries = [{"Home": self.pages[HOME]}, {"Contents": self.pages[CONTENTS]}]
        named = {HOME, CONTENTS}
        for section, rows in self.listed():
            entries.append({section: [entry for group, row in rows for entry in self.entries_of(group, row)]})
            named.update(path for _, row in rows for path in row)
        entries.append({"API": ["api/index.md", self.pages[self.headers[0]], *self.rooms()]})
        entries.append({"Examples": ["examples/index.md", *(self.pages[path] for path in self.examples)]})
        rest = [path for path in [*PROJECT, *self.manual] if path not in named and not path.startswith("docs/")]
        entries.append({"Project": [self.pages[path] for path in dict.fromkeys(rest)]})
        return entries

    def entries_of(self, group, row):
        page, *below = [self.pages[path] for path in row]
        return [page, {group.capitalize() if group else "More": below}] if below else [page]

    def rooms(self):
        """Each room with its headers, which have short names there."""
        rooms = {}
        for path in self.headers[1:]:
            room, name = path.split("/")[-2:]
            rooms.setdefault(f"{room}/", []).append({name: self.pages[path]})
        return [{room: headers} for room, headers in rooms.items()]

    def title(self, path):
        return re.search(r"^# (.+)$", self.text(path), re.MULTILINE).group(1)
