// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sampled profile of the heap: its tables, its text, and the lock of both.
#include "malloc/heap_profile.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <pthread.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/detail/profiling/profilers.hpp>
#include <ashlar/detail/support/immortal.hpp>
#include <ashlar/detail/support/text_writer.hpp>
#include <ashlar/detail/thread/fork_safe_lock.hpp>
#include <ashlar/os/pages.hpp>

#include "malloc/call_stack.hpp"
#include "malloc/error_stream.hpp"
#include "malloc/loaded_files.hpp"
#include "malloc/sampling.hpp"
#include "malloc/system.hpp"

namespace ashlar::drop_in {

ASHLAR_IN_STATIC_TLS constinit thread_local std::int64_t until_profiled = 0;

namespace {

/// A stack, and a range of sizes in which the largest is a quarter above the smallest: readers of a profile divide by
/// the probability of the mean size.
struct profile_stack {
  static constexpr std::uint32_t most_frames = 32;

  const void* frames[most_frames];
  std::uint16_t modules[most_frames];  // of the frames, which another module may take the addresses of; 0: unknown
  std::uint32_t depth;
  std::uint32_t size_range;

  [[nodiscard]] static constexpr std::uint32_t range_of(std::size_t bytes) noexcept {
    const auto width = static_cast<std::uint32_t>(std::bit_width(bytes));
    return width < 3 ? static_cast<std::uint32_t>(bytes)
                     : width * 4 + static_cast<std::uint32_t>(bytes >> (width - 3) & 3);
  }
  [[nodiscard]] std::uint32_t hash() const noexcept {
    std::uint64_t value = size_range;
    for (std::uint32_t at = 0; at < depth; ++at)
      value = (value ^ ashlar::address_of(frames[at]) ^ modules[at]) * 0x9E37'79B9'7F4A'7C15u, value ^= value >> 29;
    return static_cast<std::uint32_t>(value >> 32);
  }
  [[nodiscard]] bool is_same(const profile_stack& as) const noexcept {
    return depth == as.depth && size_range == as.size_range &&
           std::memcmp(frames, as.frames, depth * sizeof frames[0]) == 0 &&
           std::memcmp(modules, as.modules, depth * sizeof modules[0]) == 0;
  }
};

/// The samples of one stack and range of sizes.
struct profile_site {
  profile_stack stack;
  std::uint64_t live, live_bytes, allocated, allocated_bytes;

  /// Returns: live bytes by estimate: a sample of a small block stands for the bytes of an interval and half its own.
  [[nodiscard]] std::uint64_t estimated_bytes(std::uint64_t interval) const noexcept {
    return detail::max(live_bytes, live * interval + live_bytes / 2);
  }

  void add_allocated(std::size_t bytes) noexcept { ++allocated, allocated_bytes += bytes; }
  void add_live(std::size_t bytes) noexcept { ++live, live_bytes += bytes; }
  void remove_live(std::size_t bytes) noexcept { --live, live_bytes -= bytes; }
};

/// A file that was loaded when a sample was taken, by its line of the memory map.
struct profile_module {
  std::uint32_t line_bytes;  // 0: there is no map
  bool is_closed;            // while the profile is written
  char text[512];

  [[nodiscard]] std::string_view line() const noexcept { return {text, line_bytes}; }

  /// Effects: notes the line of the memory map that has the address.
  ASHLAR_COLD void note(const void* address) noexcept {
    file_lines lines("/proc/self/maps");
    for (std::string_view each; lines.next(each);) {
      const map_line line(each);
      if (ashlar::address_of(address) < line.begin || ashlar::address_of(address) >= line.end) continue;
      line_bytes = static_cast<std::uint32_t>(detail::min(each.size(), sizeof text));
      std::memcpy(text, each.data(), line_bytes);
      return;
    }
  }
};

/// All zero before `begin`. Site 0 has no frames: it takes the samples of further stacks when the table is full. Live
/// samples that no table has memory for are not counted as live. Module 0 is unknown. Thread safety: none.
struct profile_tables {
  static constexpr std::uint32_t most_sites = 16'384, site_slots = 2 * most_sites, most_modules = 1024;

  struct site_table {
    std::uint16_t index[site_slots];  // of a site, by the hash of its stack; 0: none
    profile_site sites[most_sites];
    std::uint64_t identities[most_modules];
    profile_module modules[most_modules];
  };

  std::uint32_t interval = 0;
  std::uint32_t sites_used = 0;
  std::uint16_t modules_used = 0;
  std::uint32_t frames_without = 0;  ///< a module, as the table is full
  site_table* stacks = nullptr;
  detail::address_table<profiled_block> blocks;

  /// Returns: false without memory.
  [[nodiscard]] ASHLAR_COLD bool begin(std::uint32_t mean) noexcept {
    void* const pages = os::pages::map(os::pages::round_up(sizeof(site_table)), os::pages::page_bytes());
    if (pages == nullptr) return false;
    stacks = static_cast<site_table*>(pages);
    sites_used = modules_used = 1;
    interval = mean;
    return true;
  }

  [[nodiscard]] profile_site& site(std::uint32_t number) noexcept { return stacks->sites[number]; }
  [[nodiscard]] const profile_site& site(std::uint32_t number) const noexcept { return stacks->sites[number]; }

  [[nodiscard]] profile_module& module(std::uint32_t number) noexcept { return stacks->modules[number]; }
  [[nodiscard]] const profile_module& module(std::uint32_t number) const noexcept { return stacks->modules[number]; }

  /// Returns: the number of the module that has the address now, a new one at its first call. Complexity: reads the
  /// memory map for a new one.
  [[nodiscard]] ASHLAR_COLD std::uint16_t module_of(std::uint64_t identity, const void* address) noexcept {
    if (identity == 0) return 0;
    std::uint16_t number = modules_used;
    while (number != 0 && stacks->identities[--number] != identity) {
    }
    if (number != 0) return number;
    if (modules_used == most_modules) return ++frames_without, std::uint16_t{0};
    stacks->identities[modules_used] = identity;
    module(modules_used).note(address);
    return modules_used++;
  }

  /// Returns: the site of a stack, a new one at its first call.
  [[nodiscard]] ASHLAR_COLD std::uint32_t site_of(const profile_stack& stack) noexcept {
    for (std::uint32_t slot = stack.hash() % site_slots;; slot = (slot + 1) % site_slots) {
      std::uint16_t& at = stacks->index[slot];
      if (at != 0 && site(at).stack.is_same(stack)) return at;
      if (at != 0) continue;
      if (sites_used == most_sites) return 0;
      at = static_cast<std::uint16_t>(sites_used++);
      site(at).stack = stack;
      return at;
    }
  }

  /// Returns: the site with the most live bytes; after `than`, the next one; site 0 after the last.
  [[nodiscard]] ASHLAR_COLD std::uint32_t largest_after(std::uint32_t than) const noexcept {
    const std::uint64_t most = than != 0 ? live_bytes_of(than) : UINT64_MAX;
    std::uint32_t found = 0;
    std::uint64_t bytes = 0;
    for (std::uint32_t number = 1; number < sites_used; ++number) {
      const std::uint64_t its = live_bytes_of(number);
      if (its > bytes && (its < most || (its == most && number > than))) found = number, bytes = its;
    }
    return found;
  }

  [[nodiscard]] std::uint64_t live_bytes_of(std::uint32_t number) const noexcept {
    return site(number).estimated_bytes(interval);
  }
};

// ---- the text: a line for each stack, then the memory map, by which readers find the names of functions

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

/// Effects: writes the profile to the file that `naming` names, with the number of the process for `%p`. Allocates
/// nothing; async-signal-safe. Frames of a module that is no longer loaded move to an address where no memory is, which
/// the map names the module for. A file that cannot be written, or not as a whole, is a line on the kept error stream.
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

/// Effects: writes the estimated live bytes of a site and its stack to the kept error stream. Async-signal-safe.
ASHLAR_COLD void write_holder(const profile_site& of, std::uint32_t interval) noexcept {
  int error_stream = kept_error_stream();
  text_output out = output_to(error_stream);
  detail::text_writer text(out);
  text.text("  about ").size(of.estimated_bytes(interval)).text(" live, allocated by\n").flush();
  write_frames(of.stack.frames, of.stack.depth, error_stream);
}

// ---- the lock

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

}  // namespace ashlar::drop_in
