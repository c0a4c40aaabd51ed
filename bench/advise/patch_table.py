# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of docs/advise-patches.md from bench/results/advise_patches.json."""

from .table import MIB, ratio

MARGIN = 0.01  # a point
MOST_TIME, MOST_MEMORY = 1.03, 1.25
HEADERS = {
    "patches": "| program, size | patch | glibc | forecast | patch, on libashlar.so | within | patch, on glibc | within |\n"
    "|---|---|---:|---:|---:|---|---:|---|",
    "wrong": "| program | wrong plan | glibc | time by the empty plan | peak by the empty plan | time by glibc | peak by glibc |\n"
    "|---|---|---:|---:|---:|---:|---:|",
}


def within(forecast, patch):
    """Whether the effect of the patch lies in the interval of the forecast, widened by a point on either side."""
    low, high = forecast["interval"]
    return low - MARGIN <= patch["ratio"] <= high + MARGIN


def word(forecast, patch):
    low, _ = forecast["interval"]
    return "yes" if within(forecast, patch) else "no, gains more" if patch["ratio"] < low else "no, gains less"


def patch_row(name, pair):
    forecast, same, glibc = (pair[key]["cpu"] for key in ("forecast", "patched", "glibc"))
    milliseconds, peak = pair["glibc"]["glibc_cpu_ms"], pair["glibc"]["glibc_peak_bytes"] / MIB
    cells = [name, pair["patch"], f"{milliseconds:.0f} ms, {peak:.1f} MiB", ratio(forecast), ratio(same), word(forecast, same),
             ratio(glibc), word(forecast, glibc)]
    return f"| {' | '.join(cells)} |"


def wrong_row(name, program):
    rows = []
    for kind, found in program["plans"].items():
        empty, glibc = found["empty"], found["glibc"]
        cells = [program["heading"], kind, f"{glibc['glibc_cpu_ms']:.0f} ms, {glibc['glibc_peak_bytes'] / MIB:.1f} MiB",
                 *(ratio(by[what]) for by in (empty, glibc) for what in ("cpu", "peak"))]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


ROWS = {"patches": patch_row, "wrong": wrong_row}


def patches_text(found):
    lines = []
    for key, baseline in (("patched", "on libashlar.so"), ("glibc", "on glibc")):
        inside = sum(within(pair["forecast"]["cpu"], pair[key]["cpu"]) for pair in found.values())
        worse = sum(word(pair["forecast"]["cpu"], pair[key]["cpu"]) == "no, gains less" for pair in found.values())
        loses = sum(pair[key]["cpu"]["interval"][0] > 1 for pair in found.values())
        lines.append(f"{baseline} the effect of the patch lies within the forecast in {inside} of {len(found)} pairs, gains less "
                     f"in {worse}, and is a loss in {loses}")
    return f"{'; '.join(lines)}."


def wrong_text(found):
    plans = [plan for program in found.values() for plan in program["plans"].values()]
    lines = []
    for by, baseline in (("empty", "the empty plan"), ("glibc", "glibc")):
        time = sum(plan[by]["cpu"]["ratio"] <= MOST_TIME for plan in plans)
        memory = sum(plan[by]["peak"]["ratio"] <= MOST_MEMORY for plan in plans)
        longest, largest = (max(plan[by][what]["ratio"] for plan in plans) for what in ("cpu", "peak"))
        lines.append(f"By {baseline} {time} of {len(plans)} wrong plans take at most 3 % more time, {memory} at most 25 % more "
                     f"memory; the worst take {longest:.2f} of the time and {largest:.2f} of the memory.")
    return " ".join(lines)


TEXTS = {"patches": patches_text, "wrong": wrong_text}
HEADINGS = {"patches": "## Forecast and patch", "wrong": "## Wrong plans"}


def markdown(result):
    m = result["machine"]
    parts = [f"{m['cpu']}, {m['cores']} cores{', virtual' if m['virtual'] else ''}, {m['libc']}, {m['kernel']}; {result['pairs']} "
             "pairs of runs of each comparison."]
    for part, rows in ROWS.items():
        found = result[part]["found"]
        parts += [HEADINGS[part], f"{result[part]['date']}. {TEXTS[part](found)}"]
        parts.append("\n".join([HEADERS[part], *(rows(name, each) for name, each in found.items())]))
        parts += [f"Not measured: {name} ({reason})." for name, reason in result[part]["skipped"].items()]
    return "\n\n".join(parts)
