// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory that heaps need for the allocations of a plan.
#include "cli/plan/compare.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gnu/libc-version.h>
#include <malloc.h>

#include <ashlar/base/problem.hpp>

#include "cli/plan/tlsf.hpp"

namespace ashlar::cli {

namespace {

/// Calls malloc and free, and observes the memory that malloc takes from the system. The query is slow, so it runs only
/// when a block ends higher than all former ones in its region, or is large enough for a mapping of its own.
class malloc_run {
public:
  explicit malloc_run(const std::vector<plan::buffer>& buffers) : buffers_(buffers), blocks_(buffers.size()) {
    before_ = taken();
  }
  malloc_run(const malloc_run&) = delete;
  malloc_run& operator=(const malloc_run&) = delete;
  ~malloc_run() {
    for (void* p : blocks_) std::free(p);
  }

  [[nodiscard]] bool allocate(std::size_t i) {
    const plan::buffer& b = buffers_[i];
    const auto size = static_cast<std::size_t>(b.size);
    const auto alignment = static_cast<std::size_t>(b.alignment);
    blocks_[i] = alignment <= alignof(std::max_align_t) ? std::malloc(size) : aligned_alloc(alignment, size);
    if (blocks_[i] != nullptr) watch(reinterpret_cast<std::uintptr_t>(blocks_[i]), size);
    return blocks_[i] != nullptr;
  }

  void deallocate(std::size_t i) {
    std::free(blocks_[i]);
    blocks_[i] = nullptr;
  }

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

  const std::vector<plan::buffer>& buffers_;
  std::vector<void*> blocks_;
  std::map<std::uint64_t, std::uint64_t> highest_;  // by region
  std::uint64_t before_ = 0;
  std::uint64_t peak_ = 0;
};

/// Returns: the peak, or nothing if malloc failed. Runs on a separate thread, whose arena is fresh.
std::uint64_t peak_of_malloc(const plan::problem& p, const std::vector<plan::step>& steps, bool& failed) {
  std::uint64_t peak = 0;
  std::thread([&] {
    malloc_run run(p.buffers);
    for (const plan::step s : steps)
      if (s.dies()) run.deallocate(s.buffer());
      else if (!run.allocate(s.buffer())) failed = true;
    peak = run.peak();
  }).join();
  return peak;
}

std::string against(const char* name, std::uint64_t bytes, std::uint64_t height) {
  char text[160];
  const double percent = bytes == 0 ? 0 : 100.0 * (static_cast<double>(height) / static_cast<double>(bytes) - 1);
  std::snprintf(text, sizeof text, "%-28s %16llu   the plan needs %+.1f %%\n", name,
                static_cast<unsigned long long>(bytes), percent);
  return text;
}

/// A thread's arena begins with some pages; a plan that fits into them cannot be measured.
std::string against_malloc(const std::string& name, std::uint64_t bytes, std::uint64_t height) {
  return bytes != 0 ? against(name.c_str(), bytes, height) : name + ": the phase fits into the pages it begins with\n";
}

}  // namespace

heap_peaks measure_heaps(const plan::problem& p) {
  const std::vector<plan::step> steps = plan::steps_of(p.buffers);
  tlsf_model tlsf;
  std::vector<std::uint64_t> addresses(p.buffers.size());
  for (const plan::step s : steps)
    if (s.dies()) tlsf.deallocate(addresses[s.buffer()]);
    else addresses[s.buffer()] = tlsf.allocate(p.buffers[s.buffer()].size, p.buffers[s.buffer()].alignment);
  bool failed = false;
  const std::uint64_t peak = peak_of_malloc(p, steps, failed);
  if (failed) throw std::runtime_error("malloc ran out of memory during the replay of the phase");
  return {peak, tlsf.peak()};
}

std::string compare_with_heaps(const plan::layout& l, const heap_peaks& peaks) {
  const std::string malloc_name = std::string("malloc (glibc ") + gnu_get_libc_version() + ")";
  char text[80];
  std::snprintf(text, sizeof text, "%-28s %16llu\n", "plan", static_cast<unsigned long long>(l.height));
  return text + against("lower bound", l.lower_bound, l.height) + against_malloc(malloc_name, peaks.malloc, l.height) +
         against("TLSF (modelled)", peaks.tlsf, l.height);
}

}  // namespace ashlar::cli
