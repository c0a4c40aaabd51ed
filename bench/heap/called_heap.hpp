// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ashlar::local_heap in the form of the peers: functions of a shared library, called through its table of addresses.
#pragma once

#include <cstddef>

#define ASHLAR_BENCH_CALLED extern "C" __attribute__((visibility("default")))

ASHLAR_BENCH_CALLED void* bench_called_allocate(std::size_t bytes);
ASHLAR_BENCH_CALLED void bench_called_free(void* p) noexcept;
ASHLAR_BENCH_CALLED void bench_called_free_sized(void* p, std::size_t bytes) noexcept;

// The floor: a cursor that circles through memory, and a free without an effect.
ASHLAR_BENCH_CALLED void* bench_called_null_allocate(std::size_t bytes);
ASHLAR_BENCH_CALLED void bench_called_null_free(void* p) noexcept;
