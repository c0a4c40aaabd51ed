# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The questions: which fields of a process's JSON answer each of them, and how they are shown."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Column:
    title: str
    field: str
    digits: int = 0
    scale: float = 1.0


@dataclasses.dataclass(frozen=True)
class Question:
    title: str
    metric: Column  # what is compared: smaller is better
    baseline: str  # the peer that everybody is compared with, besides the best rival
    groups: dict  # group -> heading
    columns: tuple = ()  # what else is shown (where a group has no variants)
    quick: tuple = ()  # arguments that make one process short
    plot_parts: tuple = ()  # the fields a bar is stacked from; default: the metric alone
    plot_notes: tuple = ()  # what is written beside the value
    plot_groups: tuple = ()  # default: all
    plot_variants: tuple = ()  # default: all
    plot_one_scale: bool = False  # for all panels, or each its own
    group_metrics: dict = dataclasses.field(default_factory=dict)  # where a group compares something else
    threads: int = 1  # cores to pin to
    runs: int = 5  # processes per cell

    def metric_of(self, group):
        return self.group_metrics.get(group, self.metric)


MIB = 1 / (1 << 20)

QUESTIONS = {
    "node_containers": Question(
        title="Node containers: grow, thin out, grow again, die",
        metric=Column("ms", "cpu_ms"),
        baseline="glibc",
        groups={"list": "std::list<int>", "set": "std::set<int>"},
        columns=(
            Column("user", "user_ms"),
            Column("sys", "sys_ms"),
            Column("B/elem", "bytes_per_element", 1),
            Column("walk", "traversal_ms"),
            Column("kept MiB", "kept_bytes", 0, MIB),
        ),
        quick=("--count", "1000000"),
        plot_parts=(Column("user ms", "user_ms"), Column("system ms", "sys_ms")),
        plot_notes=(Column("B", "bytes_per_element", 1),),
    ),
    "fixed_block": Question(
        title="Blocks of one size: nanoseconds per allocate and free",
        metric=Column("ns", "median_ns", 2),
        baseline="glibc",
        groups={size: f"{size} bytes" for size in ("16", "24", "64", "256")},
        quick=("--windows", "30"),
        plot_groups=("64",),
        plot_one_scale=True,
    ),
    "fresh_memory": Question(
        title="Fresh memory: the first touch of a 4 KiB page",
        metric=Column("ns/page", "cpu_ns"),
        baseline="plain",
        groups={"backed": "backed by the host", "unbacked": "given back to the host before"},
        columns=(Column("user", "user_ns"), Column("sys", "sys_ns"), Column("unmap", "unmap_ns")),
        quick=("--mib", "64"),
        plot_parts=(Column("user ns", "user_ns"), Column("system ns", "sys_ns")),
    ),
    "thread_containers": Question(
        title="Two threads, each with a node container of its own, on one allocator type",
        metric=Column("ms", "wall_ms"),
        baseline="glibc",
        groups={"list": "std::list<int>, twice", "set": "std::set<int>, twice"},
        columns=(
            Column("cpu", "cpu_ms"),
            Column("sys", "sys_ms"),
            Column("B/elem", "bytes_per_element", 1),
            Column("kept MiB", "kept_bytes", 0, MIB),
            Column("ping-pong ns", "ping_pong_ns"),
        ),
        quick=("--count", "200000"),
        plot_notes=(Column("B", "bytes_per_element", 1),),
        threads=2,
    ),
    "thread_handover": Question(
        title="Allocated in one thread, freed in another: nanoseconds per element",
        metric=Column("ns", "wall_ns", 1),
        baseline="glibc",
        groups={
            "lists": "lists of 1,000, always 256 of them on the way: 5.9 MiB",
            "ring": "64-byte cells, at most 1,024 on the way: 64 KiB",
            "deep": "64-byte cells, always 131,072 on the way: 8 MiB",
        },
        columns=(
            Column("cpu", "cpu_ns", 1),
            Column("sys", "sys_ns", 1),
            Column("peak MiB", "peak_bytes", 1, MIB),
            Column("ping-pong ns", "ping_pong_ns"),
        ),
        quick=("--count", "500000"),
        plot_notes=(Column("MiB", "peak_bytes", 1, MIB),),
        threads=2,
    ),
    "density": Question(
        title="Resident bytes per element",
        metric=Column("B", "bytes_per_element", 2),
        baseline="glibc",
        groups={"million": "a million live, bytes each", "ten": "ten live, KiB in all"},
        group_metrics={"ten": Column("KiB", "kib")},
        plot_variants=("1", "8", "12", "24", "40", "100"),
        plot_groups=("million",),
        runs=3,
    ),
    "churn_locality": Question(
        title="A traversal of a million elements after long churn",
        metric=Column("ms", "churned_ms", 1),
        baseline="lifo",
        groups={"list": "std::list of 8 bytes, 100 rounds", "set": "std::set of 8 bytes, 25 rounds"},
        columns=(
            Column("when new", "fresh_ms", 1),
            Column("rebuilt", "rebuilt_ms", 1),
            Column("the churn", "churn_ms"),
            Column("peak MiB", "peak_bytes", 0, MIB),
        ),
        quick=("--rounds", "5"),
        plot_notes=(Column("rebuilt", "rebuilt_ms", 1),),
        runs=1,
    ),
    "give_back": Question(
        title="Memory held when a list of 10 million has lost its elements",
        metric=Column("MiB", "held_bytes", 1, MIB),
        baseline="glibc",
        groups={"random": "90 % erased at random", "clustered": "90 % erased in runs of 900,000", "all": "all erased"},
        columns=(
            Column("asked: MiB", "trimmed_bytes", 1, MIB),
            Column("full", "full_bytes", 1, MIB),
            Column("erase ms", "erase_ms"),
            Column("ask ms", "trim_ms", 1),
            Column("grow again", "regrow_ms"),
            Column("clear", "destroy_ms"),
        ),
        quick=("--count", "1000000"),
        plot_notes=(Column("asked", "trimmed_bytes", 1, MIB),),
        runs=3,
    ),
    "slot_map": Question(
        title="Objects behind handles: nanoseconds for each of a million of 64 bytes",
        metric=Column("ns", "median_ns", 1),
        baseline="vector",
        groups={
            "walk": "walk over all",
            "walk_churned": "walk over all, after half were replaced ten times",
            "get": "find by handle, in random order",
            "replace": "erase and make, in random order",
        },
        columns=(Column("B/object", "bytes_per_object", 1),),
        quick=("--count", "100000"),
    ),
    "cell_runs": Question(
        title="Many cells at once: nanoseconds for one allocation and its free",
        metric=Column("ns", "median_ns", 2),
        baseline="glibc",
        groups={
            "many": "1,000 cells of 16 bytes, each",
            "run4": "a run of 4 cells, 64 bytes",
            "run16": "a run of 16 cells, 256 bytes",
            "run48": "a run of 48 cells, 768 bytes",
        },
        quick=("--rounds", "20"),
    ),
    "arenas": Question(
        title="Memory that is let go all at once: nanoseconds for one block, string vector, node, edge",
        metric=Column("ns", "median_ns", 2),
        baseline="pmr_monotonic",
        groups={
            "bump16": "a block of 16 bytes, 1,000 in a row",
            "bump64": "a block of 64 bytes, 1,000 in a row",
            "strings": "32 log strings of about 25 characters into a vector, memory from the stack",
            "tree": "a node of an expression that is parsed, evaluated and let go",
            "graph": "an edge of a graph that is built, walked over and let go",
            "frames": "a block of a frame of 2,000 of 16 to 256 bytes",
        },
        quick=("--rounds", "20"),
    ),
    "engine_workloads": Question(
        title="Ten ways in which engines allocate, one thread: nanoseconds for one allocation and its free",
        metric=Column("ns", "median_ns", 2),
        baseline="glibc",
        groups={
            "pair": "64 bytes, freed at once",
            "lifo": "1,000 of 64 bytes, the last freed first",
            "fifo": "1,000 of 64 bytes, the first freed first",
            "shuffled": "1,000 of 64 bytes, freed in random order",
            "mixed": "16 to 256 bytes, 4,096 live, a random one replaced",
            "wide": "16 bytes to 32 KiB by logarithm, 4,096 live, a random one replaced",
            "frame": "2,000 of 16 to 256 bytes, all freed at the end",
            "components": "four kinds of 32 to 160 bytes, 10,000 live, sizes known to the compiler",
            "large": "64 KiB to 1 MiB, 64 live, a random one replaced",
            "large_touched": "the same, each page touched",
        },
        columns=(Column("peak MiB", "peak_bytes", 1, MIB),),
        quick=("--windows", "5"),
    ),
    "object_pairs": Question(
        title="Objects, acquired and released at once: nanoseconds for both",
        metric=Column("ns", "median_ns", 2),
        baseline="glibc",
        groups={"64": "64 bytes, all written", "large": "1000 KiB, first and last word written"},
        quick=("--windows", "3"),
        plot_variants=("-O3",),
    ),
    "object_batches": Question(
        title="100,000 objects of 1 KiB, by how many at a time memory is fetched for: nanoseconds for each",
        metric=Column("ns", "warm_ns", 1),
        baseline="glibc",
        groups={
            "bulk_warm": "all, then none; warm",
            "bulk_cold": "all, then none; first time, with the pool's making",
            "mixed_warm": "mixed; warm",
            "mixed_cold": "mixed; first time, with the pool's making",
            "bulk_warm_o2": "all, then none; warm; -O2",
            "mixed_warm_o2": "mixed; warm; -O2",
        },
        group_metrics={name: Column("ns", "cold_ns") for name in ("bulk_cold", "mixed_cold")},
        quick=("--count", "10000", "--rounds", "5"),
        plot_variants=("4096",),
        plot_groups=("bulk_warm", "bulk_cold", "mixed_warm", "mixed_cold"),
        runs=2,
    ),
    "large_objects": Question(
        title="1000 objects of 1000 KiB held at once: nanoseconds for acquiring and releasing each",
        metric=Column("ns", "again_ns", 1),
        baseline="glibc",
        groups={
            "touched": "first and last word written",
            "touched_o2": "first and last word written; -O2",
            "zeroed": "all zeroed, by the constructor",
        },
        columns=(
            Column("acquire", "acquire_ns", 1),
            Column("release", "release_ns", 1),
            Column("pool's making", "build_ns"),
            Column("first acquire", "first_acquire_ns"),
            Column("first release", "first_release_ns"),
            Column("pool's end", "teardown_ns"),
            Column("peak MiB", "peak_bytes", 0, MIB),
        ),
        quick=("--count", "100", "--rounds", "3"),
        plot_notes=(Column("ns at first", "first_acquire_ns"),),
        plot_groups=("touched", "zeroed"),
        runs=3,
    ),
    "pmr_pools": Question(
        title="Polymorphic pool resources: containers in milliseconds, an allocation and its free in nanoseconds",
        metric=Column("ms", "ms"),
        baseline="heap",
        groups={
            "list": "std::list<int>",
            "set": "std::set<int>",
            "churn": "An allocation and its free",
            "list_2": "Two threads, one resource: a std::list<int> each",
            "churn_2": "Two threads, one resource: an allocation and its free",
        },
        columns=(
            Column("user", "user_ms"),
            Column("sys", "sys_ms"),
            Column("B/elem", "bytes_per_element", 1),
        ),
        group_metrics={"churn": Column("ns", "ns", 1), "churn_2": Column("ns", "ns", 1)},
        quick=("--count", "500000", "--windows", "20"),
        threads=2,
        runs=3,
    ),
    "counted_pointers": Question(
        title="15 million counted pointers: milliseconds to create and to destroy them in order",
        metric=Column("ms", "total_ms"),
        baseline="make_shared",
        groups={"double": "to double", "int": "to int", "double_o2": "to double; -O2"},
        columns=(
            Column("B/pointer", "bytes_per_pointer", 1),
            Column("create ns", "create_ns", 1),
            Column("destroy", "destroy_ns", 1),
            Column("create again", "again_ns", 1),
            Column("copy, drop", "copy_ns", 1),
            Column("random copy, drop", "random_copy_ns"),
            Column("random destroy", "random_destroy_ns"),
            Column("pool's end ms", "teardown_ms"),
        ),
        quick=("--count", "1500000"),
        plot_notes=(Column("B", "bytes_per_pointer", 1),),
        plot_groups=("double", "int"),
        runs=2,
    ),
    "stack_evaluator": Question(
        title="Temporaries of a recursive evaluator: nanoseconds per operation",
        metric=Column("ns", "median_ns", 2),
        baseline="glibc",
        groups={
            "small": "32 bytes each",
            "mixed": "from 32 to 1024 bytes",
            "aligned": "256 bytes, aligned to 64",
        },
        columns=(Column("fastest", "min_ns", 2), Column("p90", "p90_ns", 2), Column("peak KiB", "peak_bytes", 0, 1 / 1024)),
        quick=("--windows", "20"),
        runs=3,
    ),
    "tlsf_latency": Question(
        title="One allocation, one free: nanoseconds at the 99.9th percentile",
        metric=Column("p99.9 ns", "p999_ns"),
        baseline="glibc",
        groups={
            "churn_allocate": "allocate; 16 B to 32 KiB, 4,096 live, random",
            "churn_free": "free; the same",
            "hostile_allocate": "allocate; waves of small, odd and large blocks",
            "hostile_free": "free; the same",
        },
        columns=(
            Column("p50", "p50_ns"),
            Column("p99", "p99_ns"),
            Column("p99.99", "p9999_ns"),
            Column("max", "max_ns"),
            Column("pair, untimed", "pair_ns", 1),
        ),
        quick=("--count", "200000"),
        plot_notes=(Column("ns at p50", "p50_ns"),),
        plot_groups=("churn_allocate", "churn_free"),
        runs=3,
    ),
}
