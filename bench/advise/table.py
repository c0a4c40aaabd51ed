# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of docs/advise-programs.md from bench/results/advise_programs.json."""

import math
import statistics

MIB = 1 << 20
COLUMNS = ("empty plan", "libashlar.so", "best other", "plan")
HEADER = (
    "| program | glibc | empty plan | libashlar.so | best other malloc | plan of routes | peak of the plan | advice on the first input |\n"
    "|---|---:|---:|---:|---:|---:|---:|---|"
)
FORECAST_HEADER = "| program | remedy | predicted | verified | agree |\n|---|---|---:|---:|---|"


def ratio(effect):
    low, high = effect["interval"]
    return f"{effect['ratio']:.2f} [{low:.2f}, {high:.2f}]"


def said(advice):
    """The winner and its gain, or why there is none, with the rounds behind it."""
    rounds = f"{advice['rounds']}" + (f" + {advice['confirming_rounds']}" if advice["confirming_rounds"] else "")
    if advice["winner"]:
        return f"{advice['winner']} {ratio(advice['remedies'][advice['winner']])}; {rounds} rounds"
    return f"{advice['decision']}; {rounds} rounds"


def cell(found, name):
    if name not in found:
        return "no plan" if name == "plan" else ""
    other = f"{found[name]['name']} " if name == "best other" else ""
    return f"{other}{ratio(found[name]['cpu'])}"


def row(name, program):
    found, advice = program["verified"], program["advice"]
    own = found["libashlar.so"]
    cells = [
        program["heading"],
        f"{own['a_cpu_ms']:.0f} ms, {own['a_peak_bytes'] / MIB:.1f} MiB",
        *(cell(found, column) for column in COLUMNS),
        ratio(found["plan"]["peak"]) if "plan" in found else "",
        said(advice),
    ]
    return f"| {' | '.join(cells)} |"


def predicted_name(program, column):
    """The name in the advice of what a column verifies."""
    advice = program["advice"]
    names = {"libashlar.so": "preload libashlar.so", "plan": advice["plan"]}
    if "best other" in program["verified"]:
        names["best other"] = f"preload {program['verified']['best other']['name']}"
    return names.get(column)


PAGES_HEADER = "| program | page policy | libashlar.so | with it | plan of routes | with it | peak |\n|---|---|---:|---:|---:|---:|---:|"


def pages_rows(result):
    """The programs whose advice has a page policy that takes less than libashlar.so alone."""
    for program in result["programs"].values():
        found = program["verified"]
        if "pages" not in found:
            continue
        last = found.get("plan on pages", found["pages"])
        columns = (cell(found, name) for name in ("libashlar.so", "pages", "plan", "plan on pages"))
        yield f"| {program['heading']} | `{program['advice']['page_option']}` | {' | '.join(columns)} | {ratio(last['peak'])} |"


def half_width(effect):
    low, high = effect["interval"]
    return (math.log(high) - math.log(low)) / 2


def agrees(predicted, verified):
    """Whether the interval of the difference of both effects holds 0."""
    apart = math.log(verified["ratio"]) - math.log(predicted["ratio"])
    return abs(apart) <= math.hypot(half_width(predicted), half_width(verified))


SHOWN_FORECASTS = 6


def forecasts(result):
    """(program, remedy, predicted, verified) for each remedy that was measured on both inputs."""
    for program in result["programs"].values():
        for column in ("libashlar.so", "best other", "plan"):
            predicted = program["advice"]["remedies"].get(predicted_name(program, column) or "")
            if column in program["verified"] and predicted:
                yield program, column, predicted, program["verified"][column]["cpu"]


def forecast_text(result):
    all_of_them = list(forecasts(result))
    right = sum(agrees(predicted, verified) for _, _, predicted, verified in all_of_them)
    apart = statistics.median(abs(v["ratio"] - p["ratio"]) for _, _, p, v in all_of_them)
    return (
        f"Predicted and verified effect agree within their intervals in {right} of {len(all_of_them)} cases; half of them "
        f"differ by at most {100 * apart:.1f} points. The {SHOWN_FORECASTS} that differ most:"
    )


def forecast_rows(result):
    by_difference = sorted(forecasts(result), key=lambda f: -abs(f[3]["ratio"] - f[2]["ratio"]))
    for program, column, predicted, verified in by_difference[:SHOWN_FORECASTS]:
        word = "yes" if agrees(predicted, verified) else "no"
        remedy = predicted_name(program, column)
        yield f"| {program['heading']} | {remedy} | {ratio(predicted)} | {ratio(verified)} | {word} |"


def best_preload(found):
    """The preloaded malloc of the least ratio."""
    return min((found[name]["cpu"] for name in ("libashlar.so", "best other") if name in found), key=lambda c: c["ratio"])


def counts_text(result):
    """How often each remedy gains, by its interval, and the losses."""
    lines = []
    programs = [program["verified"] for program in result["programs"].values()]
    for column in COLUMNS:
        found = [p[column]["cpu"]["interval"] for p in programs if column in p]
        gains, losses = sum(high < 1 for _, high in found), sum(low > 1 for low, _ in found)
        lines.append(f"{column}: {gains} of {len(found)} gain, {losses} lose")
    over = sum(p["plan"]["cpu"]["ratio"] < best_preload(p)["ratio"] for p in programs if "plan" in p)
    certain = sum(p["plan"]["cpu"]["interval"][1] < best_preload(p)["interval"][0] for p in programs if "plan" in p)
    planned = sum("plan" in p for p in programs)
    return (
        f"By intervals against glibc: {'; '.join(lines)}. The plan has a lower ratio than the best preloaded malloc in {over} "
        f"of {planned} programs, in {certain} of them with intervals that do not overlap."
    )


def conditions(result):
    m = result["machine"]
    return (
        f"{result['date']}, {m['cpu']}, {m['cores']} cores{', virtual' if m['virtual'] else ''}, {m['libc']}, {m['kernel']}; "
        f"advice within {result['budget']}, {result['pairs']} pairs to verify each remedy."
    )


def markdown(result):
    parts = [conditions(result)]
    parts.append("\n".join([HEADER, *(row(name, program) for name, program in result["programs"].items())]))
    parts.append(counts_text(result))
    if rows := list(pages_rows(result)):
        parts.append("## With a page policy")
        parts.append(
            "Huge or populated pages for the heap of `libashlar.so`, whichever took at least 1 % less than that library "
            "alone on the first input."
        )
        parts.append("\n".join([PAGES_HEADER, *rows]))
    parts.append("## Forecast and verification")
    parts.append(forecast_text(result))
    parts.append("\n".join([FORECAST_HEADER, *forecast_rows(result)]))
    parts += [f"Not measured: {name} ({reason})." for name, reason in result["skipped"].items()]
    return "\n\n".join(parts)
