// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A rule that every malloc must keep, and the words in which rules are written.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <source_location>
#include <span>
#include <thread>
#include <vector>

namespace malloc_rules {

/// A rule runs in a process of its own, which exits with 0 if the malloc keeps the rule. Its definition puts it into
/// the list of its program.
struct rule {
  const char* name;  // concept.rule
  void (*check)();
  const rule* next = nullptr;

  rule(const char* concept_and_name, void (*function)());
};
const rule* first_rule();

/// RULE(concept, name) { … }
#define RULE(of, name)                                                                   \
  static void rule_##of##_##name();                                                      \
  static ::malloc_rules::rule entry_of_##of##_##name{#of "." #name, rule_##of##_##name}; \
  static void rule_##of##_##name()

/// Effects: unless `holds`, prints the place, `what` and `of`, and ends the process. Allocates nothing.
void expect(bool holds, const char* what, std::size_t of = 0,
            std::source_location place = std::source_location::current());

/// Effects: where LD_PRELOAD names a library, expects that malloc is its own: the loader ignores one that it cannot
/// load.
void expect_preloaded();

/// Effects: runs `run` in a forked child, which then calls exit(0).
/// Returns: the status of the child, as waitpid gives it.
int status_of_child(void (*run)());

/// Effects: the same; expects the child to exit with 0.
void expect_good_child(void (*run)(), const char* what, std::source_location place = std::source_location::current());

/// Effects: fills the block with a pattern that depends on `seed` and on the position.
void fill(void* block, std::size_t bytes, std::uint64_t seed);

/// Returns: whether fill(block, bytes, seed) wrote the first `bytes`.
[[nodiscard]] bool is_filled(const void* block, std::size_t bytes, std::uint64_t seed);

[[nodiscard]] bool is_zero(const void* block, std::size_t bytes);
[[nodiscard]] bool is_aligned(const void* block, std::size_t alignment);

/// Returns: `value`, unknown to the compiler: it would warn of an excessive size, or leave a malloc and its free out.
[[nodiscard]] std::size_t hidden(std::size_t value);

/// Sizes from 0 to 16 MiB: each up to 1100, then each power of two and each three quarters of one, with the sizes just
/// below and above.
[[nodiscard]] std::span<const std::size_t> many_sizes();

/// A xorshift generator: seeds give the same numbers on all systems.
class random_numbers {
public:
  explicit random_numbers(std::uint64_t seed) : state_{seed * 0x9E37'79B9'7F4A'7C15 | 1} {}

  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    return state_ ^= state_ << 17;
  }
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(next() >> 11) % bound; }
  /// Returns: a size below 2^bits, as often between 2^k and 2^(k+1) for each k.
  std::size_t size(unsigned bits) { return below(std::size_t{2} << below(bits)); }

private:
  std::uint64_t state_;
};

/// Effects: calls `f(t)` in `count` threads at once, for each t from 0 on, and waits for their ends.
template <class F>
void in_threads(unsigned count, F f) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < count; ++t) threads.emplace_back(f, t);
  for (std::thread& each : threads) each.join();
}

/// Threads that allocate and free without a pause until this object is destroyed.
class load {
public:
  explicit load(unsigned threads = 4) {
    for (unsigned t = 0; t < threads; ++t) threads_.emplace_back([this, t] { work(t + 1); });
  }
  ~load() {
    is_over_ = true;
    for (std::thread& each : threads_) each.join();
  }
  load(const load&) = delete;

private:
  void work(std::uint64_t seed) {
    random_numbers random{seed};
    void* blocks[200] = {};
    while (!is_over_) {
      void*& p = blocks[random.below(std::size(blocks))];
      std::free(p);
      p = std::malloc(random.size(random.below(200) == 0 ? 22 : 13));
    }
    for (void* p : blocks) std::free(p);
  }

  std::atomic<bool> is_over_{false};
  std::vector<std::thread> threads_;
};

}  // namespace malloc_rules
