// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes heap profiles: a line for each stack, then the memory map, by which readers find the names of functions.
#include "malloc/profile_tables.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <fcntl.h>

#include <ashlar/base/platform.hpp>
#include <ashlar/detail/support/text_writer.hpp>

#include "malloc/call_stack.hpp"
#include "malloc/error_stream.hpp"
#include "malloc/loaded_files.hpp"
#include "malloc/system.hpp"

namespace ashlar::drop_in {

namespace {

struct profile_path {
  char text[detail::panic_line::capacity + 1] = {};

  explicit profile_path(const char* naming) noexcept {
    detail::panic_line name;
    for (; *naming != '\0'; ++naming) {
      if (naming[0] == '%' && naming[1] == 'p') name.number(static_cast<std::uint64_t>(process_id())), ++naming;
      else name.text({naming, 1});
    }
    std::memcpy(text, name.view().data(), name.view().size());
  }

  // Whether the last part may be a link: one such as /dev/stdout, and none that anyone may put into a folder.
  [[nodiscard]] bool is_of_system() const noexcept {
    const auto begins_with = [this](const char* with) { return std::strncmp(text, with, std::strlen(with)) == 0; };
    return begins_with("/proc/") || (begins_with("/dev/") && !begins_with("/dev/shm/"));
  }
};

void report(const char* before, const profile_path& path, const char* behind, int error) noexcept {
  detail::panic_line line;
  line.text("ashlar: ").text(before).text(path.text).text(behind).text(": errno ");
  int error_stream = kept_error_stream();
  write_to(error_stream, line.number(static_cast<std::uint64_t>(error)).text("\n").view());
}

void report_full(const profile_path& path, const profile_tables& of) noexcept {
  detail::panic_line line;
  line.text("ashlar: the profile '").text(path.text).text("' may name frames by modules that were loaded later, ");
  line.text("since more were loaded than it keeps; frames: ");
  line.number(of.frames_without).text("\n");
  int error_stream = kept_error_stream();
  write_to(error_stream, line.view());
}

// Neither waits for the reader of a FIFO, nor follows a link to a file that would lose its contents.
[[nodiscard]] int open_profile(const profile_path& path) noexcept {
  constexpr int flags = O_WRONLY | O_NONBLOCK | O_NOCTTY;
  int file = files::open(path.text, flags | O_CREAT | O_TRUNC | O_NOFOLLOW, 0644);
  if (file == -ELOOP && path.is_of_system()) file = files::open(path.text, flags | O_APPEND);
  if (file < 0) report("no profile is written to '", path, "'", -file);
  return file;
}

void write_counts(detail::text_writer<text_output>& text, const profile_site& of) {
  text.number(of.live).text(": ").number(of.live_bytes).text(" [").number(of.allocated).text(": ");
  text.number(of.allocated_bytes).text("] @");
}

void copy_file(const char* path, int& to) noexcept {
  const int from = files::open(path, O_RDONLY);
  if (from < 0) return;
  char part[1024];
  for (long bytes; (bytes = files::read(from, part)) > 0;) write_to(to, {part, static_cast<std::size_t>(bytes)});
  files::close(from);
}

// A closed module is one whose line the map no longer has: other memory may be there now.
void find_closed_modules(profile_tables& of) noexcept {
  for (std::uint32_t number = 1; number < of.modules_used; ++number)
    of.module(number).is_closed = of.module(number).line_bytes != 0;
  file_lines lines("/proc/self/maps");
  for (std::string_view line; lines.next(line);)
    for (std::uint32_t number = 1; number < of.modules_used; ++number)
      if (of.module(number).line() == line) of.module(number).is_closed = false;
}

// Beyond all memory of user programs on each processor, and below the kernel's.
[[nodiscard]] std::uint64_t address_of_closed(std::uint32_t number) noexcept {
  return (std::uint64_t{1} << 60) + (std::uint64_t{number} << 32);
}

[[nodiscard]] std::uint64_t written_address(const profile_tables& of, const profile_stack& stack, std::uint32_t at) {
  const std::uint64_t address = detail::address_of(stack.frames[at]);
  const profile_module& module = of.module(stack.modules[at]);
  return module.is_closed ? address_of_closed(stack.modules[at]) + address - map_line(module.line()).begin : address;
}

void write_closed_modules(detail::text_writer<text_output>& text, const profile_tables& of) {
  for (std::uint32_t number = 1; number < of.modules_used; ++number) {
    if (!of.module(number).is_closed) continue;
    const std::string_view noted = of.module(number).line();
    const map_line line(noted);
    const std::uint64_t begin = address_of_closed(number);
    const std::size_t behind = detail::min(noted.find(' '), noted.size());
    text.hex(begin)
        .text("-")
        .hex(begin + (line.end - line.begin))
        .text({noted.data() + behind, noted.size() - behind})
        .text("\n");
  }
  text.flush();
}

}  // namespace

ASHLAR_COLD void write_profile(const char* naming, profile_tables& of) noexcept {
  const profile_path path(naming);
  const int file = open_profile(path);
  if (file < 0) return;
  find_closed_modules(of);
  profile_site sum = {};
  for (std::uint32_t number = 0; number < of.sites_used; ++number) {
    const profile_site& each = of.site(number);
    sum.live += each.live, sum.live_bytes += each.live_bytes;
    sum.allocated += each.allocated, sum.allocated_bytes += each.allocated_bytes;
  }
  int to = file;
  text_output out = output_to(to);
  detail::text_writer text(out);
  write_counts(text.text("heap profile: "), sum);
  text.text(" heap_v2/").number(of.interval).text("\n");
  for (std::uint32_t number = 0; number < of.sites_used; ++number) {
    const profile_site& each = of.site(number);
    if (each.allocated == 0) continue;
    write_counts(text, each);
    for (std::uint32_t at = 0; at < each.stack.depth; ++at) text.text(" 0x").hex(written_address(of, each.stack, at));
    text.text("\n");
  }
  text.text("\nMAPPED_LIBRARIES:\n").flush();
  copy_file("/proc/self/maps", to);
  write_closed_modules(text, of);
  if (to < 0) report("the profile '", path, "' is incomplete", -to);
  if (of.frames_without != 0) report_full(path, of);
  files::close(file);
}

ASHLAR_COLD void write_holder(const profile_site& of, std::uint32_t interval) noexcept {
  int error_stream = kept_error_stream();
  text_output out = output_to(error_stream);
  detail::text_writer text(out);
  text.text("  about ").size(of.estimated_bytes(interval)).text(" live, allocated by\n").flush();
  write_frames(of.stack.frames, of.stack.depth, error_stream);
}

}  // namespace ashlar::drop_in
