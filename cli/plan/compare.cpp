// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory that heaps need for the allocations of a plan.
#include <stdexcept>
#include <thread>

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <malloc.h>
#include <sys/mman.h>

#include <ashlar/resource/tlsf_resource.hpp>

#include "cli/plan/output.hpp"
#include "cli/support/text.hpp"

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
std::uint64_t peak_of(Heap& heap, const plan::problem& p, const std::vector<plan::step>& steps,
                      std::vector<void*>& blocks, bool& failed) {
  for (const plan::step s : steps) {
    const plan::buffer& b = p.buffers[s.buffer()];
    void*& block = blocks[s.buffer()];
    if (s.dies()) heap.deallocate(std::exchange(block, nullptr));
    else block = heap.allocate(static_cast<std::size_t>(b.size), static_cast<std::size_t>(b.alignment));
    failed = failed || (!s.dies() && block == nullptr);
  }
  for (void*& block : blocks) heap.deallocate(std::exchange(block, nullptr));
  return heap.peak();
}

/// Effects: calls `measure(run)` on a thread whose arena is new; not at all where malloc gives no thread a new one. The
/// arena of a thread that has ended goes to the next thread, with its pages: each thread in turn keeps one busy until
/// none is left.
template <class F>
void with_new_arena(F measure, int most_threads = 64) {
  constexpr std::uint64_t least_start = 1 << 16;  // an arena begins with more, and grows by less for a byte
  std::thread([&] {
    malloc_run run;
    run.deallocate(run.allocate(1, 1));
    if (run.peak() >= least_start) measure(run);
    else if (most_threads > 1) with_new_arena(measure, most_threads - 1);
  }).join();
}

std::string against(const std::string& name, std::uint64_t bytes, std::uint64_t height) {
  const double percent = bytes == 0 ? 0 : 100.0 * (static_cast<double>(height) / static_cast<double>(bytes) - 1);
  return fmt::format("{:<28} {:>16}   the plan needs {:+.1f} %\n", name, bytes, percent);
}

std::string against_malloc(const heap_peaks& peaks, std::uint64_t height) {
  const std::string name = fmt::format("malloc (glibc {})", gnu_get_libc_version());
  if (peaks.malloc_start == 0) return name + ": not measured, since it gives the replay no memory of its own\n";
  if (peaks.malloc > peaks.malloc_start) return against(name, peaks.malloc, height);
  return fmt::format("{}: the phase fits into the {} it begins with\n", name, counted(peaks.malloc_start, "byte"));
}

}  // namespace

heap_peaks measure_heaps(const plan::problem& p) {
  const std::vector<plan::step> steps = plan::steps_of(p.buffers);
  std::vector<void*> blocks(p.buffers.size());  // not in the arena that is measured
  heap_peaks peaks;
  bool failed = false;
  with_new_arena([&](malloc_run& run) {
    peaks.malloc_start = run.peak();
    peaks.malloc = peak_of(run, p, steps, blocks, failed);
  });
  tlsf_run tlsf(p.buffers);
  peaks.tlsf = peak_of(tlsf, p, steps, blocks, failed);
  if (failed) throw std::runtime_error("a heap ran out of memory during the replay of the phase");
  return peaks;
}

std::string compare_with_heaps(const plan::layout& l, const heap_peaks& peaks) {
  return fmt::format("{:<28} {:>16}\n", "plan", l.height) + against("lower bound", l.lower_bound, l.height) +
         against_malloc(peaks, l.height) + against("TLSF (tlsf_resource)", peaks.tlsf, l.height);
}

}  // namespace ashlar::cli
