#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""readers.py <command> <program> [<folder>]: viewers open what `ashlar export` writes of the program, and count what
`ashlar report` counts. heaptrack_print and valgrind's dh_view are the system's. With a folder, pprof, speedscope, DuckDB,
pyarrow and Perfetto's messages are installed there, by go, npm and pip, unless they are there; without, they are left out."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

COMMAND, PROGRAM = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
FOLDER = pathlib.Path(sys.argv[3]).resolve() if len(sys.argv) > 3 else None


def output(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True, **options).stdout


def export(form, trace="a.trace"):
    file = f"{trace}.{form}"
    output(COMMAND, "export", trace, "--format", form, "-o", file)
    return file


def expect(reader, found, wanted):
    if found != wanted:
        sys.exit(f"{reader} finds {found}, not {wanted}")


def heaptrack(sums):
    text = output("heaptrack_print", "--print-peaks", "0", export("heaptrack"))
    calls = re.search(r"calls to allocation functions: (\d+)", text).group(1)
    leaked = re.search(r"total memory leaked: ([\d.]+)([KMG]?)", text)
    factor = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9}[leaked.group(2)]
    expect("heaptrack_print", int(calls), sums["alloc_objects"])
    expect("heaptrack_print", abs(float(leaked.group(1)) * factor - sums["inuse_space"]) <= 0.01 * factor, True)


DH_VIEW_PAGE = pathlib.Path("/usr/libexec/valgrind/dh_view.js")
# The page builds its tree from the file; the elements that it shows that in are empty here.
DH_VIEW = """
gData = JSON.parse(%s);
gSelect = {childNodes: gSelectData.map(() => ({})), selectedIndex: 0};
buildTree();
console.log(JSON.stringify({alloc_objects: gRoot._totalBlocks, alloc_space: gRoot._totalBytes,
  peak_objects: gRoot._atTGmaxBlocks, peak_space: gRoot._atTGmaxBytes,
  inuse_objects: gRoot._atTEndBlocks, inuse_space: gRoot._atTEndBytes}));
"""


def dh_view(sums):
    engine = shutil.which("node") or shutil.which("qjs")
    page = DH_VIEW_PAGE.read_text()
    text = json.dumps(pathlib.Path(export("dhat")).read_text())
    pathlib.Path("page.js").write_text("const document = {};\n" + page + DH_VIEW % text)
    expect("dh_view", json.loads(output(engine, "page.js")), sums)


def pprof(sums):
    tool = FOLDER / "pprof"
    if not tool.exists():
        output("go", "install", "github.com/google/pprof@latest", env={**os.environ, "GOBIN": str(FOLDER)})
    file = export("pprof")
    raw = output(tool, "-raw", file)
    names = [name.split("/")[0] for name in re.search(r"Samples:\n(.*)\n", raw).group(1).split()]
    samples = [line.split(":")[0].split() for line in raw.split("Samples:\n")[1].split("Locations")[0].splitlines()[1:]]
    found = dict(zip(names, (sum(int(row[i]) for row in samples) for i in range(len(names)))))
    expect("pprof", {name: found[name] for name in sums}, sums)
    expect("pprof", "Type: peak_space" in output(tool, "-top", file), True)
    expect("pprof", re.search(r"M=1 main .*three_sites.cpp:\d+", raw) is not None, True)
    expect("pprof -list", "three_sites.cpp" in output(tool, "-list", "^main$", file), True)
    same = output(tool, "-sample_index=alloc_objects", "-top", "-diff_base", file, export("pprof", "b.trace"))
    expect("pprof -diff_base", " accounting for 0, 0% " in same, True)


def speedscope(sums):
    import jsonschema

    if not (FOLDER / "node_modules/speedscope").exists():
        output("npm", "install", "--silent", "--no-save", "--prefix", FOLDER, "speedscope")
    schema = json.loads((FOLDER / "node_modules/speedscope/dist/release/file-format-schema.json").read_text())
    profile = json.loads(pathlib.Path(export("speedscope")).read_text())
    jsonschema.validate(profile, schema)
    found = {each["name"]: sum(each["weights"]) for each in profile["profiles"]}
    expect("speedscope", {name: found[name] for name in sums}, sums)


TABLES = """
import duckdb, json, pyarrow.parquet, sys
parquet, csv, jsonl = sys.argv[1:]
rows = [tuple(row.values()) for row in pyarrow.parquet.read_table(parquet).to_pylist()]
for table in (f"'{parquet}'", f"read_csv('{csv}')", f"read_json('{jsonl}')"):
    assert duckdb.sql("select * from " + table).fetchall() == rows, table
sums = ", ".join(f"sum({name})" for name in json.loads(sys.stdin.read()))
print([int(sum) for sum in duckdb.sql(f"select {sums} from '{parquet}'").fetchall()[0]])
"""


def tables(sums):
    python = FOLDER / "venv/bin/python"
    if not python.exists():
        output(sys.executable, "-m", "venv", FOLDER / "venv")
        output(python, "-m", "pip", "install", "--quiet", "duckdb", "pyarrow", "perfetto")
    files = [export(form) for form in ("parquet", "csv", "jsonl")]
    found = output(python, "-c", TABLES, *files, input=json.dumps(list(sums)))
    expect("duckdb", dict(zip(sums, json.loads(found))), sums)


PACKETS = """
import json, sys
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
trace = Trace.FromString(open(sys.argv[1], "rb").read())
tracks = {p.track_descriptor.uuid: p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")}
events = [p.track_event for p in trace.packet if p.HasField("track_event")]
assert all(event.track_uuid in tracks for event in events)
values = [e.counter_value for e in events if tracks[e.track_uuid].name == "live bytes"]
print(json.dumps([max(values), values[-1]]))
"""


def perfetto(sums):
    python = FOLDER / "venv/bin/python"
    found = json.loads(output(python, "-c", PACKETS, export("perfetto")))
    expect("perfetto", found, [sums["peak_space"], sums["inuse_space"]])


def figures(report):
    names = {"alloc": "allocated", "peak": "peak", "inuse": "never_freed"}
    units = {"objects": "objects", "space": "bytes"}
    return {f"{name}_{unit}": report[names[name]][units[unit]] for name in names for unit in units}


def main():
    for name in "ab":
        output(COMMAND, "record", "-q", "--stacks", "16", "-o", f"{name}.trace", "--", PROGRAM)
    output(COMMAND, "report", "a.trace", "--json", "a.json")
    sums = figures(json.loads(pathlib.Path("a.json").read_text()))
    readers = [heaptrack]
    if DH_VIEW_PAGE.exists() and (shutil.which("node") or shutil.which("qjs")):
        readers.append(dh_view)
    if FOLDER is not None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        readers += [pprof, speedscope, tables, perfetto]
    for reader in readers:
        reader(sums)
        print(f"{reader.__name__}: as the report counts")


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    main()
