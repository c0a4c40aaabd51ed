# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of costs in docs/advise.md from bench/results/advise_cost.json."""

import statistics

MIB = 1 << 20
HEADER = (
    "| trace of | events | live blocks | processor time (least to most) | for a million events | memory |\n"
    "|---|---:|---:|---:|---:|---:|"
)


def row(program):
    events, seconds = program["events"], program["seconds"]
    typical = statistics.median(seconds)
    cells = [program["heading"], f"{events / 1e6:.2f} M", f"{program['live_objects']:,}",
             f"{typical:.2f} s ({min(seconds):.2f} to {max(seconds):.2f})", f"{typical / events * 1e6:.2f} s",
             f"{program['peak_bytes'] / MIB:.0f} MiB"]
    return f"| {' | '.join(cells)} |"


def markdown(result):
    m = result["machine"]
    return "\n\n".join([
        f"{result['date']}, {m['cpu']}, {m['cores']} cores{', virtual' if m['virtual'] else ''}; the median of {result['runs']} runs.",
        "\n".join([HEADER, *(row(program) for program in result["programs"].values())]),
        *(f"Not measured: {name} ({reason})." for name, reason in result["skipped"].items()),
    ])
