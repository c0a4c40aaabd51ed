// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes heap profiles: a line for each stack, then the memory map, by which readers find the names of functions.
#include "malloc/profile_text.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include <ashlar/detail/support/panic.hpp>
#include <ashlar/detail/support/text_writer.hpp>

#include "malloc/call_stack.hpp"
#include "malloc/cancellation.hpp"
#include "malloc/error_stream.hpp"

namespace ashlar::drop_in {

namespace {

void report_unwritten(const char* file, int error) noexcept {
  detail::panic_line line;
  line.text("ashlar: no profile is written to '").text(file).text("': errno ");
  write_to(kept_error_stream(), line.number(static_cast<std::uint64_t>(error)).text("\n").view());
}

[[nodiscard]] int open_profile(const char* path) noexcept {
  detail::panic_line name;
  for (; *path != '\0'; ++path) {
    if (path[0] == '%' && path[1] == 'p') name.number(static_cast<std::uint64_t>(::getpid())), ++path;
    else name.text({path, 1});
  }
  char text[detail::panic_line::capacity + 1] = {};
  std::memcpy(text, name.view().data(), name.view().size());
  const int file = ::open(text, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) report_unwritten(text, errno);
  return file;
}

void write_counts(detail::text_writer<text_output>& text, const profile_site& of) {
  text.number(of.live).text(": ").number(of.live_bytes).text(" [").number(of.allocated).text(": ");
  text.number(of.allocated_bytes).text("] @");
}

void copy_file(const char* path, int to) noexcept {
  const int from = ::open(path, O_RDONLY | O_CLOEXEC);
  if (from < 0) return;
  char part[1024];
  for (::ssize_t bytes; (bytes = ::read(from, part, sizeof part)) > 0;)
    write_to(to, {part, static_cast<std::size_t>(bytes)});
  ::close(from);
}

}  // namespace

ASHLAR_COLD void write_profile(const char* path, const profile_tables& of) noexcept {
  const cancellation_deferral whole;
  const int before = errno;
  int file = open_profile(path);
  if (file < 0) return static_cast<void>(errno = before);
  profile_site sum = {};
  for (std::uint32_t number = 0; number < of.sites_used; ++number) {
    const profile_site& each = of.site(number);
    sum.live += each.live, sum.live_bytes += each.live_bytes;
    sum.allocated += each.allocated, sum.allocated_bytes += each.allocated_bytes;
  }
  text_output out = output_to(file);
  detail::text_writer text(out);
  write_counts(text.text("heap profile: "), sum);
  text.text(" heap_v2/").number(of.interval).text("\n");
  for (std::uint32_t number = 0; number < of.sites_used; ++number) {
    const profile_site& each = of.site(number);
    if (each.allocated == 0) continue;
    write_counts(text, each);
    for (std::uint32_t at = 0; at < each.stack.depth; ++at) text.text(" ").address(each.stack.frames[at]);
    text.text("\n");
  }
  text.text("\nMAPPED_LIBRARIES:\n").flush();
  copy_file("/proc/self/maps", file);
  ::close(file);
  errno = before;
}

ASHLAR_COLD void write_holder(const profile_site& of, std::uint32_t interval) noexcept {
  int error_stream = kept_error_stream();
  text_output out = output_to(error_stream);
  detail::text_writer text(out);
  text.text("  about ").size(of.estimated_bytes(interval)).text(" live, allocated by\n").flush();
  write_frames(of.stack.frames, of.stack.depth, error_stream);
}

}  // namespace ashlar::drop_in
