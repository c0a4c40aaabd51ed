// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs a model once for every way in which its threads can interact, and reports the first broken promise.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "fiber.hpp"
#include "memory.hpp"
#include "operations.hpp"

namespace explorer {

/// The result of a search. `failure` is empty if every execution kept every promise.
struct outcome {
  std::string failure;
  std::vector<std::string> story;  // the steps of the failed execution
  std::size_t complete = 0;        // executions that ran to their end
  std::size_t states = 0;          // different pasts met
};

/// Depth-first search over two kinds of choice: the thread that makes the next step on an atomic, and the write that
/// its read sees, among those that coherence allows, or the place of its write in the modification order. A past (all
/// reads, with the modification orders) determines the possible futures; a past that was met before is not followed
/// again.
///
/// No state of a model outlives an execution: the model makes its objects again, and owns no memory.
class search {
public:
  using model = void (*)();

  [[nodiscard]] outcome run(model m);

  // The calls of models, by way of operations.hpp.
  [[nodiscard]] std::size_t new_atomic(std::uint64_t value);
  void end_atomic(std::size_t atomic);
  [[nodiscard]] std::uint64_t load(std::size_t atomic, std::memory_order order);
  void store(std::size_t atomic, std::uint64_t value, std::memory_order order);
  [[nodiscard]] std::uint64_t modify(std::size_t atomic, update how, std::uint64_t operand, std::memory_order order);
  [[nodiscard]] bool compare_exchange(std::size_t atomic, std::uint64_t& expected, std::uint64_t desired,
                                      std::memory_order success, std::memory_order failure);
  void lock(lock_state& l);
  [[nodiscard]] bool try_lock(lock_state& l);
  void unlock(lock_state& l);
  void made(watch& w);
  void will_read(watch& w);
  void will_write(watch& w);
  void add_thread(void (*body)(void*), void* argument);
  void run_added_threads();
  [[nodiscard]] std::size_t this_thread() const { return current_; }
  /// Effects: ends the search: this execution broke a promise.
  [[noreturn]] void fail(const std::string& why);

private:
  struct thread {
    fiber stack;
    void (*body)(void*) = nullptr;
    void* argument = nullptr;
    knowledge knows;
    std::uint64_t past = 0;  // fingerprint of its reads so far
    const lock_state* waits_for = nullptr;
    bool is_done = true;
  };
  struct choice {
    std::size_t taken;
    std::size_t of;
  };

  static void enter_model();
  static void enter_thread();

  void run_once();
  [[nodiscard]] bool next_path();
  [[nodiscard]] std::size_t choose(std::size_t of);
  void schedule();
  [[nodiscard]] bool can_go_on(const thread& t) const;
  [[nodiscard]] bool is_new_past();
  void step();
  void count_step();
  void note(const std::string& what);
  [[nodiscard]] std::uint64_t begin_event(std::uint64_t read);
  void acquire(const knowledge& message);
  void use(std::size_t atomic);
  void take(lock_state& l);
  void read_from(std::size_t atomic, number n, std::memory_order order);
  void add_write(std::size_t atomic, std::size_t place, write w, std::memory_order order, const write* continued);
  [[noreturn]] void abandon();
  thread& self() { return threads_[current_]; }

  model model_ = nullptr;
  outcome found_;
  std::unordered_set<std::uint64_t> pasts_;
  std::vector<choice> path_;
  std::size_t depth_ = 0;
  std::size_t steps_ = 0;
  bool is_over_ = false;    // this execution ends here: its past was met before, or it failed
  bool is_replay_ = false;  // repeats the failed execution, with its story

  std::array<thread, max_threads> threads_;
  std::size_t thread_count_ = 1;
  std::size_t current_ = 0;
  std::array<location, max_locations> atomics_;
  std::array<watch, max_locations> lives_{};  // a use counts as a read, the end as a write
  std::array<bool, max_locations> has_ended_{};
  std::size_t atomic_count_ = 0;
};

/// The one search of this program.
[[nodiscard]] search& the_search();

}  // namespace explorer
