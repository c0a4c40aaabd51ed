// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls of glibc that report on a heap or tune it: malloc_trim, malloc_stats, malloc_info, mallinfo, mallopt.
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string_view>

#include <fcntl.h>
#include <malloc.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/heap/heap_statistics.hpp>
#include <ashlar/heap/process_heap.hpp>

#include "malloc/error_stream.hpp"
#include "malloc/export.hpp"
#include "malloc/heap_profile.hpp"
#include "malloc/settings.hpp"
#include "malloc/statistics_text.hpp"
#include "malloc/system.hpp"

namespace ashlar::drop_in {

namespace {

// The file of the process, whose first lines are short. Its figures are the kernel's, of which `ru_maxrss`
// counts the program before an exec too.
[[nodiscard]] std::string_view status_of_process(std::span<char> into) noexcept {
  const int file = files::open("/proc/self/status", O_RDONLY);
  if (file < 0) return {};
  const long bytes = files::read(file, into);
  files::close(file);
  return {into.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0};
}

void write_statistics(const heap_statistics& now, int descriptor, bool with_classes) noexcept {
  text_output out = output_to(descriptor);
  with_classes ? write_text(now, process_id(), out)
               : write_line(now, process_id(), ::program_invocation_short_name, out);
}

[[nodiscard]] int clipped(std::size_t bytes) noexcept {
  return static_cast<int>(detail::min<std::size_t>(bytes, INT_MAX));
}

// As in glibc, a negative number of bytes is more than there are: no free memory goes back by itself.
[[nodiscard]] bool set_trim_threshold(int bytes) noexcept {
  const std::size_t retained = bytes < 0 ? detail::max_size : static_cast<std::size_t>(bytes);
  return retain_at_most(retained) == word_result::set;
}

// The last destructor to run, as its library is the first to be initialised; of a static program the last one too. A
// copy of the library that another one stands in front of has served nothing, and keeps silent.
__attribute__((destructor(101))) void write_at_exit() noexcept {
  if (!settings().writes_statistics && !heap_profile::is_on()) return;
  const heap_statistics now = statistics_of(process_heap());
  if (now.held_bytes == 0) return;
  if (settings().writes_statistics) write_statistics(now, kept_error_stream(), settings().writes_classes);
  if (heap_profile::is_on()) write_wanted_profile();
}

}  // namespace

std::size_t peak_resident_bytes() noexcept {
  constexpr std::string_view name = "\nVmHWM:";
  char text[2048];
  const std::string_view status = status_of_process(text);
  std::size_t at = status.find(name), kib = 0;
  if (at == status.npos) return 0;
  for (at += name.size(); at < status.size() && status[at] != 'k'; ++at)
    if (status[at] >= '0') kib = kib * 10 + static_cast<std::size_t>(status[at] - '0');
  return kib * 1024;
}

}  // namespace ashlar::drop_in

namespace drop_in = ashlar::drop_in;

extern "C" {

/// Returns: 1 if memory went back to the system, else 0.
ASHLAR_EXPORT int malloc_trim(std::size_t retain_bytes) noexcept {
  return ashlar::process_heap().trim(retain_bytes) != 0 ? 1 : 0;
}

ASHLAR_EXPORT void malloc_stats() noexcept {
  drop_in::write_statistics(statistics_of(ashlar::process_heap()), 2, true);
}

ASHLAR_EXPORT int malloc_info(int options, std::FILE* stream) noexcept {
  if (options != 0) return EINVAL;
  const ashlar::heap_statistics now = statistics_of(ashlar::process_heap());  // a write to a stream may allocate
  const auto write = [](const char* text, std::size_t bytes, void* to) {
    std::fwrite(text, 1, bytes, static_cast<std::FILE*>(to));
  };
  drop_in::write_xml(now, {write, stream});
  return 0;
}

/// Live and free bytes are `uordblks` and `fordblks`; of blocks with pages of their own, `hblks` and `hblkhd`.
ASHLAR_EXPORT struct mallinfo2 mallinfo2() noexcept {
  const ashlar::heap_statistics now = statistics_of(ashlar::process_heap());
  const std::size_t huge = now.huge.live_bytes, free = now.free_bytes + now.fresh_bytes + now.all.spare_bytes;
  struct mallinfo2 info = {};
  info.arena = now.held_bytes - huge;
  info.ordblks = now.all.spare_blocks;
  info.hblks = now.huge.live_blocks;
  info.hblkhd = huge;
  info.uordblks = now.all.live_bytes - huge;
  info.fordblks = free;
  info.keepcost = now.free_bytes;
  return info;
}

/// As mallinfo2; figures above `INT_MAX` are `INT_MAX`, where glibc wraps around.
ASHLAR_EXPORT struct mallinfo mallinfo() noexcept {
  const struct mallinfo2 now = ::mallinfo2();
  struct mallinfo info = {};
  info.arena = drop_in::clipped(now.arena);
  info.ordblks = drop_in::clipped(now.ordblks);
  info.hblks = drop_in::clipped(now.hblks);
  info.hblkhd = drop_in::clipped(now.hblkhd);
  info.uordblks = drop_in::clipped(now.uordblks);
  info.fordblks = drop_in::clipped(now.fordblks);
  info.keepcost = drop_in::clipped(now.keepcost);
  return info;
}

/// Returns: 1, also for parameters without a meaning here; 0 for a value that none can have, and without memory.
ASHLAR_EXPORT int mallopt(int parameter, int value) noexcept {
  if (parameter == M_TRIM_THRESHOLD) return drop_in::set_trim_threshold(value) ? 1 : 0;
  return parameter == M_MXFAST && (value < 0 || value > 80 * static_cast<int>(sizeof(std::size_t)) / 4) ? 0 : 1;
}

ASHLAR_EXPORT_AS("mallinfo") struct mallinfo __libc_mallinfo() noexcept;
ASHLAR_EXPORT_AS("mallopt") int __libc_mallopt(int parameter, int value) noexcept;

}  // extern "C"
