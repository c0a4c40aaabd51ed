// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tables of the sampled profile of the heap.
#include "malloc/heap_profile.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <fcntl.h>
#include <pthread.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/detail/support/immortal.hpp>
#include <ashlar/detail/support/text_writer.hpp>
#include <ashlar/detail/thread/fork_safe_lock.hpp>

#include "malloc/call_stack.hpp"
#include "malloc/error_stream.hpp"
#include "malloc/loaded_files.hpp"
#include "malloc/profile_tables.hpp"
#include "malloc/sampling.hpp"
#include "malloc/system.hpp"

namespace ashlar::drop_in {

ASHLAR_IN_STATIC_TLS constinit thread_local std::int64_t until_profiled = 0;

namespace {

constexpr std::int64_t unprofiled = 1 << 24;  // bytes until a thread looks again whether there is a profile

constinit detail::immortal<detail::fork_safe_lock<spin_lock>> profile_lock;
constinit detail::atomic<const char*> wanted_path = nullptr;  // a path to write to, as soon as the lock is free
constinit detail::atomic<int> wanted_by = 0;  // the process: a forked child writes nothing for its parent
constinit detail::immortal<profile_tables> tables;

void begin_distance() noexcept {
  until_profiled = static_cast<std::int64_t>(exponential(tables.value.interval, random_of_thread()));
}

// The lock of the tables, of which the interval alone is read without it, after is_on(). Its last act is to write what
// a signal has asked for meanwhile.
class profile_scope {
public:
  profile_scope() noexcept { profile_lock.value.lock(); }
  profile_scope(const profile_scope&) = delete;
  profile_scope& operator=(const profile_scope&) = delete;
  ~profile_scope() {
    profile_lock.value.unlock();
    serve_wanted();
  }

  // A signal between the two steps of another thread leaves its wish to that thread.
  static void serve_wanted() noexcept {
    while (wanted_path.load(detail::memory_order_seq_cst) != nullptr && profile_lock.value.try_lock()) {
      const char* const path = wanted_path.exchange(nullptr, detail::memory_order_seq_cst);
      if (path != nullptr && wanted_by.load(detail::memory_order_relaxed) == process_id())
        write_profile(path, tables.value);
      profile_lock.value.unlock();
    }
  }
};

// Behind a fork, which holds the lock too.
void serve_after_fork() noexcept { profile_scope::serve_wanted(); }

void remove_live(const profiled_block& block) noexcept {
  if (block.block != nullptr) tables.value.site(block.site).remove_live(block.bytes);
}

void add_live(const profiled_block& block) noexcept {
  if (!tables.value.blocks.make_room()) return;
  remove_live(tables.value.blocks.put(block));
  tables.value.site(block.site).add_live(block.bytes);
}

}  // namespace

ASHLAR_COLD void heap_profile::begin(std::uint32_t interval) noexcept {
  if (is_on()) return;
  {
    const profile_scope held;
    if (!tables.value.begin(interval)) return;
  }
  static_cast<void>(::pthread_atfork(nullptr, serve_after_fork, serve_after_fork));
  until_profiled = 0;
  interval_.store(interval,
                  detail::memory_order_release);  // pairs with is_on(): the tables and their interval are there
}

ASHLAR_COLD bool heap_profile::is_sample(std::size_t bytes) noexcept {
  if (!is_on()) return until_profiled = unprofiled, false;
  const bool begins = until_profiled + static_cast<std::int64_t>(bytes) == 0;  // nothing was left: the thread is new
  begin_distance();
  if (begins && !counts_bytes(bytes)) return false;
  if (begins) begin_distance();
  return !until_sample.is_sampling;  // the unwinder's own blocks are left out
}

ASHLAR_COLD void heap_profile::add(const void* p, std::size_t bytes, const caller_frame& caller) noexcept {
  const sampling_scope inside;
  profile_stack stack = {};
  stack.depth = take_frames(stack.frames, profile_stack::most_frames, caller);
  stack.size_range = profile_stack::range_of(bytes);
  std::uint64_t modules[profile_stack::most_frames];
  identify_modules(stack.frames, stack.depth, modules);
  const profile_scope held;
  for (std::uint32_t at = 0; at < stack.depth; ++at)
    stack.modules[at] = at != 0 && modules[at] == modules[at - 1]
                            ? stack.modules[at - 1]
                            : tables.value.module_of(modules[at], stack.frames[at]);
  const std::uint32_t site = tables.value.site_of(stack);
  tables.value.site(site).add_allocated(bytes);
  add_live({p, bytes, site});
}

ASHLAR_COLD profiled_block heap_profile::find(const void* p) noexcept {
  const profile_scope held;
  return tables.value.blocks.find(p);
}

ASHLAR_COLD profiled_block heap_profile::take_out(const void* p) noexcept {
  const profile_scope held;
  const profiled_block found = tables.value.blocks.remove(p);
  remove_live(found);
  return found;
}

ASHLAR_COLD void heap_profile::put_back(const profiled_block& block) noexcept {
  const profile_scope held;
  add_live(block);
}

ASHLAR_COLD void heap_profile::write(const char* path) noexcept {
  wanted_by.store(process_id(), detail::memory_order_relaxed);
  wanted_path.store(path, detail::memory_order_seq_cst);
  profile_scope::serve_wanted();
}

ASHLAR_COLD void heap_profile::write_holders() noexcept {
  if (!is_on()) return;
  std::uint32_t number = 0;
  for (int left = 3; left != 0; --left) {
    profile_site found = {};
    {
      const profile_scope held;
      number = tables.value.largest_after(number);
      if (number != 0) found = tables.value.site(number);
    }
    if (number == 0) return;
    write_holder(found, tables.value.interval);
  }
}

// ---- the text: a line for each stack, then the memory map, by which readers find the names of functions

namespace {

struct profile_path {
  char text[ashlar::panic_line::capacity + 1] = {};

  explicit profile_path(const char* naming) noexcept {
    ashlar::panic_line name;
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
  ashlar::panic_line line;
  line.text("ashlar: ").text(before).text(path.text).text(behind).text(": errno ");
  int error_stream = kept_error_stream();
  write_to(error_stream, line.number(static_cast<std::uint64_t>(error)).text("\n").view());
}

void report_full(const profile_path& path, const profile_tables& of) noexcept {
  ashlar::panic_line line;
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
  const std::uint64_t address = ashlar::address_of(stack.frames[at]);
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
