// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ashlar::local_heap as the peers are met: functions of a shared library, called through its table of addresses.
#pragma once

#include <cstddef>

#define ASHLAR_BENCH_CALLED extern "C" __attribute__((visibility("default")))

ASHLAR_BENCH_CALLED void* bench_called_allocate(std::size_t bytes);
ASHLAR_BENCH_CALLED void bench_called_free(void* p) noexcept;
ASHLAR_BENCH_CALLED void bench_called_free_sized(void* p, std::size_t bytes) noexcept;

// The floor of that: a cursor that runs through memory in a circle, and a free that does nothing.
ASHLAR_BENCH_CALLED void* bench_called_null_allocate(std::size_t bytes);
ASHLAR_BENCH_CALLED void bench_called_null_free(void* p) noexcept;
