# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The question what the levels of checking cost."""

from support.question import Column, Question

RESOURCES = {
    "block_pool": "block_pool, cells of 64 bytes",
    "shared_block_pool": "shared_block_pool, cells of 64 bytes",
    "pool_set": "pool_set",
    "shared_pool_set": "shared_pool_set",
    "pool_allocator": "containers on pool_allocator, one_thread",
    "pool_allocator_cached": "containers on pool_allocator, thread_cached",
    "tlsf_resource": "tlsf_resource",
    "local_heap": "local_heap",
    "heap": "heap",
}
METRICS = {
    "instructions": Column("instructions", "instructions", 1),
    "ns": Column("ns", "median_ns", 1),
}
GROUPS = {
    f"{resource}_{metric}": (f"{what}: {column.title}", column)
    for metric, column in METRICS.items()
    for resource, what in RESOURCES.items()
}

QUESTIONS = {
    "levels": Question(
        title="What checking costs: one allocation and its sized free; wanted are 1.25x for checked, 2.0x for hardened",
        metric=METRICS["instructions"],
        baseline="fast",
        groups={group: heading for group, (heading, _) in GROUPS.items()},
        group_metrics={group: column for group, (_, column) in GROUPS.items()},
        quick=("--windows", "5"),
        plot_groups=tuple(group for group in GROUPS if group.endswith("_instructions")),
        runs=3,
    ),
}
