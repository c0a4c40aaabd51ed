// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The requests of a model to its search: each operation on an atomic, a plain object or a lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "knowledge.hpp"

namespace explorer {

/// The function of a read-modify-write.
enum class update { exchange, add, subtract, and_, or_, xor_ };

/// Returns: the number of a new atomic.
[[nodiscard]] std::size_t new_atomic(std::uint64_t value);
/// Effects: notes that the atomic's memory ends; ends the search if another thread may still use it.
void end_atomic(std::size_t atomic);
[[nodiscard]] std::uint64_t load(std::size_t atomic, std::memory_order order);
void store(std::size_t atomic, std::uint64_t value, std::memory_order order);
/// Returns: the value before.
std::uint64_t modify(std::size_t atomic, update how, std::uint64_t operand, std::memory_order order);
[[nodiscard]] bool compare_exchange(std::size_t atomic, std::uint64_t& expected, std::uint64_t desired,
                                    std::memory_order success, std::memory_order failure);

void lock(lock_state& l);
/// Returns: whether the lock was free and now belongs to the caller. A failure adds no knowledge.
[[nodiscard]] bool try_lock(lock_state& l);
void unlock(lock_state& l);

/// The number of the fault that is planted in this run, such as a lock that is left out; below 0: none.
inline int planted = -1;

/// Effects: notes an access to a plain object; ends the search in a race.
void made(watch& w);
void will_read(watch& w);
void will_write(watch& w);

/// Effects: ends the search: this execution broke a promise.
[[noreturn]] void fail(const char* why);

/// Effects: adds a thread; `run_added_threads` runs all of them to their end.
void add_thread(void (*body)(void*), void* argument);
void run_added_threads();
/// Returns: the number of the running thread.
[[nodiscard]] std::size_t this_thread();

}  // namespace explorer
