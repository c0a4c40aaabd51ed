// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists the loaded ELF objects with their build ids.
#include "cli/preload/modules.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include <link.h>
#include <unistd.h>

#include <ashlar/detail/trace/table_chunks.hpp>

#include "cli/preload/chunks.hpp"
#include "cli/preload/patience.hpp"
#include "cli/preload/sleeping_lock.hpp"
#include "cli/preload/stacks.hpp"

namespace ashlar::recorder {

namespace {

constexpr std::size_t max_id_bytes = 32;

/// Only tried, never waited for: a thread in dlopen holds the loader's lock, and may arrive here by an allocation.
constinit sleeping_lock modules_lock;
unsigned long long loads_seen = 0;
std::uint32_t sequence = 0;
std::size_t used = 0;
std::uint32_t count = 0;
bool is_list_inherited = false;  // from a process whose threads may have held the loader's lock at the fork
thread_local bool is_held_for_fork = false;
char own_path[4096];
std::byte payload[64 * 1024];

void write_payload() noexcept {
  if (count != 0)
    write_chunk({.kind = detail::trace_io::chunk_kind::modules, .sequence = sequence++, .count = count},
                {payload, used});
}

void clear_payload() noexcept {
  used = 0;
  count = 0;
}

std::string_view hexadecimal(std::span<const unsigned char> bytes, char* to) noexcept {
  char* end = to;
  for (const unsigned char b : bytes) {
    *end++ = "0123456789abcdef"[b >> 4];
    *end++ = "0123456789abcdef"[b & 15];
  }
  return {to, static_cast<std::size_t>(end - to)};
}

/// A note is its three lengths and kinds, then the name and the contents, each padded to 4 bytes.
std::string_view find_build_id(const unsigned char* p, std::size_t bytes, char* to) noexcept {
  const auto padded = [](std::size_t n) { return (n + 3) & ~std::size_t{3}; };
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, p, sizeof note);
    const std::size_t name_at = sizeof note;
    const std::size_t id_at = name_at + padded(note.n_namesz);
    const std::size_t end = id_at + padded(note.n_descsz);
    if (end > bytes) break;
    const bool is_id = note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(p + name_at, "GNU", 4) == 0;
    if (is_id) return hexadecimal({p + id_at, std::min<std::size_t>(note.n_descsz, max_id_bytes)}, to);
    p += end;
    bytes -= end;
  }
  return {};
}

std::string_view path_of(const dl_phdr_info& info) noexcept {
  if (info.dlpi_name != nullptr && *info.dlpi_name != '\0') return info.dlpi_name;
  const ssize_t n = readlink("/proc/self/exe", own_path, sizeof own_path);
  return {own_path, n > 0 ? static_cast<std::size_t>(n) : 0};
}

detail::trace_io::module_view describe(const dl_phdr_info& info, char* id_text) noexcept {
  detail::trace_io::module_view m{
      .begin = ~std::uint64_t{0}, .end = 0, .bias = info.dlpi_addr, .path = path_of(info), .build_id = {}};
  for (const auto& part : std::span(info.dlpi_phdr, info.dlpi_phnum)) {
    const std::uint64_t at = info.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD) m.begin = std::min(m.begin, at), m.end = std::max(m.end, at + part.p_memsz);
    if (part.p_type == PT_NOTE && m.build_id.empty())
      m.build_id = find_build_id(reinterpret_cast<const unsigned char*>(at), part.p_memsz, id_text);
  }
  return m;
}

/// A list that fills the payload is written in pieces, or ends there if `may_write` is null.
int add_module(dl_phdr_info* info, std::size_t, void* may_write) noexcept {
  char id_text[2 * max_id_bytes];
  const detail::trace_io::module_view m = describe(*info, id_text);
  const std::size_t bound = detail::trace_io::module_bound(m.path.size(), m.build_id.size());
  if (m.begin >= m.end || bound > sizeof payload) return 0;
  if (used + bound > sizeof payload) {
    if (may_write == nullptr) return 1;
    write_payload();
    clear_payload();
  }
  used = static_cast<std::size_t>(detail::trace_io::put_module(payload + used, m) - payload);
  ++count;
  return 0;
}

int count_loads(dl_phdr_info* info, std::size_t, void* loads) noexcept {
  *static_cast<unsigned long long*>(loads) = info->dlpi_adds;
  return 1;  // the first object gives it
}

/// The payload stays unchanged, for children.
void write_loaded_modules() noexcept {
  unsigned long long loads = 0;
  dl_iterate_phdr(count_loads, &loads);
  if (loads == loads_seen) return;
  loads_seen = loads;
  clear_payload();
  dl_iterate_phdr(add_module, &loads);
  write_payload();
}

void write_inherited_modules() noexcept {
  if (sequence == 0) write_payload();
}

}  // namespace

void prepare_modules() noexcept {
  if (stack_depth != 0) dl_iterate_phdr(add_module, nullptr);
}

void write_modules() noexcept {
  if (stack_depth == 0 || !modules_lock.try_lock()) return;
  if (is_list_inherited) write_inherited_modules();
  else write_loaded_modules();
  modules_lock.unlock();
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
  loads_seen = 0;
  sequence = 0;
  if (!is_list_inherited || !is_list_whole) clear_payload();
}

}  // namespace ashlar::recorder
