# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of trials in docs/verify-trials.md from bench/results/advise_trials.json."""

import statistics

HEADER = (
    "| machine, load average | equal: gain or loss | equal: unfit | 3 % slower: found | deviation of a pair | site of +5 % | site of -5 % "
    "| four of 0 % | half an interval |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|"
)


def count(trials, *verdicts):
    return f"{sum(trial['verdict'] in verdicts for trial in trials)} of {len(trials)}"


def right(trials, percent):
    """How often the sites of an effect were found for what they are."""
    sites = [site for trial in trials for site in trial.values() if site["planted"] == percent]
    return f"{sum(site['right'] for site in sites)} of {len(sites)}"


def half_interval(trials):
    widths = [(site["interval"][1] - site["interval"][0]) / 2 for trial in trials for site in trial.values()]
    return f"{statistics.median(widths):.1f} points"


def row(name, under):
    deviation = statistics.median(trial["deviation"] for trial in under["slower"])
    cells = [
        f"{name}, {under['load_average']:.0f}", count(under["equal"], "gain", "loss"), count(under["equal"], "unfit"),
        count(under["slower"], "loss"), f"{100 * deviation:.1f} %", *(right(under["planted"], p) for p in (5, -5, 0)),
        half_interval(under["planted"]),
    ]
    return f"| {' | '.join(cells)} |"


def markdown(result):
    m, pairs = result["machine"], result["pairs"]
    dates = ", ".join(f"{name} {under['date']}" for name, under in result["under"].items())
    return "\n\n".join([
        f"{dates}; {m['cpu']}, {m['cores']} cores{', virtual' if m['virtual'] else ''}. Pairs of a trial: equal "
        f"{pairs['equal']}, 3 % {pairs['slower']}, sites {pairs['planted']}.",
        "\n".join([HEADER, *(row(name, under) for name, under in result["under"].items())]),
    ])
