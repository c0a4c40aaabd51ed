// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a model asks of the search that runs it: each operation on an atomic, a plain object or a lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "knowledge.hpp"

namespace explorer {

/// What a read-modify-write makes of the value it read.
enum class update { exchange, add, subtract, and_, or_, xor_ };

/// Returns: the number of a new atomic.
[[nodiscard]] std::size_t new_atomic(std::uint64_t value);
/// Effects: notes that its memory goes; ends the search where another thread may still use it.
void end_atomic(std::size_t atomic);
[[nodiscard]] std::uint64_t load(std::size_t atomic, std::memory_order order);
void store(std::size_t atomic, std::uint64_t value, std::memory_order order);
/// Returns: the value before.
std::uint64_t modify(std::size_t atomic, update how, std::uint64_t operand, std::memory_order order);
[[nodiscard]] bool compare_exchange(std::size_t atomic, std::uint64_t& expected, std::uint64_t desired,
                                    std::memory_order success, std::memory_order failure);

void lock(lock_state& l);
/// Returns: whether it was free and is the caller's now. Who finds it held learns nothing.
[[nodiscard]] bool try_lock(lock_state& l);
void unlock(lock_state& l);

/// The lock that this run leaves out, of those that a planted fault has numbered; below 0: none.
inline int left_out = -1;

/// Effects: notes what happens to a plain object; ends the search where it races.
void made(watch& w);
void will_read(watch& w);
void will_write(watch& w);

/// Effects: ends the search: this execution broke a promise.
[[noreturn]] void fail(const char* why);

/// Effects: adds a thread to those that `run_added_threads` runs, to their end.
void add_thread(void (*body)(void*), void* argument);
void run_added_threads();
/// Returns: the number of the thread that runs.
[[nodiscard]] std::size_t this_thread();

}  // namespace explorer
