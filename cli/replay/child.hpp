// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the replay gives to the process that replays for one allocator: its command line, and a compiled trace in a
// temporary file, written once; and the measurements of that process: plain data, since they travel through a pipe.
#pragma once

#include <type_traits>

#include <ashlar/study/replay_op.hpp>
#include <ashlar/study/window_compiler.hpp>

#include "cli/support/temporary.hpp"

namespace ashlar::cli {

/// The start of the file. Each window: a `window_head`, each lane's number of operations in 4 bytes, the operations.
struct window_file_head {
  std::uint64_t operations = 0;
  std::uint64_t windows = 0;
  std::uint64_t largest_window = 0;  ///< Bytes of counts and operations.
  std::uint32_t slots = 0;
  std::uint32_t lanes = 0;
};

struct window_head {
  std::uint32_t lanes = 0;  ///< Even: the last count may be padding.
  std::uint32_t operations = 0;
};

/// The sink of a `window_compiler`.
class window_writer {
public:
  explicit window_writer(temporary_file& file);
  void operator()(const detail::replay_window& window);
  /// Effects: writes the head; the file is ready.
  void finish(const detail::replay_counts& counts);

private:
  temporary_file* file_;
  std::uint64_t largest_ = 0;
  std::vector<std::uint32_t> counts_;
};

/// Reads windows into its own memory, mapped and populated in advance: the allocator under test has no part in it.
class window_reader {
public:
  /// Throws: `std::runtime_error`, as does `next`.
  explicit window_reader(int descriptor);

  [[nodiscard]] const window_file_head& head() const noexcept { return head_; }
  /// Returns: whether there was another window.
  [[nodiscard]] bool next();
  /// Returns: the operations of the window for `lane`.
  [[nodiscard]] std::span<const detail::replay_op> lane(std::uint32_t lane) const noexcept;

private:
  void read(void* to, std::size_t bytes);

  int descriptor_;
  std::uint64_t offset_ = 0;
  std::uint64_t windows_left_ = 0;
  window_file_head head_;
  window_head window_;
  std::byte* buffer_ = nullptr;
  std::span<std::size_t> first_;  // lane i has operations first_[i] .. first_[i + 1]
};

/// Returns: fresh zeroed pages, populated; they stay until the process ends. Throws: `std::runtime_error`.
[[nodiscard]] std::byte* map_pages(std::size_t bytes);
/// Returns: bytes that `map_pages` has provided.
[[nodiscard]] std::size_t mapped_pages_bytes() noexcept;

/// The allocator in the replaying process.
/// `local_heap`: one for each lane. `heap`, `tiered_heap`: one for all.
enum class replay_stand { system, null, untouched, ashlar, local_heap, heap, tiered_heap };

struct replay_task {
  replay_stand stand = replay_stand::system;
  bool latency = false;
  std::string library;  ///< Must provide malloc; empty: any malloc.
  int windows = -1;     ///< A descriptor, inherited; none: only the library is checked.
  int result = -1;      ///< A descriptor, inherited.
};

/// Nanoseconds for each call; `max` is exact, the others are within 3.2 %.
struct latency_figures {
  double p50 = 0;
  double p99 = 0;
  double p999 = 0;
  double max = 0;
  std::uint64_t calls = 0;
};

struct replay_result {
  std::uint64_t operations = 0;
  std::uint64_t lanes = 0;
  double wall_ns = 0;         ///< From the first lane's start to the last lane's end, summed over the windows.
  double cpu_ns = 0;          ///< Of all lanes together.
  double busiest_cpu_ns = 0;  ///< Of the busiest lane.
  double user_ns = 0;
  double system_ns = 0;
  double threads_ns = 0;             ///< Wall time of each lane in each window, summed.
  double waited_ns = 0;              ///< Of that: waits for another lane to allocate the block.
  std::uint64_t waits = 0;           ///< The number of waits.
  std::uint64_t faults = 0;          ///< Minor page faults.
  std::uint64_t baseline_bytes = 0;  ///< Resident before the first operation: program, libraries, buffers.
  std::uint64_t peak_bytes = 0;      ///< Peak of the resident bytes, less the baseline.
  std::uint64_t end_bytes = 0;       ///< Resident after the last operation, less the baseline.
  std::uint64_t held_bytes = 0;      ///< Peak at window ends of bytes mapped for writing, less the replay's own.
  std::uint64_t failed = 0;          ///< Requests that the allocator could not serve.
  std::uint64_t damaged = 0;         ///< Blocks whose contents another thread or the allocator changed.
  double timer_ns = 0;               ///< The cost of reading the clock twice; subtracted from the latencies.
  double timer_step_ns = 0;          ///< The least visible difference of the clock.
  latency_figures calls;             ///< Allocations and frees together. Latencies are 0 unless requested.
  latency_figures allocations;
  latency_figures frees;
};
/// Returns: the time of the operations. A single thread waits only for a processor, so its own processor time counts,
/// which other programs disturb least. Several threads wait for each other, so their wall time counts.
[[nodiscard]] inline double time_ns(const replay_result& r) noexcept { return r.lanes == 1 ? r.cpu_ns : r.wall_ns; }
static_assert(std::is_trivially_copyable_v<replay_result>);

inline constexpr const char* replay_child_flag = "--in-this-process";

/// Effects: replays, writes a `replay_result` to the file and exits without destruction. Expects: `argv` comes from
/// `replay_all` or `expect_malloc`; `argv[1]` is the flag.
[[noreturn]] void replay_in_this_process(int argc, char** argv);

}  // namespace ashlar::cli
