// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A heap on trial: its live blocks in separate memory, the resident bytes before them, the clock of the pairs.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <new>
#include <random>

#include "support/keep.hpp"
#include "support/usage.hpp"

namespace bench {

// An array in separate pages, resident from the start: it takes nothing from the heap on trial, and never grows.
template <class T>
class mapped_array {
public:
  explicit mapped_array(std::size_t capacity) : bytes_(capacity * sizeof(T)) {
    void* const p = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<T*>(p);
  }
  mapped_array(const mapped_array&) = delete;
  mapped_array& operator=(const mapped_array&) = delete;
  ~mapped_array() { ::munmap(data_, bytes_); }

  T& operator[](std::size_t i) noexcept { return data_[i]; }
  T* data() noexcept { return data_; }

private:
  std::size_t bytes_;
  T* data_;
};

// The range of block sizes.
struct size_range {
  std::size_t least, most;
  bool logarithmic = false;

  std::size_t draw(std::mt19937& random) const {
    const double u = std::uniform_real_distribution<double>(0, 1)(random);
    const auto low = static_cast<double>(least), high = static_cast<double>(most);
    return static_cast<std::size_t>(logarithmic ? low * std::pow(high / low, u) : low + (high - low) * u);
  }
};

enum class touch { every_page, first_word };

struct outcome {
  usage work;                     // of the pairs alone
  std::uint64_t pairs = 0;        // allocations; each is freed at some time
  std::uint64_t live_bytes = 0;   // peak of the requested bytes
  std::uint64_t peak_bytes = 0;   // peak of the resident bytes
  std::uint64_t held_bytes = 0;   // resident at the end of the work, without a trim,
  std::uint64_t later_bytes = 0;  // after a second of rest and, in some workloads, 100,000 more pairs
  std::uint64_t trimmed_bytes = 0, freed_bytes = 0, emptied_bytes = 0;  // trimmed; all freed; trimmed again
  double trim_ms = 0;
};

// Blocks of a heap and their costs. All bytes are resident ones since the trial began.
template <class Heap>
class trial {
public:
  explicit trial(std::size_t most_blocks) : blocks_(most_blocks) {
    reset_peak_resident();
    resident_ = resident_bytes();
    anonymous_ = anonymous_bytes();
  }

  void expect_touch(touch how) noexcept { touch_ = how; }

  void add(std::size_t bytes) {
    blocks_[count_++] = made(bytes);
    live_ += bytes;
    result.live_bytes = std::max(result.live_bytes, live_);
  }

  // Effects: frees block `i`; the last block gets its index.
  void remove(std::size_t i) noexcept {
    heap_.free(blocks_[i].p);
    live_ -= blocks_[i].bytes;
    blocks_[i] = blocks_[--count_];
  }

  void remove_all_but(std::size_t left) noexcept {
    while (count_ > left) remove(count_ - 1);
  }

  void replace(std::size_t i, std::size_t bytes) {
    heap_.free(blocks_[i].p);
    live_ = live_ - blocks_[i].bytes + bytes;
    blocks_[i] = made(bytes);
    result.live_bytes = std::max(result.live_bytes, live_);
  }

  void shuffle(std::mt19937& random) { std::shuffle(blocks_.data(), blocks_.data() + count_, random); }

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::size_t live() const noexcept { return live_; }
  [[nodiscard]] std::uint64_t held() const noexcept { return since(anonymous_bytes(), anonymous_); }

  template <class Work>
  void timed(Work work) {
    const usage start = usage::now();
    work();
    result.work = result.work + (usage::now() - start);
  }

  // Effects: trims the heap, with the live blocks and then without any.
  void finish() {
    result.peak_bytes = since(peak_resident_bytes(), resident_);
    const double start = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
    heap_.trim();
    result.trim_ms = clock_ms(CLOCK_PROCESS_CPUTIME_ID) - start;
    result.trimmed_bytes = held();
    remove_all_but(0);
    result.freed_bytes = held();
    heap_.trim();
    result.emptied_bytes = held();
  }

  outcome result;

private:
  struct block {
    std::byte* p;
    std::size_t bytes;
  };

  static std::uint64_t since(std::uint64_t now, std::uint64_t start) noexcept { return now > start ? now - start : 0; }

  block made(std::size_t bytes) {
    const block b{static_cast<std::byte*>(heap_.allocate(bytes)), bytes};
    *reinterpret_cast<std::size_t*>(b.p) = bytes;
    ++result.pairs;
    if (touch_ == touch::every_page) {
      for (std::size_t at = 4096; at < bytes; at += 4096) b.p[at] = std::byte{1};
      b.p[bytes - 1] = std::byte{1};
    }
    escape(b.p);
    return b;
  }

  Heap heap_;
  mapped_array<block> blocks_;
  std::size_t count_ = 0;
  std::size_t live_ = 0;
  touch touch_ = touch::every_page;
  std::uint64_t resident_ = 0, anonymous_ = 0;
};

}  // namespace bench
