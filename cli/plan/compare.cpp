// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory that heaps need for the allocations of a plan.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <malloc.h>
#include <sys/mman.h>

#include <ashlar/base/layout.hpp>
#include <ashlar/base/problem.hpp>
#include <ashlar/resource/null_resource.hpp>
#include <ashlar/resource/tlsf_resource.hpp>

#include "cli/plan/output.hpp"

namespace ashlar::cli {

namespace {

/// Calls malloc and free, and observes the memory that malloc takes from the system. The query is slow, so it runs only
/// when a block ends higher than all former ones in its region, or is large enough for a mapping of its own.
class malloc_run {
public:
  malloc_run() : before_(taken()) {}

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    void* const p = alignment <= alignof(std::max_align_t) ? std::malloc(bytes) : aligned_alloc(alignment, bytes);
    if (p != nullptr) watch(reinterpret_cast<std::uintptr_t>(p), bytes);
    return p;
  }
  void deallocate(void* p) { std::free(p); }
  [[nodiscard]] std::uint64_t peak() const noexcept { return peak_; }

private:
  static constexpr unsigned region_bits = 26;  // arenas of glibc consist of regions of 64 MiB
  static constexpr std::uint64_t page = 4096;

  [[nodiscard]] static std::uint64_t taken() {
    const struct mallinfo2 now = mallinfo2();
    return now.arena + now.hblkhd;
  }

  void watch(std::uint64_t address, std::uint64_t size) {
    std::uint64_t& highest = highest_[address >> region_bits];
    if (address + size < highest + page && size < 16 * page) return;
    highest = std::max(highest, address + size);
    peak_ = std::max(peak_, taken() - before_);
  }

  std::map<std::uint64_t, std::uint64_t> highest_;  // by region
  std::uint64_t before_ = 0;
  std::uint64_t peak_ = 0;
};

/// Calls the library's TLSF on a range of addresses of which blocks touch only the pages of their headers.
class tlsf_run {
public:
  explicit tlsf_run(const std::vector<plan::buffer>& buffers) {
    for (const plan::buffer& b : buffers) bytes_ += b.size + b.alignment + block_overhead;
    bytes_ = std::min(bytes_, most_bytes);
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    // Without a reuse of any block all bytes would be needed; a system that promises no more has less of them.
    while ((memory_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, flags, -1, 0)) == MAP_FAILED) {
      if (bytes_ < 4096) throw std::runtime_error("there is no memory for the replay of the phase by TLSF");
      bytes_ /= 2;
    }
    heap_.emplace(std::span(static_cast<std::byte*>(memory_), bytes_));
  }
  tlsf_run(const tlsf_run&) = delete;
  tlsf_run& operator=(const tlsf_run&) = delete;
  ~tlsf_run() {
    heap_.reset();
    ::munmap(memory_, bytes_);
  }

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    void* const p = heap_->try_allocate(bytes, alignment);
    if (p != nullptr) peak_ = std::max(peak_, address_of(p) + bytes - address_of(memory_));
    return p;
  }
  void deallocate(void* p) { heap_->deallocate(p); }
  [[nodiscard]] std::uint64_t peak() const noexcept { return peak_; }

private:
  static constexpr std::uint64_t block_overhead = 64, most_bytes = std::uint64_t{1} << 40;

  [[nodiscard]] static std::uint64_t address_of(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

  std::uint64_t bytes_ = 1 << 16;
  void* memory_ = nullptr;
  std::optional<tlsf_resource<null_resource>> heap_;
  std::uint64_t peak_ = 0;
};

/// Returns: the peak of the heap for the births and deaths; blocks that live to the end are given back too.
template <class Heap>
std::uint64_t peak_of(Heap& heap, const plan::problem& p, const std::vector<plan::step>& steps, bool& failed) {
  std::vector<void*> blocks(p.buffers.size());
  for (const plan::step s : steps) {
    const plan::buffer& b = p.buffers[s.buffer()];
    void*& block = blocks[s.buffer()];
    if (s.dies()) heap.deallocate(std::exchange(block, nullptr));
    else block = heap.allocate(static_cast<std::size_t>(b.size), static_cast<std::size_t>(b.alignment));
    failed = failed || (!s.dies() && block == nullptr);
  }
  for (void* const block : blocks) heap.deallocate(block);
  return heap.peak();
}

std::string against(const std::string& name, std::uint64_t bytes, std::uint64_t height) {
  const double percent = bytes == 0 ? 0 : 100.0 * (static_cast<double>(height) / static_cast<double>(bytes) - 1);
  return fmt::format("{:<28} {:>16}   the plan needs {:+.1f} %\n", name, bytes, percent);
}

}  // namespace

heap_peaks measure_heaps(const plan::problem& p) {
  const std::vector<plan::step> steps = plan::steps_of(p.buffers);
  heap_peaks peaks;
  bool failed = false;
  std::thread([&] {  // whose arena is fresh
    malloc_run run;
    peaks.malloc = peak_of(run, p, steps, failed);
  })
      .join();
  tlsf_run tlsf(p.buffers);
  peaks.tlsf = peak_of(tlsf, p, steps, failed);
  if (failed) throw std::runtime_error("a heap ran out of memory during the replay of the phase");
  return peaks;
}

/// A thread's arena begins with some pages; a plan that fits into them cannot be measured.
std::string compare_with_heaps(const plan::layout& l, const heap_peaks& peaks) {
  const std::string malloc_name = fmt::format("malloc (glibc {})", gnu_get_libc_version());
  return fmt::format("{:<28} {:>16}\n", "plan", l.height) + against("lower bound", l.lower_bound, l.height) +
         (peaks.malloc != 0 ? against(malloc_name, peaks.malloc, l.height)
                            : malloc_name + ": the phase fits into the pages it begins with\n") +
         against("TLSF (tlsf_resource)", peaks.tlsf, l.height);
}

}  // namespace ashlar::cli
