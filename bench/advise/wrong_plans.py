# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans that are wrong on purpose, from the advice on a program: what do they cost?"""

import json

HOT = 0.005  # of the allocations
CELL_BYTES, CHUNK_BYTES, BUDGET_BYTES = 4096, 1 << 16, 1 << 20  # a chunk and the least budget as in the plans of advice


def hot_sites(advice):
    """The sites with a good share of the allocations, by one return address each, and the modules of all sites."""
    all_of_them = advice["features"]["allocated"]["objects"]
    frames = [frame for site in advice["sites"] for frame in site["chain"] if frame["build_id"]]
    sites, modules = {}, {frame["build_id"]: frame["module"] for frame in frames}
    for site in advice["sites"]:
        frame = site["chain"][0]
        if site["features"]["allocated"]["objects"] < HOT * all_of_them or not frame["build_id"]:
            continue
        address = (frame["build_id"], frame["offset"])
        sites[address] = {"chain": [list(address)], "function": site["function"], "source": ""}
    return list(sites.values()), modules


def group(name, remedy, sites):
    cells = {"cell_bytes": CELL_BYTES} if remedy == "pool" else {}
    return {"group": name, "remedy": remedy, **cells, "chunk_bytes": CHUNK_BYTES, "budget_bytes": BUDGET_BYTES, "sites": sites,
            "evidence": {}}


def one_pool(hot, _):
    """Every hot site in one pool of far too large cells."""
    return [group("all", "pool", hot)]


def swapped(hot, groups):
    """Each group has the sites of the next; an arena those of the first, which one has the hot sites without a group."""
    planned = {tuple(site["chain"][0]) for each in groups for site in each["sites"]}
    others = [site for site in hot if tuple(site["chain"][0]) not in planned]
    all_of_them = [*groups, group("others", "arena", others)]
    sites = [each["sites"] for each in all_of_them]
    moved = [{**each, "sites": sites[(at + 1) % len(sites)]} for at, each in enumerate(all_of_them)]
    return [each for each in moved if each["sites"]]


KINDS = {"one pool": one_pool, "swapped": swapped}


def plans(advice, advised):
    """Returns: the text of each wrong plan, by its name, and of a plan without groups."""
    first, *groups = map(json.loads, advised.splitlines())
    hot, modules = hot_sites(advice)
    first["modules"] = {**first["modules"], **modules}
    texts = {name: [first, *make(hot, groups)] for name, make in KINDS.items()}
    return {name: "".join(json.dumps(line) + "\n" for line in lines) for name, lines in {**texts, "empty": [first]}.items()}
