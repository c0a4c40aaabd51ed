#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types words into the search of a built site, in chromium, and checks the results that a reader sees.

usage: search.py <folder of the site>

Each query of QUERIES shows its page among the first results, in the window and with the words marked; a word of no page
shows none; no script of the page fails. Then the same with the index of another site: the check must find faults
there. Status 77: there is no chromium.
"""
import functools
import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

# The words of a reader, and a page that is among the results.
QUERIES = {"free list": "internals/heap/", "thread_cached": "threads/", "huge pages": "upstreams/", "xyzzyplugh": None}
DEADLINE_S = 300  # of a browser on a loaded machine
INDEX = "/search/search_index.json"

# Runs in the page. The field is cleared after each query, so that old results do not count for the next one.
TYPIST = """
<script>{
  const faults = [], seen = {};
  window.addEventListener("error", (e) => faults.push(e.message));
  const one = (selector) => document.querySelector(selector);
  const until = async (met) => { while (!met()) await new Promise((done) => setTimeout(done, 20)); };
  const state = () => one(".md-search-result__meta")?.textContent.trim() ?? "";
  const type = (text) => {
    const field = one(".md-search__input");
    field.focus();
    field.value = text;
    for (const name of ["input", "keyup"]) field.dispatchEvent(new Event(name, { bubbles: true }));
  };
  const look = async () => {
    await until(() => state().startsWith("Type"));
    for (const query of %s) {
      type(query);
      await until(() => state().includes("matching"));
      const links = [...document.querySelectorAll(".md-search-result__item > .md-search-result__link")];
      seen[query] = links.map((link) => ({
        page: new URL(link.href).pathname, text: link.innerText, marks: link.querySelectorAll("mark").length,
        height: link.getBoundingClientRect().height }));
      type("");
      await until(() => state().startsWith("Type"));
    }
  };
  window.addEventListener("load", () => look().catch((e) => faults.push(String(e))).then(
    () => fetch("/seen", { method: "POST", body: JSON.stringify({ faults, seen }) })));
}</script>
"""


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the site, its first page with the typist in it, and takes what that has seen."""

    def do_GET(self):
        if self.path == "/":
            self.answer("text/html", self.server.first_page)
        elif self.path == INDEX and self.server.index is not None:
            self.answer("application/json", self.server.index)
        else:
            super().do_GET()

    def do_POST(self):
        self.server.report = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer("text/plain", b"")
        self.server.is_done.set()

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def served(site, index):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(site)))
    page = (site / "index.html").read_text(encoding="utf-8")
    at = page.rindex("</body>")
    server.first_page = (page[:at] + TYPIST % json.dumps(list(QUERIES)) + page[at:]).encode()
    server.index = None if index is None else json.dumps(index).encode()
    server.report, server.is_done = None, threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def look(browser, site, index=None):
    """Returns: what the typist has seen; None if nothing came within the deadline, or the browser ended."""
    server = served(site, index)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        with open(Path(profile) / "log", "w+", encoding="utf-8", errors="replace") as log:
            child = subprocess.Popen(
                [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
                 "--disable-background-networking", "--window-size=1200,900", f"--user-data-dir={profile}/data",
                 f"http://127.0.0.1:{server.server_address[1]}/"],
                stdout=log, stderr=log, start_new_session=True)
            try:
                deadline = time.monotonic() + DEADLINE_S
                while not server.is_done.wait(1) and child.poll() is None and time.monotonic() < deadline:
                    pass
            finally:
                if child.poll() is None:
                    os.killpg(child.pid, signal.SIGKILL)
                child.wait()
            if server.report is None:
                log.seek(0)
                print(log.read()[-2000:], file=sys.stderr)
    server.shutdown()
    server.server_close()
    return server.report


def other_index(site):
    """Returns: the index of a site of one page, which has none of the words."""
    index = json.loads((site / INDEX.strip("/")).read_text(encoding="utf-8"))
    return index | {"docs": [index["docs"][0] | {"location": "", "title": "Another site", "text": "without those"}]}


def faults_of(report, site):
    if report is None:
        yield "the browser has not answered"
        return
    yield from (f"a script fails: {fault}" for fault in report["faults"])
    for query, page in QUERIES.items():
        found = report["seen"].get(query)
        if found is None:
            yield f"'{query}' was not answered"
        elif page is None:
            yield from (f"'{query}' finds {each['page']}" for each in found)
        elif f"/{page}" not in [each["page"] for each in found]:
            yield f"'{query}' does not find /{page}, but {[each['page'] for each in found]}"
        else:
            yield from (f"'{query}' shows {fault}" for each in found for fault in faults_of_result(each, site))
            if not any(each["marks"] for each in found):
                yield f"'{query}' marks no word"


def faults_of_result(result, site):
    if not (site / result["page"].strip("/") / "index.html").is_file():
        yield f"{result['page']}, which is not there"
    if not result["text"].strip() or result["height"] < 10:
        yield f"{result['page']} without text"


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    site = Path(arguments[0]).resolve()
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None or not (site / "index.html").is_file():
        print(f"skipped: there is no {'chromium' if browser is None else f'site in {site}'}")
        return 77
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the browser ends with this program
    report = look(browser, site)
    faults = list(faults_of(report, site))
    other = None if faults else look(browser, site, other_index(site))
    if not faults and other is None:
        faults = ["the browser gives no results for the index of another site"]
    elif not faults and not list(faults_of(other, site)):
        faults = ["the index of another site has the same results"]
    print("\n".join(faults) or "\n".join(f"'{query}': {len(found)} results, first {found[0]['page'] if found else '-'}"
                                         for query, found in report["seen"].items()))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
