#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks a built site as a reader's browser sees it.

usage: check.py <folder of the site> [<the repository>]
       check.py --self-test

Each link and image inside the site leads to a file, each anchor to an element; no page loads anything from another
host; no Markdown is left as text, and no text is taken for a tag; every page is in the search. With the repository: every public name of its headers,
as the module exports them, has its place in the reference.
"""
import json
import re
import sys
import tempfile
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = {"script": "src", "img": "src", "link": "href", "source": "src", "iframe": "src"}
LOADED_RELATIONS = {"stylesheet", "icon", "preload", "preconnect", "modulepreload", "dns-prefetch"}
# Text that one renderer of Markdown reads as a list, a table or code, and another does not.
UNRENDERED = re.compile(r"(?:\A|\n)\s*(?:- |\| |```|#{1,6} )|\n\s*\* |\[[^\[\]]+\]\([^)\s]*\)|`")
# The page of a missing page is shown at any depth, so its links begin at the root of a host.
LEFT_OUT = {"404.html"}
UNCLOSED = set("area base br col embed hr img input link meta param source track wbr".split())


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.anchors, self.paragraphs, self.open = [], [], {"", "top"}, [], Counter()
        self.depth_of_code = 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.open[tag] += tag not in UNCLOSED
        for name in ("id", "name"):
            if attrs.get(name):
                self.anchors.add(attrs[name])
        if tag == "a" and attrs.get("href") is not None:
            self.links.append(attrs["href"])
        if tag in LOADS and attrs.get(LOADS[tag]):
            is_loaded = tag != "link" or LOADED_RELATIONS & set((attrs.get("rel") or "").split())
            (self.loads if is_loaded else self.links).append(attrs[LOADS[tag]])
        self.depth_of_code += tag in ("pre", "code", "script", "style")
        if tag in ("p", "td", "li"):
            self.paragraphs.append("")

    def handle_endtag(self, tag):
        self.open[tag] -= tag not in UNCLOSED
        self.depth_of_code -= tag in ("pre", "code", "script", "style")

    def handle_data(self, data):
        if self.paragraphs and self.depth_of_code == 0:
            self.paragraphs[-1] += data


class Site:
    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        paths = [path for path in sorted(self.folder.rglob("*.html")) if path.name not in LEFT_OUT]
        self.pages = {path: Page(path.read_text(encoding="utf-8")) for path in paths}

    def target_of(self, page, link):
        """(file, anchor) of a link inside the site."""
        parts = urlsplit(link)
        path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        return (path / "index.html" if path.is_dir() else path), unquote(parts.fragment)

    def faults_of(self, path, page):
        for link in page.loads:
            if urlsplit(link).netloc:
                yield f"loads {link} from another host"
        for link in [*page.links, *page.loads]:
            if urlsplit(link).scheme or urlsplit(link).netloc:
                continue
            target, anchor = self.target_of(path, link)
            if not target.is_file() or not target.is_relative_to(self.folder):
                yield f"links to {link}, which is not there"
            elif anchor and target in self.pages and anchor not in self.pages[target].anchors:
                yield f"links to {link}, where nothing has that anchor"
        for tag in +page.open:
            yield f"hides <{tag}>, which is never closed: is it text?"
        for text in page.paragraphs:
            if UNRENDERED.search(text):
                yield f"shows Markdown: {' '.join(text.split())[:80]}"

    def unsearched(self):
        index = json.loads((self.folder / "search/search_index.json").read_text(encoding="utf-8"))
        found = {entry["location"].split("#")[0] for entry in index["docs"]}
        for path in self.pages:
            place = path.relative_to(self.folder).as_posix().removesuffix("index.html")
            if place not in found:
                yield f"{place}: the search does not know this page"

    def faults(self):
        for path, page in self.pages.items():
            for fault in self.faults_of(path, page):
                yield f"{path.relative_to(self.folder).as_posix()}: {fault}"
        yield from self.unsearched()


def missing_names(site, root):
    """The public names that have no place in the reference."""
    sys.path[:0] = [str(root / "scripts"), str(root / "scripts/release")]
    import module  # found by the path that is set just above
    shown = set().union(*(page.anchors for path, page in site.pages.items()
                          if path.relative_to(site.folder).parts[0] == "api"))
    for space, names in sorted(module.exported(root, module.headers(root)).items()):
        for name in sorted(names):
            if (f"{space}.{name}".replace("::", ".") if space else name) not in shown:
                yield f"api: {space or 'ashlar'} has {name}, which is not in the reference"


FAULTY = {
    "links to": '<a href="gone/">x</a>',
    "has that anchor": '<a href="#gone">x</a>',
    "another host": '<script src="https://example.org/a.js"></script>',
    "from another": '<link rel="stylesheet" href="//example.org/a.css">',
    "which is not there": '<img src="a.svg">',
    "shows Markdown: - a": "<p>words\n- a list</p>",
    "shows Markdown: | a": "<p>| a | table |</p>",
    "shows Markdown: see": "<td>see [x](y.md)</td>",
    "hides <arena>": "<td>pool_set<arena></td>",
}
SOUND = ('<a href="https://example.org/#x">w</a> <a href="#here">x</a> <a href=".">y</a> <p id="here">a - b | c '
         "<code>`- </code></p>")


def faults_in(body, searched='[{"location": ""}]'):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "search").mkdir()
        (Path(folder) / "search/search_index.json").write_text(f'{{"docs": {searched}}}')
        (Path(folder) / "index.html").write_text(body)
        return "\n".join(Site(folder).faults())


def self_test():
    missed = [name for name, body in FAULTY.items() if name.split(":")[0] not in faults_in(body)]
    missed += ["a page that the search does not know"] if "search" not in faults_in("", "[]") else []
    missed += [f"nothing wrong, but: {faults_in(SOUND)}"] if faults_in(SOUND) else []
    print("\n".join(f"missed: {name}" for name in missed) or f"{len(FAULTY) + 1} planted faults found")
    return 1 if missed else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    if not 1 <= len(arguments) <= 2:
        print(__doc__, file=sys.stderr)
        return 2
    site = Site(arguments[0])
    faults = [*site.faults(), *(missing_names(site, Path(arguments[1]).resolve()) if len(arguments) == 2 else ())]
    links = sum(len(page.links) + len(page.loads) for page in site.pages.values())
    print("\n".join(faults) or f"{len(site.pages)} pages, {links} links: all lead somewhere")
    return 1 if faults or not site.pages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
