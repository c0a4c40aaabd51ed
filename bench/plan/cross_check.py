#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans small random problems with `ashlar plan --effort exact` and with OR-Tools CP-SAT, and compares the optima.

CP-SAT is one no-overlap constraint over rectangles whose place in time is fixed, and shares nothing with the planner.
It is from PyPI: python3 -m venv VENV && VENV/bin/pip install ortools && VENV/bin/python bench/plan/cross_check.py ...
"""

import argparse
import pathlib
import random
import re
import subprocess
import sys
import tempfile

try:
    from ortools.sat.python import cp_model
except ImportError:
    cp_model = None


def random_buffers(source, most, aligned):
    """Returns (birth, death, size, alignment) tuples: half of them with few sizes, so that optima above the load come up."""
    moments, sizes = source.choice([(6, 9), (12, 30), (20, 200)])
    buffers = []
    for _ in range(source.randint(4, most)):
        birth = source.randrange(moments)
        alignment = source.choice([1, 2, 4, 16]) if aligned else 1
        buffers.append((birth, source.randint(birth + 1, moments), source.randint(1, sizes), alignment))
    return buffers


def load(buffers):
    return max(sum(s for b, d, s, _ in buffers if b <= t < d) for t in range(max(d for _, d, _, _ in buffers)))


def optimum_by_cp_sat(buffers):
    model = cp_model.CpModel()
    most = sum(size + alignment for _, _, size, alignment in buffers)
    height = model.NewIntVar(load(buffers), most, "height")
    across, up = [], []
    for i, (birth, death, size, alignment) in enumerate(buffers):
        step = model.NewIntVar(0, most // alignment, f"step{i}")
        across.append(model.NewFixedSizeIntervalVar(birth, death - birth, f"life{i}"))
        up.append(model.NewFixedSizeIntervalVar(step * alignment, size, f"bytes{i}"))
        model.Add(step * alignment + size <= height)
    model.AddNoOverlap2D(across, up)
    model.Minimize(height)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = 60
    return int(solver.ObjectiveValue()) if solver.Solve(model) == cp_model.OPTIMAL else None


def optimum_by_ashlar(command, buffers, folder):
    path = folder / "problem.csv"
    rows = [f"{i},{b},{d},{s},{a}" for i, (b, d, s, a) in enumerate(buffers)]
    path.write_text("\n".join(["id,lower,upper,size,alignment", *rows, ""]))
    said = subprocess.run([command, "plan", str(path), "--effort", "exact", "--quiet", "--time", "60"],
                          capture_output=True, text=True, check=True).stdout
    found = re.match(r"(\w+), height (\d+), lower bound (\d+)", said)
    return int(found[2]) if found[1] == "optimal" else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("ashlar", help="the command")
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument("--most", type=int, default=14, help="buffers in a problem")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if cp_model is None:
        print("skipped: there is no OR-Tools here (pip install ortools)")
        return 0
    source = random.Random(arguments.seed)
    above, undecided, wrong = 0, 0, 0
    with tempfile.TemporaryDirectory() as name:
        for k in range(arguments.problems):
            buffers = random_buffers(source, arguments.most, k % 2 == 1)
            ours, theirs = optimum_by_ashlar(arguments.ashlar, buffers, pathlib.Path(name)), optimum_by_cp_sat(buffers)
            undecided += ours is None or theirs is None
            above += theirs is not None and theirs > load(buffers)
            if ours is not None and theirs is not None and ours != theirs:
                wrong += 1
                print(f"problem {k}: ashlar {ours}, CP-SAT {theirs}: {buffers}")
    print(f"{arguments.problems} problems, {above} with an optimum above the load, {undecided} undecided in 60 s, "
          f"{wrong} different")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
