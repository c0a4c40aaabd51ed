# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of docs/advise-patches.md from bench/results/advise_patches.json."""

import itertools

from advise.table import agrees


def ratio(effect):
    low, high = effect["interval"]
    return f"{effect['ratio']:.2f} [{low:.2f},{high:.2f}]"


MARGIN = 0.01  # a point
MOST_TIME, MOST_MEMORY = 1.03, 1.25
HEADERS = {
    "patches": "| program, size | patch | routed | forecast | patch, on libashlar.so | within | patch, on glibc | within |\n"
    "|---|---|---:|---:|---:|---|---:|---|",
    "wrong": "| program | wrong plan | time by the empty plan | peak by the empty plan | time by glibc | peak by glibc |\n"
    "|---|---|---:|---:|---:|---:|",
}


def forecast_of(pair, call_ns):
    """The effect of the routed sites, less what their routed calls take more than calls of the patch."""
    routed = pair["forecast"]["cpu"]
    less = pair["calls"] * call_ns / 1e6 / pair["forecast"]["a_cpu_ms"]
    return {"ratio": routed["ratio"] - less, "interval": [end - less for end in routed["interval"]]}


def word(forecast, patch):
    """Whether the effect of the patch lies in the interval of the forecast, widened by a point on either side."""
    low, high = forecast["interval"]
    if low - MARGIN <= patch["ratio"] <= high + MARGIN:
        return "yes"
    return "more" if patch["ratio"] < low else "less"


def patch_row(name, pair, call_ns):
    routed, same, glibc = (pair[key]["cpu"] for key in ("forecast", "patched", "glibc"))
    forecast = forecast_of(pair, call_ns)
    cells = [name, pair["patch"], ratio(routed), ratio(forecast), ratio(same),
             word(forecast, same), ratio(glibc), word(forecast, glibc)]
    return f"| {' | '.join(cells)} |"


def wrong_row(name, program):
    rows = []
    for kind, found in program["plans"].items():
        empty, glibc = found["empty"], found["glibc"]
        cells = [name, kind]
        for by in (empty, glibc):
            cells += [ratio(by["cpu"]), f"{by['peak']['ratio']:.2f}"]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def counts_by(pairs, key, predicted):
    """How many patches lie within what was predicted, gain less, and agree by the definition of docs/advise-programs.md."""
    words = [word(predicted(pair), pair[key]["cpu"]) for pair in pairs]
    right = sum(agrees(predicted(pair), pair[key]["cpu"]) for pair in pairs)
    return f"{words.count('yes')} lie within it, {words.count('less')} gain less, {right} *agree*"


def patches_text(part):
    pairs = part["found"].values()
    lines = [f"A routed pair of calls takes {part['call_ns']:.1f} ns more than one of the patch."]
    for key, baseline in (("patched", "libashlar.so"), ("glibc", "glibc")):
        by_forecast = counts_by(pairs, key, lambda pair: forecast_of(pair, part["call_ns"]))
        by_routing = counts_by(pairs, key, lambda pair: pair["forecast"]["cpu"])
        losses = sum(pair[key]["cpu"]["interval"][0] > 1 for pair in pairs)
        lines.append(f"Of {len(pairs)} on {baseline}, by the forecast {by_forecast}; by routing {by_routing}; {losses} lose.")
    return " ".join(lines)


def wrong_text(part):
    plans = [plan for program in part["found"].values() for plan in program["plans"].values()]
    lines = []
    for by, baseline in (("empty", "the empty plan"), ("glibc", "glibc")):
        time = sum(plan[by]["cpu"]["ratio"] <= MOST_TIME for plan in plans)
        memory = sum(plan[by]["peak"]["ratio"] <= MOST_MEMORY for plan in plans)
        longest, largest = (max(plan[by][what]["ratio"] for plan in plans) for what in ("cpu", "peak"))
        lines.append(f"By {baseline} {time} of {len(plans)} wrong plans take at most 3 % more time, {memory} at most 25 % more "
                     f"memory; the worst take {longest:.2f} of the time and {largest:.2f} of the memory.")
    return " ".join(lines)


def part_of(heading, header, text, rows, part):
    return [heading, f"{part['date']}. {text(part)}", "\n".join([header, *rows]),
            *(f"Not measured: {name} ({reason})." for name, reason in part["skipped"].items())]


def patches_part(part):
    rows = [patch_row(name, pair, part["call_ns"]) for name, pair in part["found"].items()]
    return part_of("## Patches", HEADERS["patches"], patches_text, rows, part)


def wrong_part(part):
    return part_of("## Wrong plans", HEADERS["wrong"], wrong_text, itertools.starmap(wrong_row, part["found"].items()), part)


def markdown(result):
    m = result["machine"]
    parts = [f"{m['cpu']}, {m['cores']} cores{', virtual' if m['virtual'] else ''}, {m['libc']}, {m['kernel']}; {result['pairs']} pairs "
             "of runs of each comparison."]
    for name, part in (("patches", patches_part), ("wrong", wrong_part)):
        parts += part(result[name]) if name in result else []
    return "\n\n".join(parts)
