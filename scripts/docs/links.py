# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Links of a page of the repository as links of the site: to a page of the site, or to the file on the forge."""
import posixpath
import re

from lists import indented
from sources import WEB, target_of

# Code first, so that nothing in it is taken for a link.
PARTS = re.compile(r"^```[\s\S]*?^```$|(?:(?<=\n\n)|\A)(?: {4}.*\n|\n(?= {4}))+|`(?:[^`\n]|\n(?!\n))*`"
                   r"|(?P<text>!?\[(?:[^\[\]]|\[[^\]]*\])*\])\((?P<link>[^)\s]+)\)", re.MULTILINE)
CODE = re.compile(r"<a\b.*?</a>|<pre\b.*?</pre>|<h\d\b.*?</h\d>|<code>(?P<code>[^<\n]+)</code>", re.DOTALL)
FILE_NAME = re.compile(r"\[[\w/-]+\.md\]")
PLOT = re.compile(r'<img [^>]*src="(?P<source>[^"]+\.svg)"[^>]*>')
TYPE = re.compile(r"(?:ashlar::)?([a-z]\w*(?:::\w+)*)(?:&lt;.*)?$")


class Forge:
    """The address of files in the repository; without one, their names are text."""

    def __init__(self, address, reference):
        self.address = address.rstrip("/")
        self.reference = reference

    def address_of(self, root, path, anchor=""):
        kind = "tree" if (root / path).is_dir() else "blob"
        return f"{self.address}/{kind}/{self.reference}/{path}" + (f"#{anchor}" if anchor else "")


def named_by_title(sources, text, target):
    """The text of a link, which is the title of the page in place of the name of its file."""
    is_name = FILE_NAME.fullmatch(text) and target in sources.manual
    return f"[{sources.title(target)}]" if is_name else text


def for_site(sources, forge, path, text):
    """The text of the page at `path` of the repository with its links as the site needs them."""
    here = posixpath.dirname(sources.pages[path])

    def replaced(match):
        link = match.group("link")
        if link is None or WEB.match(link):
            return match.group()
        target, anchor = target_of(path, link)
        text_of_link = named_by_title(sources, match.group("text"), target)
        suffix = f"#{anchor}" if anchor else ""
        if target in sources.pages:
            place = posixpath.relpath(sources.pages[target], here or ".")
            return f"{text_of_link}({suffix if target == path and suffix else place + suffix})"
        if not (sources.root / target).exists():
            raise ValueError(f"{path} links to {link}, which does not exist")
        if target.startswith("docs/"):
            return f"{text_of_link}({posixpath.relpath(target.removeprefix('docs/'), here or '.')})"
        if forge.address:
            return f"{text_of_link}({forge.address_of(sources.root, target, anchor)})"
        return match.group("text").strip("[]")

    return PARTS.sub(replaced, indented(text))


def with_whole_plots(html):
    """A plot leads to itself, in its full size."""
    return PLOT.sub(r'<a href="\g<source>">\g<0></a>', html)


def with_names(html, place_of_name, address):
    """Code spans that name a public type, a header or a file link to its page. `place_of_name(name)` is the place, or
    None; `address(place)` its address seen from this page."""
    def replaced(match):
        code = match.group("code")
        place = place_of_name(code) if code else None
        return match.group() if place is None else f'<a href="{address(place)}">{match.group()}</a>'

    return CODE.sub(replaced, html)
