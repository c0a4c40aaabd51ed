# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of Debian 12 that no rule or threshold was chosen by: each measurement draws some of them."""

import random

from . import held_out_inputs as made
from . import inputs
from .cases import Case, writes


def writes_all(**makers):
    """makers: of a file each, `name_suffix`, from the seed; or its text."""

    def write(folder, seed):
        for name, make in makers.items():
            (folder / name.replace("_", ".")).write_text(make if isinstance(make, str) else make(seed))

    return write


def two_texts(folder, seed):
    for name, text in zip("ab", made.changed(seed, 30_000)):
        (folder / name).write_text(text)


def one(name, heading, file, arguments, make, size, wanted="", package="", **more):
    """A case with one input of a size. arguments: `{}` stands for the file, `{folder}` for its folder. Without others, the
    program and its package have the name of the case."""

    def words(folder):
        return [word.format(folder / file, folder=folder) for word in arguments.split()]

    write = writes(file, lambda seed: make(seed, size))
    return Case(name, heading, (wanted or name,), write, words, package=package or name, **more)


def interpreted(name, heading, suffix, text, count, *options, wanted="", package="", **more):
    """A script that reads so many words. All interpreters of these have an allocator of their own."""
    files = writes_all(**{f"script_{suffix}": text, "words_txt": lambda seed: inputs.text(seed, count)})

    def arguments(folder):
        return [*options, folder / f"script.{suffix}", folder / "words.txt"]

    return Case(name, heading, (wanted or name,), files, arguments, package=package or name, own_allocator=True, **more)


PYTHON = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
HELD_OUT = (
    one("dot", "dot lays out 130 nodes", "input.dot", "-Tplain {}", made.graph, 130, package="graphviz"),
    one("ninja", "ninja -n reads 9,000 edges", "build.ninja", "-n --quiet -C {folder}", made.manifest, 9000, package="ninja-build"),
    one("protoc", "protoc on 900 messages", "input.proto", "--proto_path={folder} --descriptor_set_out={folder}/out {}",
        made.messages, 900, package="protobuf-compiler"),
    one("rsvg", "rsvg-convert draws 600 shapes", "input.svg", "{}", made.drawing, 600, "rsvg-convert", "librsvg2-bin"),
    one("tidy", "tidy on 2,000 sections", "input.html", "-q --show-warnings no {}", made.html, 2000),
    one("bison", "bison on 120 rules", "input.y", "-Wnone -o {folder}/out.c {}", made.grammar, 120),
    one("ctags", "ctags on 3,000 functions", "input.cpp", "-f - {}", inputs.c_source, 3000, package="universal-ctags"),
    one("pdftotext", "pdftotext -bbox of 60 pages", "input.pdf", "-bbox {} -", made.pdf, 60, package="poppler-utils"),
    interpreted("php", "php counts words in arrays", "php", made.PHP, 120_000, package="php-cli"),
    one("astyle", "astyle on 800 functions", "input.cpp", "--stdin={}", inputs.c_source, 800),
    one("z3", "z3 solves 40 linear problems", "input.smt2", "{}", made.constraints, 40),
    one("swig", "swig wraps 4 classes", "input.i", "-c++ -python -outdir {folder} -o {folder}/o {}", made.classes, 4),
    one("bcftools", "bcftools sorts 15,000 variants", "input.vcf", "sort -o {folder}/o -T {folder}/t {}", made.variants, 15_000),
    one("minisat", "minisat on 15,000 variables", "input.cnf", "-verb=0 {}", made.clauses, 15_000),
    Case("gs", "gs counts words in a dictionary", ("gs",),
         writes_all(script_ps=made.POSTSCRIPT, words_txt=lambda seed: inputs.text(seed, 40_000)),
         lambda folder: ["-q", "-dNODISPLAY", "-dNOSAFER", f"-sWORDS={folder}/words.txt", folder / "script.ps"],
         package="ghostscript", own_allocator=True),
    one("pandoc", "pandoc on 100 sections", "input.md", "-f markdown -t html {}", made.markdown, 100, own_allocator=True),
    interpreted("racket", "racket keeps lines in a table", "rkt", made.RACKET, 30_000, "-I", "", "-u"),
    interpreted("tcl", "tclsh keeps words in dicts", "tcl", made.TCL, 30_000, wanted="tclsh"),
    interpreted("ruby", "ruby keeps words in a hash", "rb", made.RUBY, 60_000),
    interpreted("python", "python3 makes dicts and JSON", "py", made.PYTHON, 40_000, wanted="/usr/bin/python3", package="python3",
                environment=PYTHON),
    interpreted("node", "node makes a map and JSON", "js", made.NODE, 60_000, package="nodejs"),
    one("qpdf", "qpdf rewrites 400 pages", "input.pdf", "--static-id --qdf {} -", made.pdf, 400),
    Case("xsltproc", "xsltproc sorts 8,000 items", ("xsltproc",),
         writes_all(style_xsl=made.STYLESHEET, input_xml=lambda seed: inputs.xml(seed, 8000)),
         lambda folder: [folder / "style.xsl", folder / "input.xml"], package="xsltproc"),
    one("flex", "flex on 1,500 patterns", "input.l", "-o {folder}/out.c {}", made.lexer, 4000),
    one("m4", "m4 expands 5,000 macros", "input.m4", "{}", made.definitions, 5000),
    one("bc", "bc with 400 digits", "input.bc", "-q {}", made.sums, 400),
    one("troff", "troff sets 1,500 paragraphs", "input.1", "-Tutf8 -man {}", made.roff, 1500, package="groff"),
    one("gnuplot", "gnuplot fits and draws 5,000 points", "input.plt", "{}", made.plot, 5000, package="gnuplot-nox"),
    one("cmake", "cmake -P with lists", "input.cmake", "-P {}", made.lists, 500),
    one("osmium", "osmium converts 20,000 nodes", "input.osm", "cat -f opl {}", made.map_data, 20_000, package="osmium-tool"),
    one("w3m", "w3m -dump of 1,000 sections", "input.html", "-dump {}", made.html, 1000, own_allocator=True),
    one("hunspell", "hunspell -l on 13,000 words", "input.txt", "-d en_US -l {}", inputs.text, 13_000,
        package="hunspell hunspell-en-us"),
    one("ledger", "ledger balances 600 entries", "input.dat", "-f {} bal", made.journal, 600),
    one("uncrustify", "uncrustify on 150 functions", "input.cpp", "-q -c - -f {}", inputs.c_source, 150),
    one("clang_format", "clang-format on 100 functions", "input.cpp", "{}", inputs.c_source, 100, "clang-format-19",
        "clang-format-19"),
    one("re2c", "re2c on 1,500 patterns", "input.re", "-W -o {folder}/o {}", made.scanner, 4000),
    one("nasm", "nasm assembles 12,000 lines", "input.asm", "-f elf64 -o {folder}/o {}", made.assembly, 4000),
    one("as", "as assembles 70,000 lines", "input.s", "-o {folder}/o {}", made.gnu_assembly, 14_000, package="binutils"),
    one("samtools", "samtools sorts 60,000 reads", "input.sam", "sort -O sam -T {folder}/t {}", made.reads, 60_000),
    one("gringo", "gringo grounds 2,000 facts", "input.lp", "{}", made.logic, 2000),
    one("yosys", "yosys reads 300 gates", "input.v", "-q -f verilog -p proc {}", made.circuit, 300),
    one("mandoc", "mandoc on 5,000 paragraphs", "input.1", "-T html {}", made.roff, 5000),
    one("ragel", "ragel on 700 words", "input.rl", "-o {folder}/o {}", made.states, 1500),
    one("cadical", "cadical on 20,000 variables", "input.cnf", "-q -n {}", made.clauses, 20_000),
    one("source_highlight", "source-highlight on 60 functions", "input.cpp", "-s cpp -f html -i {} -o STDOUT", inputs.c_source, 60,
        "source-highlight", "source-highlight"),
    one("lynx", "lynx -dump of 1,000 sections", "input.html", "-dump {}", made.html, 1000),
    one("xmlstarlet", "xmlstarlet selects of 10,000 items", "input.xml", "sel -t -m //item[tags/tag[2]] -v name -n {}",
        inputs.xml, 10_000),
    Case("git", "git compares two texts", ("git",), two_texts,
         lambda folder: ["diff", "--no-index", "--histogram", "--no-color", folder / "a", folder / "b"],
         package="git", environment={"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}),
    interpreted("guile", "guile keeps words in a table", "scm", made.GUILE, 30_000, "--no-auto-compile", "-s", package="guile-3.0"),
)


def drawn(seed, count, candidates=HELD_OUT):
    """Returns: so many programs that this machine has, in the order of the seed, and those before them that it lacks."""
    order = list(candidates)
    random.Random(seed).shuffle(order)
    chosen, lacking = [], []
    for case in order:
        if len(chosen) == count:
            break
        (lacking if case.missing() else chosen).append(case)
    return chosen, lacking
