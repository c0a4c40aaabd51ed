# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What mkdocs calls while it builds the site: the navigation, the pages that are not in docs/, and the links."""
import os
import posixpath
import re
import sys
from pathlib import Path

from mkdocs.structure.files import File
from mkdocs.utils import get_relative_url

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).resolve().parent))

from comments import fenced  # noqa: E402  (the path is set just above)
from declarations import read_headers  # noqa: E402
from links import TYPE, Forge, for_site, with_names, with_whole_plots  # noqa: E402
from reference import included_in, list_of, names_in, opening_of, page_of  # noqa: E402
from sources import Sources  # noqa: E402

HEADER = re.compile(r"(?:&lt;ashlar/)?([a-z_]+/\w+\.hpp)(?:&gt;)?$")
ROOM = re.compile(r"^\| \d \| `(\w+)/` \| (.*?) \|", re.MULTILINE)
STYLE = "assets/site.css"
MENTION = re.compile(r"(?<![\w/`])docs/[\w/-]+\.md")
# The manual is what a search finds first.
LESS_SOUGHT = {"examples/": 0.3, "project/": 0.3, "benchmarks/": 0.5, "internals/": 0.7}


class Site:
    """The pages of one build. Each has its text, and the path of the file that it is made from."""

    def __init__(self, config):
        self.declared = read_headers(ROOT)
        self.sources = Sources(ROOT, self.declared)
        self.forge = Forge(config.repo_url or "", config.extra["forge_ref"])
        self.headers = {header: self.sources.text(f"include/ashlar/{header}") for header in self.declared}
        self.programs = {path: self.sources.text(path) for path in self.sources.examples}
        self.names = {}
        for header, declarations in self.declared.items():
            self.names |= names_in(header, declarations)
        self.origins = {place: path for path, place in self.sources.pages.items()}

    def generated(self):
        """{place: text} of the pages that are not in docs/."""
        pages = {place: self.sources.text(path) for path, place in self.sources.pages.items()
                 if path in self.sources.manual and (not path.startswith("docs/") or place == "contents.md")}
        rooms = dict(ROOM.findall(self.sources.text("include/ashlar/README.md")))
        pages["api/index.md"] = list_of(list(self.declared), self.headers, rooms)
        pages["examples/index.md"] = self.list_of_examples()
        for header, declarations in self.declared.items():
            pages[f"api/{header.removesuffix('.hpp')}.md"] = self.page_of_header(header, declarations)
        for path, text in self.programs.items():
            pages[self.sources.pages[path]] = self.page_of_example(path, text)
        return pages

    def page_of_header(self, header, declarations):
        described = self.sources.described_types()
        manual = dict.fromkeys(described[name] for name in (f"{each.identifier}" for each in declarations)
                               if name in described)
        programs = [path for path, text in self.programs.items() if header in included_in(text)]
        text = page_of(header, declarations, self.headers[header],
                       [(self.sources.title(path), self.sources.pages[path]) for path in manual],
                       [(Path(path).stem, self.sources.pages[path]) for path in programs])
        return MENTION.sub(lambda match: self.link_to(match.group(), f"api/{header}"), text)

    def link_to(self, path, place):
        """A link to the page of `path`, on the page at `place`."""
        target = posixpath.relpath(self.sources.pages[path], posixpath.dirname(place))
        return f"[{self.sources.title(path)}]({target})"

    def page_of_example(self, path, text):
        uses = ", ".join(f"`{header}`" for header in included_in(text))
        return (f"# {Path(path).stem}\n\n{opening_of(text)}\n\nUses {uses}. The tests build and run this file, "
                f"`{path}`.\n\n{fenced(text.split(chr(10), 1)[1].rstrip(), 'cpp')}\n")

    def list_of_examples(self):
        rows = "".join(f"| [{Path(path).stem}]({Path(path).stem}.md) | {opening_of(text)} |\n"
                       for path, text in self.programs.items())
        return f"# Examples\n\nWhole programs; the tests build and run each.\n\n| program | |\n|---|---|\n{rows}"

    def place_of_name(self, code):
        """The place that a code span on a page names, if it does."""
        header = HEADER.match(code)
        if header and header.group(1) in self.declared:
            return f"api/{header.group(1).removesuffix('.hpp')}.md"
        if code in self.sources.pages:
            return self.sources.pages[code]
        name = TYPE.match(code)
        return self.names.get(name.group(1)) if name else None


site = None


def on_config(config):
    global site  # mkdocs calls functions, not objects
    site = Site(config)
    config.nav = site.sources.navigation()
    if "MIKE_DOCS_VERSION" not in os.environ:
        del config.extra["version"]  # a build that is not published has no other versions beside it
    return config


def on_files(files, config):
    # In docs/, README.md is the list of the pages; the home page is that of the repository.
    files.remove(files.get_file_from_path("README.md"))
    for place, text in site.generated().items():
        files.append(File.generated(config, place, content=text))
    files.append(File.generated(config, STYLE, abs_src_path=str(ROOT / "scripts/docs/site.css")))
    return files


def on_page_markdown(text, page, config, files):
    folder = page.file.src_uri.split("/")[0] + "/"
    if folder in LESS_SOUGHT:
        page.meta["search"] = {"boost": LESS_SOUGHT[folder]}
    path = site.origins.get(page.file.src_uri)
    return for_site(site.sources, site.forge, path, text) if path in site.sources.manual else text


def on_page_content(html, page, config, files):
    def address(place):
        place, _, anchor = place.partition("#")
        target = get_relative_url(files.get_file_from_path(place).url, page.url) if place != page.file.src_uri else ""
        return f"{target}#{anchor}" if anchor else target or "#"

    def place_of_name(code):
        place = site.place_of_name(code)
        return None if place == page.file.src_uri else place

    return with_whole_plots(with_names(html, place_of_name, address))


def on_page_context(context, page, config, nav):
    path = site.origins.get(page.file.src_uri)
    page.edit_url = site.forge.address_of(ROOT, path) if path and site.forge.address else None
    return context
