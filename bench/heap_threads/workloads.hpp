// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Workloads of remote frees: streams, ping-pong, batches, inheritance.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "support/keep.hpp"
#include "support/ring.hpp"
#include "support/thread_team.hpp"

namespace bench {

// Sizes drawn in advance: 16 to 256 bytes at random, or always 64.
class block_sizes {
public:
  static constexpr std::size_t mean = 136;

  explicit block_sizes(bool all_64 = false) : bytes_(1 << 13) {
    std::mt19937 random(42);
    for (std::uint16_t& each : bytes_)
      each = all_64 ? std::uint16_t{64} : static_cast<std::uint16_t>(16 + random() % 241);
  }
  [[nodiscard]] std::size_t operator[](std::size_t i) const noexcept { return bytes_[i % bytes_.size()]; }

private:
  std::vector<std::uint16_t> bytes_;
};

// The allocating thread writes each block, the freeing one reads it. Inlined with the lambdas around them, so that the
// code of every heap stands in the same loop: a compiler that leaves one of them out of line costs that heap 3 ns.
template <class User>
[[gnu::always_inline]] inline void* make_block(User& user, std::size_t bytes, std::uint64_t value) {
  void* const p = user.allocate(bytes);
  *static_cast<std::uint64_t*>(p) = value;
  escape(p);
  return p;
}

template <class User>
[[gnu::always_inline]] inline std::uint64_t end_block(User& user, void* p, std::size_t maker) {
  const std::uint64_t value = *static_cast<const std::uint64_t*>(p);
  user.free(p, maker);
  return value;
}

// The checksum of a thread, on a cache line of its own.
struct alignas(128) thread_sum {
  std::uint64_t value = 0;
};

inline std::uint64_t sum(const std::vector<thread_sum>& all) {
  return std::accumulate(all.begin(), all.end(), std::uint64_t{0},
                         [](std::uint64_t before, const thread_sum& each) { return before + each.value; });
}

// Makers and freers, a ring between each maker and each of its freers.
struct stream_shape {
  std::size_t makers, freers;
  std::size_t capacity;  // of a ring
  std::size_t left = 0;  // elements that a freer leaves in it
  bool all_64 = false;
};

template <class Users>
class stream {
public:
  static constexpr std::size_t window = 20'000;

  stream(Users& users, const stream_shape& shape) : users_(users), shape_(shape), sizes_(shape.all_64) {
    for (std::size_t i = 0; i < std::max(shape.makers, shape.freers); ++i)
      rings_.push_back(std::make_unique<block_ring>(shape.capacity, shape.left));
  }

  findings run(std::size_t windows) {
    const std::size_t threads = shape_.makers + shape_.freers;
    std::vector<pace> paces(shape_.makers, pace(window));
    std::vector<thread_sum> sums(threads);
    team_patience::expect_threads(threads);
    in_threads(threads, [&](std::size_t index) {
      if (index < shape_.makers) make(index, windows, paces[index]);
      else sums[index].value = free_all(index);
    });
    return findings::of(paces, sum(sums));
  }

private:
  using block_ring = ring<void*, team_patience>;

  void make(std::size_t index, std::size_t windows, pace& of) {
    auto user = users_.of(index);
    std::size_t to = index;
    of.start();
    for (std::size_t made = 0; made < windows * window; ++made, of.count()) {
      void* const fresh = make_block(user, sizes_[made], made);
      rings_[to]->push([&](void*& slot) __attribute__((always_inline)) { slot = fresh; });
      if ((to += shape_.makers) >= rings_.size()) to = index;
    }
    for (to = index; to < rings_.size(); to += shape_.makers) rings_[to]->close();
  }

  std::uint64_t free_all(std::size_t index) {
    auto user = users_.of(index);
    std::vector<std::size_t> open;
    for (std::size_t from = index - shape_.makers; from < rings_.size(); from += shape_.freers) open.push_back(from);
    std::uint64_t checksum = 0;
    for (std::size_t turn = 0; !open.empty();) {
      const std::size_t from = open[turn], maker = from % shape_.makers;
      const bool is_open =
          rings_[from]->pop([&](void* p) __attribute__((always_inline)) { checksum += end_block(user, p, maker); });
      if (!is_open) open.erase(open.begin() + static_cast<std::ptrdiff_t>(turn)), turn = 0;
      else if (++turn == open.size()) turn = 0;
    }
    return checksum;
  }

  Users& users_;
  stream_shape shape_;
  block_sizes sizes_;
  std::vector<std::unique_ptr<block_ring>> rings_;
};

// In each pair of threads one sends a block, which the other frees and answers by another block.
template <class Users>
findings to_and_fro(Users& users, std::size_t pairs, std::size_t windows) {
  constexpr std::size_t window = 20'000, under_way = 32;
  using block_ring = ring<void*, team_patience>;
  struct both {
    block_ring there{64, 0}, back{64, 0};
  };
  const block_sizes sizes;
  std::vector<std::unique_ptr<both>> rings(pairs);
  for (auto& each : rings) each = std::make_unique<both>();
  std::vector<pace> paces(pairs, pace(window));
  std::vector<thread_sum> sums(2 * pairs);
  const auto ask = [&](std::size_t index) {
    auto user = users.of(index);
    both& between = *rings[index];
    const auto take_answer = [&](void* p) __attribute__((always_inline)) {
      sums[index].value += end_block(user, p, index + pairs), paces[index].count();
    };
    paces[index].start();
    for (std::size_t asked = 0; asked < windows * window / 2; ++asked, paces[index].count()) {
      void* const question = make_block(user, sizes[asked], asked);
      between.there.push([&](void*& slot) __attribute__((always_inline)) { slot = question; });
      if (asked >= under_way) static_cast<void>(between.back.pop(take_answer));
    }
    between.there.close();
    while (between.back.pop(take_answer)) {
    }
  };
  const auto reply = [&](std::size_t index) {
    auto user = users.of(index);
    both& between = *rings[index - pairs];
    std::size_t answered = 0;
    while (between.there.pop(
        [&](void* p) __attribute__((always_inline)) { sums[index].value += end_block(user, p, index - pairs); })) {
      void* const answer = make_block(user, sizes[answered], answered);
      between.back.push([&](void*& slot) __attribute__((always_inline)) { slot = answer; });
      ++answered;
    }
    between.back.close();
  };
  team_patience::expect_threads(2 * pairs);
  in_threads(2 * pairs, [&](std::size_t index) { index < pairs ? ask(index) : reply(index); });
  return findings::of(paces, sum(sums));
}

// Each thread makes batches for the next one, and frees those of the former one: no block is freed by its maker.
template <class Users>
findings round_about(Users& users, std::size_t threads, std::size_t windows) {
  constexpr std::size_t batch = 256, window = 64 * batch;
  using batches = ring<std::vector<void*>, team_patience>;
  const block_sizes sizes;
  std::vector<std::unique_ptr<batches>> rings(threads);
  for (auto& each : rings) {
    each = std::make_unique<batches>(8, 0);
    for (int i = 0; i < 8; ++i) each->push([](std::vector<void*>& slot) { slot.reserve(batch); });
    for (int i = 0; i < 8; ++i) static_cast<void>(each->pop([](const std::vector<void*>&) {}));
  }
  std::vector<pace> paces(threads, pace(window));
  std::vector<thread_sum> sums(threads);
  team_patience::expect_threads(threads);
  in_threads(threads, [&](std::size_t index) {
    auto user = users.of(index);
    const std::size_t before = (index + threads - 1) % threads;
    paces[index].start();
    for (std::size_t made = 0; made < windows * window; made += batch) {
      rings[index]->push([&](std::vector<void*>& slot) __attribute__((always_inline)) {
        for (std::size_t i = 0; i < batch; ++i) slot.push_back(make_block(user, sizes[made + i], made + i));
      });
      static_cast<void>(rings[before]->pop([&](std::vector<void*>& slot) __attribute__((always_inline)) {
        for (void* const p : slot) sums[index].value += end_block(user, p, before), paces[index].count();
        slot.clear();
      }));
    }
  });
  return findings::of(paces, sum(sums));
}

// Threads start, replace random blocks among a thousand, and end; the next ones continue with the blocks of their
// neighbours. A window is a generation, including the start of its threads.
template <class Users>
findings generations(Users& users, std::size_t threads, std::size_t windows) {
  constexpr std::size_t live = 1000, replaced = 50'000;
  struct held {
    void* p;
    std::size_t maker;
  };
  const block_sizes sizes;
  std::vector<std::vector<held>> estates(threads, std::vector<held>(live, held{nullptr, 0}));
  std::vector<pace> paces(threads, pace(replaced));
  std::vector<thread_sum> sums(threads);
  const auto replace = [&](auto& user, std::size_t index, held& at, std::size_t value) __attribute__((always_inline)) {
    if (at.p != nullptr) sums[index].value += end_block(user, at.p, at.maker);
    at = {make_block(user, sizes[value], value), index};
  };
  team_patience::expect_threads(threads);
  const std::size_t rounds = windows + windows / 10;
  double fastest = 0, slowest = 0;
  findings found;
  for (std::size_t round = 0; round < rounds; ++round) {
    const double start = clock_ms(CLOCK_MONOTONIC);
    in_threads(threads, [&](std::size_t index) {
      paces[index].start();
      auto user = users.of(index);
      std::vector<held>& mine = estates[(index + round) % threads];
      std::uint32_t random = static_cast<std::uint32_t>(round * threads + index + 1);
      for (std::size_t i = 0; i < replaced; ++i, random = random * 1'664'525 + 1'013'904'223)
        replace(user, index, mine[(std::uint64_t{random} * live) >> 32], i);
      paces[index].finish_window(replaced);
    });
    const double ms = clock_ms(CLOCK_MONOTONIC) - start;
    if (round >= windows / 10) found.ns.push_back(ms * 1e6 / static_cast<double>(replaced * threads));
    const auto less = [](const pace& a, const pace& b) { return a.ns().back() < b.ns().back(); };
    fastest += std::min_element(paces.begin(), paces.end(), less)->ns().back();
    slowest += std::max_element(paces.begin(), paces.end(), less)->ns().back();
  }
  found.fairness = slowest / fastest;
  found.checksum = sum(sums);
  std::sort(found.ns.begin(), found.ns.end());
  return found;
}

// One thread makes a batch and sleeps while the other frees it, in order or shuffled. Only the frees are timed.
template <class Users>
findings bursts(Users& users, std::size_t blocks, bool in_order, std::size_t windows) {
  const block_sizes sizes;
  std::vector<void*> batch(blocks);
  std::vector<std::uint32_t> order(blocks);
  std::iota(order.begin(), order.end(), 0U);
  if (!in_order) std::shuffle(order.begin(), order.end(), std::mt19937(42));
  std::vector<pace> paces(1, pace(blocks));
  std::uint64_t checksum = 0;
  alignas(128) std::atomic<std::size_t> turn = 0;
  const auto wait_for = [&](std::size_t wanted) {
    for (team_patience waiting; turn.load(std::memory_order_acquire) != wanted;) waiting.wait();
  };
  const std::size_t rounds = windows + windows / 10;
  team_patience::expect_threads(2);
  in_threads(2, [&](std::size_t index) {
    auto user = users.of(index);
    for (std::size_t round = 0; round < rounds; ++round) {
      wait_for(2 * round + index);
      if (index == 0) {
        for (std::size_t i = 0; i < blocks; ++i) batch[order[i]] = make_block(user, sizes[i], i);
      } else {
        paces[0].start();
        for (void* const p : batch) checksum += end_block(user, p, 0);
        paces[0].finish_window(blocks);
      }
      turn.store(2 * round + index + 1, std::memory_order_release);
    }
  });
  return findings::of(paces, checksum);
}

}  // namespace bench
