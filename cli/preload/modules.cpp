// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists the loaded ELF objects with their build ids.
#include "cli/preload/stacks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <link.h>
#include <unistd.h>

#include <ashlar/detail/trace/format.hpp>
#include <ashlar/detail/trace/table_chunks.hpp>
#include <ashlar/detail/trace/unloads.hpp>

#include "cli/preload/stack_walk.hpp"
#include "cli/preload/trace_file.hpp"
#include "malloc/route/build_ids.hpp"

namespace ashlar::recorder {

namespace {

constexpr std::size_t max_id_bytes = 64;

/// Only tried, never waited for: a thread in dlopen holds the loader's lock, and may arrive here by an allocation.
constinit spin_lock modules_lock;
std::uint32_t sequence = 0;
bool is_list_inherited = false;  // from a process whose threads may have held the loader's lock at the fork
thread_local bool is_held_for_fork = false;
char own_path[4096];

/// Modules as in the file.
struct payload_buffer {
  std::byte bytes[64 * 1024];
  std::size_t used;
  std::uint32_t count;

  void clear() noexcept {
    used = 0;
    count = 0;
  }
};

payload_buffer whole;  // the last list
payload_buffer news;   // not yet written
std::uint32_t modules_written = 0;
std::uint32_t unloads_written = 0;

/// Effects: empties the buffer unless it is the whole list, which stays for children.
void write(payload_buffer& from) noexcept {
  if (from.count == 0) return;
  write_chunk({.kind = detail::trace_io::chunk_kind::modules, .sequence = sequence++, .count = from.count},
              {from.bytes, from.used});
  modules_written += from.count;
  if (&from != &whole) from.clear();
}

std::string_view hexadecimal(std::span<const unsigned char> bytes, char* to) noexcept {
  char* end = to;
  for (const unsigned char b : bytes) {
    *end++ = "0123456789abcdef"[b >> 4];
    *end++ = "0123456789abcdef"[b & 15];
  }
  return {to, static_cast<std::size_t>(end - to)};
}

std::string_view path_of(const dl_phdr_info& info) noexcept {
  if (info.dlpi_name != nullptr && *info.dlpi_name != '\0') return info.dlpi_name;
  const ssize_t n = readlink("/proc/self/exe", own_path, sizeof own_path);
  return {own_path, n > 0 ? static_cast<std::size_t>(n) : 0};
}

detail::trace_io::module_view describe(const dl_phdr_info& info, char* id_text) noexcept {
  detail::trace_io::module_view m{
      .begin = ~std::uint64_t{0}, .end = 0, .bias = info.dlpi_addr, .path = path_of(info), .build_id = {}};
  const std::span id = route::build_id_of(info);
  m.build_id = hexadecimal(id.first(std::min(id.size(), max_id_bytes)), id_text);
  for (const auto& part : std::span(info.dlpi_phdr, info.dlpi_phnum)) {
    const std::uint64_t at = info.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD) m.begin = std::min(m.begin, at), m.end = std::max(m.end, at + part.p_memsz);
  }
  return m;
}

constexpr std::size_t most_known = 4096;  // further ones are never missed

/// A module that was loaded when modules were last listed.
struct loaded_module {
  std::uint64_t begin = 0, end = 0, identity = 0;

  friend bool operator<(const loaded_module& a, const loaded_module& b) noexcept {
    return a.begin != b.begin ? a.begin < b.begin : a.identity < b.identity;
  }
};

struct module_list {
  loaded_module all[most_known];
  std::size_t count = 0;

  void add(const loaded_module& m) noexcept {
    if (count < most_known) all[count++] = m;
  }
  void sort() noexcept { std::sort(all, all + count); }
  [[nodiscard]] bool has(const loaded_module& m) const noexcept { return std::binary_search(all, all + count, m); }
};

module_list lists[2];
module_list* known = &lists[0];

loaded_module loaded(const detail::trace_io::module_view& m) noexcept {
  return {.begin = m.begin, .end = m.end, .identity = detail::trace_io::checksum(std::as_bytes(std::span(m.path)))};
}

/// What of a listing is new, and the whole of it.
struct listing {
  const module_list* before;
  module_list* now;
};

void append(payload_buffer& to, const detail::trace_io::module_view& m) noexcept {
  to.used = static_cast<std::size_t>(detail::trace_io::put_module(to.bytes + to.used, m) - to.bytes);
  ++to.count;
}

/// News that fill their buffer are written in pieces. The whole list ends where its buffer does.
int add_module(dl_phdr_info* info, std::size_t, void* of) noexcept {
  char id_text[2 * max_id_bytes];
  const detail::trace_io::module_view m = describe(*info, id_text);
  const std::size_t bound = detail::trace_io::module_bound(m.path.size(), m.build_id.size());
  if (m.begin >= m.end || bound > sizeof whole.bytes) return 0;
  if (whole.used + bound <= sizeof whole.bytes) append(whole, m);
  auto* const list = static_cast<listing*>(of);
  if (list == nullptr) return 0;
  const loaded_module entry = loaded(m);
  list->now->add(entry);
  if (list->before->has(entry)) return 0;
  if (news.used + bound > sizeof news.bytes) write(news);
  append(news, m);
  return 0;
}

struct changes {
  unsigned long long loads = 0, unloads = 0;

  friend bool operator==(const changes&, const changes&) = default;
};
changes seen;

int count_changes(dl_phdr_info* info, std::size_t, void* to) noexcept {
  *static_cast<changes*>(to) = {.loads = info->dlpi_adds, .unloads = info->dlpi_subs};
  return 1;  // the first object gives them
}

void write_unload(const loaded_module& m, std::uint32_t last, std::uint32_t modules) noexcept {
  std::byte payload[detail::trace_io::unload_bound];
  const std::byte* const end = detail::trace_io::put_unload(payload, {last, modules, m.begin});
  write_chunk({.kind = detail::trace_io::chunk_kind::unloads, .sequence = unloads_written++, .count = 1},
              {payload, static_cast<std::size_t>(end - payload)});
}

/// First of all, stacks through the code that is gone become new ones. It is code of the first `modules` that are
/// written.
void write_unloads(const module_list& before, const module_list& now, std::uint32_t modules) noexcept {
  const auto is_gone = [&](const loaded_module& m) { return !now.has(m); };
  const std::span all(before.all, before.count);
  if (std::none_of(all.begin(), all.end(), is_gone)) return;
  for (const loaded_module& m : all)
    if (is_gone(m)) add_gone_code(m.begin, m.end);
  frame_rules.forget();
  const std::uint32_t last = last_stack();
  for (const loaded_module& m : all)
    if (is_gone(m)) write_unload(m, last, modules);
}

/// The whole list stays as it is, for children.
void write_loaded_modules() noexcept {
  changes now;
  dl_iterate_phdr(count_changes, &now);
  if (now == seen) return;
  seen = now;
  listing list{.before = known, .now = known == &lists[0] ? &lists[1] : &lists[0]};
  list.now->count = 0;
  whole.clear();
  const std::uint32_t modules = modules_written;
  dl_iterate_phdr(add_module, &list);
  list.now->sort();
  write_unloads(*list.before, *list.now, modules);
  known = list.now;
  write(news);
}

void write_inherited_modules() noexcept {
  if (sequence == 0) write(whole);
}

void write_while_locked() noexcept {
  if (is_list_inherited) write_inherited_modules();
  else write_loaded_modules();
  modules_lock.unlock();
}

}  // namespace

void prepare_modules() noexcept {
  if (stack_depth != 0 && whole.count == 0) dl_iterate_phdr(add_module, nullptr);
}

void write_modules() noexcept {
  if (stack_depth != 0 && modules_lock.try_lock()) write_while_locked();
}

void write_modules_patiently() noexcept {
  if (stack_depth != 0 && lock_patiently(modules_lock)) write_while_locked();
}

void hold_modules() noexcept { is_held_for_fork = lock_patiently(modules_lock); }

void release_modules() noexcept {
  if (is_held_for_fork) modules_lock.unlock();
  is_held_for_fork = false;
}

void reset_modules(bool locks_are_orphaned) noexcept {
  const bool is_list_whole = is_held_for_fork;
  is_held_for_fork = false;
  modules_lock.unlock();
  is_list_inherited = is_list_inherited || locks_are_orphaned;
  seen = {};
  sequence = modules_written = unloads_written = 0;
  known->count = 0;
  news.clear();
  if (!is_list_inherited || !is_list_whole) whole.clear();
}

}  // namespace ashlar::recorder
