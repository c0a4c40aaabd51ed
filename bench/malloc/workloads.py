# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs: commands of Debian packages, with inputs that are generated and the same on every machine."""

import dataclasses
import random
import subprocess

from support.sample_programs import PYTHON, QUERIES, SCRIPT, SOURCE, found

from . import scripts


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    heading: str
    wanted: tuple  # names of the command, the best first
    prepare: object  # folder -> None: writes the inputs
    arguments: object  # folder -> the command's arguments
    environment: dict = dataclasses.field(default_factory=dict)
    times: int = 1  # runs in one measurement, of which it is the mean
    others: tuple = ()  # commands that it starts

    def command(self, folder):
        return [found(*self.wanted), *self.arguments(folder)]

    def missing(self):
        """The reason why this machine cannot run it, or an empty text."""
        lacking = [names[0] for names in (self.wanted, *((other,) for other in self.others)) if not found(*names)]
        return f"{', '.join(lacking)} is not on this machine" if lacking else ""


def words_of(count, seed=7):
    """Words as a text has them: a few often, most seldom."""
    chosen = random.Random(seed)
    letters = "etaoinshrdlucmfwypvbgk"
    known = ["".join(chosen.choices(letters, k=chosen.randint(2, 11))) for _ in range(20000)]
    weights = [1 / rank for rank in range(1, len(known) + 1)]
    return chosen.choices(known, weights, k=count)


def text_of(count, width=11):
    words = words_of(count)
    return "".join(" ".join(words[at : at + width]) + "\n" for at in range(0, count, width))


def write_xml(folder):
    words = words_of(600_000)
    items = (
        f'<item id="{at}" kind="{words[at]}"><name>{words[at + 1]} {words[at + 2]}</name><tags>'
        + "".join(f"<tag>{word}</tag>" for word in words[at + 3 : at + 10])
        + "</tags></item>"
        for at in range(0, len(words), 10)
    )
    (folder / "input.xml").write_text("<all>" + "".join(items) + "</all>\n")


def commits(count, files):
    """A history for git fast-import: each commit replaces a fifth of the lines of one of the files."""
    chosen, words = random.Random(11), words_of(200_000)
    contents = [[" ".join(chosen.choices(words, k=9)) for _ in range(150)] for _ in range(files)]
    for number in range(count):
        file = number % files
        for line in chosen.sample(range(150), 30):
            contents[file][line] = " ".join(chosen.choices(words, k=9))
        text, message = "\n".join(contents[file]) + "\n", f"Change {number} of file {file}\n"
        yield f"commit refs/heads/main\ncommitter A <a@b> {1700000000 + number} +0000\ndata {len(message)}\n{message}"
        yield f"M 100644 inline file{file}.txt\ndata {len(text)}\n{text}\n"


GIT = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "HOME": "/nonexistent"}


def write_repository(folder):
    repository = folder / "repository"
    subprocess.run(["git", "init", "--quiet", "--bare", repository], check=True)
    history = "".join(commits(3000, 20))
    subprocess.run(["git", "-C", repository, "fast-import", "--quiet"], input=history, text=True, check=True)


def writes(name, text):
    """Writes one input; the text may be a function of none, since some take seconds to make."""
    return lambda folder: (folder / name).write_text(text() if callable(text) else text)


def writes_script(name, text, words):
    def write(folder):
        writes(name, text)(folder)
        writes("words.txt", lambda: text_of(words))(folder)

    return write


def nothing(folder):
    del folder


PROGRAMS = (
    Program("python3", "python3 parses and compiles modules, all objects on malloc", ("/usr/bin/python3", "python3"),
            writes("input.py", SCRIPT), lambda folder: [folder / "input.py"], PYTHON),
    Program("sqlite3", "sqlite3 fills and asks an indexed table in memory", ("sqlite3",),
            writes("input.sql", QUERIES), lambda folder: [":memory:", "-init", folder / "input.sql"]),
    Program("clang", "clang++ -O2 compiles 30 lines with regular expressions and maps", ("clang++-19", "clang++"),
            writes("input.cpp", SOURCE),
            lambda folder: ["-std=c++20", "-O2", "-c", "-o", folder / "object.o", folder / "input.cpp"]),
    Program("lua", "lua makes trees, tables and strings", ("lua5.4", "lua"),
            writes("input.lua", scripts.LUA), lambda folder: [folder / "input.lua"]),
    Program("perl", "perl counts, sorts and rewrites words", ("perl",),
            writes_script("input.pl", scripts.PERL, 300_000), lambda folder: [folder / "input.pl", folder / "words.txt"],
            {"PERL_HASH_SEED": "0"}),
    Program("node", "node makes objects, strings and JSON", ("node",),
            writes("input.js", scripts.NODE), lambda folder: [folder / "input.js"]),
    Program("git", "git log -p of 3,000 commits", ("git",), write_repository,
            lambda folder: ["--no-pager", "-C", folder / "repository", "log", "-p", "--no-color", "main"], GIT),
    Program("shell", "bash starts mawk and sort 150 times", ("bash",), writes_script("input.sh", scripts.SHELL, 3_000),
            lambda folder: [folder / "input.sh", folder / "words.txt"], others=("mawk", "sort")),
    Program("xz", "xz -T2 compresses 8 MB of text", ("xz",), writes("input.txt", lambda: text_of(1_100_000)),
            lambda folder: ["-T2", "-1", "--block-size=2MiB", "--stdout", folder / "input.txt"]),
    Program("gawk", "gawk counts and joins words in arrays", ("gawk",),
            writes_script("input.awk", scripts.GAWK, 400_000),
            lambda folder: ["-f", folder / "input.awk", folder / "words.txt"]),
    Program("xmllint", "xmllint reads and formats an XML file of 12 MB", ("xmllint",), write_xml,
            lambda folder: ["--format", folder / "input.xml"]),
)

# Threads, swings and peaks, for bench/memory/held.
MORE = (
    Program("repack", "git repack with two threads", ("git",), write_repository,
            lambda folder: ["-C", folder / "repository", "-c", "pack.threads=2", "repack", "-adfq", "--window=50"], GIT),
    Program("ruby", "five threads of ruby make and read JSON", ("ruby",), writes("input.rb", scripts.RUBY),
            lambda folder: [folder / "input.rb"]),
    Program("python_threads", "sixteen threads of python3 make and read JSON", ("/usr/bin/python3", "python3"),
            writes("input.py", scripts.PYTHON_THREADS), lambda folder: [folder / "input.py"], PYTHON),
    Program("java", "24 threads of java fill and compress buffers", ("java",), writes("Main.java", scripts.JAVA),
            lambda folder: ["-Xms64m", "-Xmx64m", "-XX:MaxDirectMemorySize=64m", folder / "Main.java"]),
    Program("gcc", "g++ -O2 compiles what clang++ does", ("g++",), writes("input.cpp", SOURCE),
            lambda folder: ["-std=c++20", "-O2", "-c", "-o", folder / "object.o", folder / "input.cpp"]),
    Program("gs", "ghostscript writes twelve pages as PDF", ("gs",), writes("input.ps", scripts.POSTSCRIPT),
            lambda folder: ["-q", "-sDEVICE=pdfwrite", "-o", "/dev/null", folder / "input.ps"]),
    Program("z3", "z3 proves a law of nine bits", ("z3",), writes("input.smt2", scripts.SMT),
            lambda folder: [folder / "input.smt2"]),
    Program("cmake", "cmake edits lists and strings", ("cmake",), writes("input.cmake", scripts.CMAKE),
            lambda folder: ["-P", folder / "input.cmake"]),
    Program("soffice", "LibreOffice makes a PDF of a table", ("soffice",),
            writes("input.csv", lambda: "\n".join(",".join(words_of(8, seed)) for seed in range(2000))),
            lambda folder: [f"-env:UserInstallation=file://{folder}/profile", "--headless", "--convert-to", "pdf",
                            "--outdir", folder, folder / "input.csv"]),
    Program("mpv", "mpv plays made-up pictures", ("mpv",), nothing,
            lambda folder: ["--no-config", "--really-quiet", "--vo=null", "--ao=null", "--untimed",
                            "av://lavfi:testsrc2=duration=4:size=1280x720"]),
)

START = Program("start", "/bin/true: start and end of a process", ("/bin/true",), nothing, lambda folder: [], {}, 200)
