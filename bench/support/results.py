# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results in bench/results: a line for each peer, program or trial, so that a later result shows as a readable difference.

Of the runs they have the figures that tables and plots show; all others are in build/bench_runs, as the last run has left
them.
"""

import json
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "results"
LINE_CHARACTERS = 2400


def path_of(name):
    return FOLDER / f"{name}.json"


def load(name):
    """The result of a bench, with its runs; None if it has none."""
    if not path_of(name).exists():
        return None
    result = json.loads(path_of(name).read_text())
    for cell in result.get("cells", []):
        cell["runs"] = runs_of(**cell["runs"])
    return result


def keep(result, question=None):
    """Effects: replaces the result of a bench."""
    name = result["bench"]
    complete = FOLDER.parent.parent / "build" / "bench_runs" / f"{name}.json"
    complete.parent.mkdir(parents=True, exist_ok=True)
    complete.write_text(json.dumps(result))
    if question is not None:
        result = {**result, "cells": [{**cell, "runs": columns_of(cell, question)} for cell in result["cells"]]}
    FOLDER.mkdir(exist_ok=True)
    path_of(name).write_text(text_of(result, "\n") + "\n")
    print(f"\nwritten: bench/results/{name}.json")


def columns_of(cell, question):
    """Runs by figure: one value of those that all runs have alike, a list of those that they do not."""
    runs, shown = cell["runs"], question.figures_of(cell["group"])
    figures = {figure: [run[figure] for run in runs] for figure in runs[0] if figure in shown}
    same = {figure: values[0] for figure, values in figures.items() if values.count(values[0]) == len(runs)}
    return {"count": len(runs), "same": same, "each": {key: values for key, values in figures.items() if key not in same}}


def runs_of(count, same, each):
    return [{**same, **{figure: values[i] for figure, values in each.items()}} for i in range(count)]


def text_of(value, line_start):
    """JSON in which what fits is on one line."""
    text = json.dumps(value)
    if len(text) <= LINE_CHARACTERS or not isinstance(value, (dict, list)):
        return text
    inner = line_start + " "
    if isinstance(value, dict):
        return "{" + ",".join(f"{inner}{json.dumps(key)}: {text_of(item, inner)}" for key, item in value.items()) + line_start + "}"
    return "[" + ",".join(inner + text_of(item, inner) for item in value) + line_start + "]"
