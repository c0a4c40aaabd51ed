# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables and counts of docs/advise-programs.md from bench/results/advise_programs.json: held-out programs and others apart."""

import math

from .loop import EMPTY, HEAP, ON_PAGES, PLAN, WHOLE, WITHOUT_PLAN
from .rounds import PLAIN

THRESHOLD = 0.01  # a smaller difference does not matter
TITLES = {"held_out": "Held out", "tuned": "Tuned on"}
HEADER = (
    "| program | ms | headline | said, % | found, % | agree | plan | whole plan, % | without router, % | router, % | start, ms |\n"
    "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|"
)


def shown(effect):
    """In per cent: the mean, and half of the interval."""
    return f"{100 * (effect['ratio'] - 1):+.1f}±{100 * half_width(effect) * effect['ratio']:.1f}"


def half_width(effect):
    low, high = effect["interval"]
    return (math.log(high) - math.log(low)) / 2


def word(effect):
    """One of the four words of `ashlar advise`; the first that holds."""
    low, high = effect["interval"]
    if 1 - THRESHOLD < low and high < 1 + THRESHOLD:
        return "level"
    return "gain" if high < 1 else "loss" if low > 1 else "undecided"


def agrees(predicted, verified):
    """Whether the interval of the difference of both effects holds 0."""
    apart = math.log(verified["ratio"]) - math.log(predicted["ratio"])
    return abs(apart) <= math.hypot(half_width(predicted), half_width(verified))


def found(program, side, base=PLAIN):
    return program["found"]["effects"].get(f"{side} over {base}")


def written_plan(program):
    """The side of the plan that was written; an empty text: none was."""
    facts = program["advice"]["plan_facts"]
    return "" if facts["kept_groups"] == 0 else WHOLE if facts["kept_groups"] == facts["groups"] else PLAN


def side_of(program, remedy):
    """The side of the second input that has a remedy of the advice."""
    advice = program["advice"]
    if advice["remedies"][remedy]["kind"] != "routes":
        return EMPTY if advice["remedies"][remedy]["kind"] == "router" else remedy
    return {advice["whole_plan"]: WHOLE, advice["plan"]: written_plan(program), advice["plan_on_pages"]: ON_PAGES}.get(remedy, "")


def repeated(program):
    """(remedy, said, found) of each effect of the advice that was measured on the second input too."""
    for remedy, said in program["advice"]["remedies"].items():
        if said["effect"] and (again := found(program, side_of(program, remedy))):
            yield remedy, said["effect"], again


def disagreeing(program):
    return [remedy for remedy, said, again in repeated(program) if not agrees(said, again)]


def headline(program):
    """(said, found) of the winner, or of the best remedy without one; nothing, if the advice is undecided."""
    advice = program["advice"]
    if advice["winner"]:
        return advice["remedies"][advice["winner"]]["effect"], found(program, side_of(program, advice["winner"]))
    return None


def is_right(program):
    """Whether the headline has the right sign; None without one. To change nothing is wrong where a remedy without a plan gains."""
    if claim := headline(program):
        return claim[1]["ratio"] < 1 if claim[1] else None
    if program["advice"]["decision"] != "change nothing":
        return None
    kinds = {remedy: said["kind"] for remedy, said in program["advice"]["remedies"].items()}
    return not any(again["interval"][1] < 1 - THRESHOLD for remedy, _, again in repeated(program) if kinds[remedy] in WITHOUT_PLAN)


def short(name):
    for long, less in (("preload ", ""), (" pages, ", ","), ("route by the ", "")):
        name = name.replace(long, less)
    return name


def start_of(program):
    """The milliseconds of the start by the whole plan, or by an empty one, over the start as it is."""
    times = program["start"]
    routed = times.get(WHOLE) or times.get(EMPTY)
    return f"{routed[1] - times[PLAIN][1]:+.1f}" if routed else ""


def row(name, program):
    advice, facts = program["advice"], program["advice"]["plan_facts"]
    claim, all_of_them = headline(program), list(repeated(program))
    over = [found(program, WHOLE, HEAP), found(program, WHOLE, EMPTY), found(program, EMPTY, HEAP)]
    cells = [
        name.replace("_", "-") + ("*" if program["own_allocator"] else ""),
        f"{program['found']['ms'][PLAIN][1]:.0f}",
        short(advice["winner"]) if advice["winner"] else advice["decision"].replace("change ", ""),
        *(shown(effect) if effect else "" for effect in claim or (None, None)),
        f"{len(all_of_them) - len(disagreeing(program))}/{len(all_of_them)}",
        f"{facts['kept_groups']}/{facts['groups']}",
        *(shown(effect) if effect else "" for effect in over),
        start_of(program),
    ]
    return f"| {' | '.join(cells)} |"


def sign_text(programs):
    known = [is_right(program) for program in programs]
    text = f"sign of the headline right: {known.count(True)} of {len(known) - known.count(None)}"
    return text + (f" ({known.count(None)} undecided, or not repeated)" if None in known else "")


def agreement_text(programs):
    pairs = [agrees(said, again) for program in programs for _, said, again in repeated(program)]
    compared = [program for program in programs if any(repeated(program))]
    whole = sum(not disagreeing(program) for program in compared)
    return f"all intervals of a program agree: {whole} of {len(compared)} (of effects {sum(pairs)} of {len(pairs)})"


def plan_text(programs):
    words = [word(found(p, written_plan(p), HEAP)) for p in programs if written_plan(p) and found(p, written_plan(p), HEAP)]
    text = ", ".join(f"{words.count(each)} {each}" for each in ("gain", "level", "undecided", "loss") if each in words)
    return f"plans written: {len(words)}{f', over libashlar.so {text}' if words else ''}; that lose: {words.count('loss')}"


def whole_plan_text(programs):
    words = [word(effect) for program in programs if (effect := found(program, WHOLE, HEAP))]
    text = ", ".join(f"{words.count(each)} {each}" for each in ("gain", "level", "undecided", "loss"))
    return f"whole plans, written or not: {len(words)}, over libashlar.so {text}"


def allocator_text(programs):
    own = [program for program in programs if program["own_allocator"]]
    return f"with an allocator of their own: {len(own)}; the advice names it: {sum(p['advice']['own_allocator'] for p in own)}"


COUNTS = (sign_text, agreement_text, plan_text, whole_plan_text, allocator_text)


def counts(group):
    programs = list(group["programs"].values())
    return [text(programs) for text in COUNTS] if programs else []


def conditions(group):
    m, drawn = group["machine"], f"drawn by seed {group['seed']}; " if group["seed"] else ""
    return (
        f"{drawn}{group['date']}, {m['cpu']}, {m['cores']} cores{', virtual' if m['virtual'] else ''}, {m['libc']}, {m['kernel']}; "
        f"advice within {group['budget']}, rounds of {group['seconds']:.0f} s."
    )


def section(name, group):
    text = conditions(group)
    parts = [f"## {TITLES[name]}", text[0].upper() + text[1:]]
    parts.append("\n".join([HEADER, *(row(*each) for each in group["programs"].items())]))
    parts.append("\n".join(f"* {text}" for text in counts(group)))
    if group["left_out"]:
        parts.append("Not measured: " + "; ".join(f"{program} ({why})" for program, why in group["left_out"].items()) + ".")
    return parts


def markdown(result):
    return "\n\n".join(part for name in TITLES if name in result["groups"] for part in section(name, result["groups"][name]))
