// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Millions of blocks of one heap that go from thread to thread, each with an oracle in it, at full speed.
//
//     heap_threads_marathon [--frees N] [--threads T] [--seed S]     until there were N remote frees
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <ashlar/base/lock.hpp>
#include <ashlar/heap/heap.hpp>

namespace {

[[noreturn]] void give_up(const char* what, std::uint64_t stamp, const void* block) {
  std::fprintf(stderr, "heap_threads_marathon: %s: stamp %llx at %p\n", what, static_cast<unsigned long long>(stamp),
               block);
  std::abort();
}

/// The first bytes of a live block, with their complement in the last ones: its thread, its number and its size. Two
/// owners of one block at once see each other's stamp.
struct stamp {
  static constexpr std::uint64_t gone = 0x5A5A'5A5A'5A5A'5A5A;

  std::uint64_t value;

  static stamp of(std::size_t who, std::uint64_t sequence, std::size_t bytes) {
    return {std::uint64_t{who} << 56 | (sequence & 0xFFFF'FFFF) << 24 | std::uint64_t{bytes}};
  }
  static stamp in(const void* block) {
    stamp found{};
    std::memcpy(&found.value, block, sizeof found.value);
    return found;
  }

  [[nodiscard]] std::size_t who() const { return static_cast<std::size_t>(value >> 56); }
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(value & 0xFF'FFFF); }
  /// The sums of digests are equal if each written stamp was read once.
  [[nodiscard]] std::uint64_t digest() const { return (value ^ value >> 29) * 0x9E37'79B9'7F4A'7C15; }

  void write(void* block) const { put(block, bytes(), value, ~value); }

  /// Effects: ends the process if the block has changed since it was written; wipes it.
  void expect_and_wipe(void* block) const {
    std::uint64_t last = 0;
    if (bytes() < 16 || bytes() > 8u << 20) give_up("no stamp", value, block);
    std::memcpy(&last, static_cast<std::byte*>(block) + bytes() - sizeof last, sizeof last);
    if (last != ~value) give_up("somebody else wrote here", value, block);
    put(block, bytes(), gone, gone);
  }

private:
  static void put(void* block, std::size_t bytes, std::uint64_t first, std::uint64_t last) {
    std::memcpy(block, &first, sizeof first);
    std::memcpy(static_cast<std::byte*>(block) + bytes - sizeof last, &last, sizeof last);
  }
};

class dice {
public:
  explicit dice(std::uint64_t seed) : state_(seed * 0x9E37'79B9'7F4A'7C15 | 1) {}

  std::uint64_t roll() {
    state_ ^= state_ << 13, state_ ^= state_ >> 7, state_ ^= state_ << 17;
    return state_ * 0x2545'F491'4F6C'DD1D >> 16;
  }

private:
  std::uint64_t state_;
};

/// Sizes of all kinds: mostly cells, some spans, few huge blocks.
std::size_t any_size(dice& random) {
  const std::uint64_t kind = random.roll() % 65'536;
  const auto bits = static_cast<std::size_t>(random.roll());
  if (kind < 60'000) return 16 + bits % 400;
  if (kind < 65'400) return 16 + bits % 12'000;
  return kind != 65'535 ? 33'000 + bits % 300'000 : (std::size_t{5} << 20) + bits % 1'000'000;
}

/// The work of one thread.
struct tally {
  std::uint64_t allocated = 0, freed = 0, remote = 0;
  std::uint64_t written = 0, read = 0;  // digests

  void operator+=(const tally& other) {
    allocated += other.allocated, freed += other.freed, remote += other.remote;
    written += other.written, read += other.read;
  }
};

class marathon {
public:
  marathon(std::uint64_t frees, std::size_t threads, std::uint64_t seed) : frees_(frees), rows_(threads), seed_(seed) {}

  tally run() {
    std::vector<std::thread> rows;
    for (std::size_t row = 0; row < rows_; ++row) rows.emplace_back([this, row] { live_and_die(row); });
    for (std::thread& each : rows) each.join();
    for (auto& each : ring_) take(each.exchange(nullptr), rows_, all_);
    return all_;
  }

  /// Effects: ends the process if a block is left.
  void expect_nothing() {
    if (all_.allocated != all_.freed || all_.written != all_.read) give_up("lost or doubled", all_.freed, nullptr);
    if (!heap_.invariant()) give_up("the heap is not sound", 0, nullptr);
    static_cast<void>(heap_.trim());
    if (heap_.held_bytes() != 0) give_up("memory is left", heap_.held_bytes(), nullptr);
  }

  [[nodiscard]] std::size_t most_held() const { return most_held_; }

private:
  static constexpr std::size_t steps_of_a_life = 200'000;

  // One thread after another, so that heaps are parked and adopted.
  void live_and_die(std::size_t row) {
    for (std::uint64_t life = 0; remote_ < frees_; ++life)
      std::thread([&] {
        tally mine;
        live(row, life, mine);
        all_lock_.lock();
        all_ += mine;
        most_held_ = std::max(most_held_, heap_.held_bytes());
        all_lock_.unlock();
      }).join();
  }

  void live(std::size_t row, std::uint64_t life, tally& mine) {
    dice random(seed_ * 1'000'003 + life * 256 + row);
    const std::uint64_t steps = steps_of_a_life / 8 + random.roll() % steps_of_a_life;
    std::uint64_t told = 0;
    for (std::uint64_t i = 0; i < steps; ++i) {
      step(row, life * steps_of_a_life * 2 + i, random, mine);
      if (i % 1024 != 0) continue;
      if (remote_.fetch_add(mine.remote - std::exchange(told, mine.remote)) >= frees_) return;
      if (random.roll() % 64 == 0) do_something_seldom(random, row, mine);
    }
  }

  void step(std::size_t row, std::uint64_t sequence, dice& random, tally& mine) {
    const stamp now = stamp::of(row, sequence, any_size(random));
    void* const fresh = heap_.try_allocate(now.bytes());
    if (fresh == nullptr) give_up("no memory", now.value, nullptr);
    now.write(fresh);
    ++mine.allocated, mine.written += now.digest();
    // Pairs with itself: another thread wrote the block.
    take(ring_[random.roll() % ring_.size()].exchange(fresh, std::memory_order_acq_rel), row, mine);
  }

  void do_something_seldom(dice& random, std::size_t row, tally& mine) {
    const std::uint64_t what = random.roll() % 8;
    if (what == 0) static_cast<void>(heap_.trim());
    else if (what == 1) heap_.flush();
    else if (what == 2) heap_.adopt(heap_.detach());
    else if (what == 3) static_cast<void>(heap_.detach());
    else if (what < 6)  // for a while the thread only frees
      for (auto& each : ring_) take(each.exchange(nullptr, std::memory_order_acq_rel), row, mine);
  }

  void take(void* block, std::size_t row, tally& mine) {
    if (block == nullptr) return;
    const stamp found = stamp::in(block);
    found.expect_and_wipe(block);
    ++mine.freed, mine.read += found.digest();
    mine.remote += found.who() != row ? 1 : 0;
    if (found.value % 2 == 0) heap_.deallocate(block);
    else heap_.deallocate(block, found.bytes());
  }

  std::uint64_t frees_;
  std::size_t rows_;
  std::uint64_t seed_;
  ashlar::heap<> heap_;
  std::array<std::atomic<void*>, 32768> ring_ = {};
  std::atomic<std::uint64_t> remote_ = 0;
  ashlar::spin_lock all_lock_;
  tally all_;
  std::size_t most_held_ = 0;
};

std::uint64_t number(int argc, char** argv, const char* option, std::uint64_t otherwise) {
  for (int i = 1; i + 1 < argc; i += 2)
    if (std::strcmp(argv[i], option) == 0) return std::strtoull(argv[i + 1], nullptr, 10);
  return otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t frees = number(argc, argv, "--frees", 10'000'000);
  const auto threads = static_cast<std::size_t>(std::clamp<std::uint64_t>(number(argc, argv, "--threads", 4), 1, 200));
  const std::uint64_t seed = number(argc, argv, "--seed", 1);
  const std::time_t start = std::time(nullptr);
  const auto all = std::make_unique<marathon>(threads > 1 ? frees : 0, threads, seed);
  const tally done = all->run();
  all->expect_nothing();
  std::printf("%llu remote frees of %llu, %zu threads, seed %llu, level %d, %zu MiB held at most: %lld s\n",
              static_cast<unsigned long long>(done.remote), static_cast<unsigned long long>(done.freed), threads,
              static_cast<unsigned long long>(seed), ASHLAR_CHECKING, all->most_held() >> 20,
              static_cast<long long>(std::time(nullptr) - start));
  return 0;
}
