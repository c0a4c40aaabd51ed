// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Walks the stack by cached rules, or by an unwinder where it has none; the table of stacks; and the list of the loaded
// ELF objects with their build ids.
#include <cstdlib>

#include <dlfcn.h>
#include <sys/auxv.h>

#include <ashlar/detail/trace/table_chunks.hpp>
#include <ashlar/detail/trace/unloads.hpp>

#include "cli/preload/real.hpp"
#include "cli/preload/recorder.hpp"
#include "cli/preload/stack_walk.hpp"
#include "cli/preload/status.hpp"
#include "cli/preload/written_once.hpp"
#include "malloc/route/build_ids.hpp"

namespace ashlar::recorder {

std::uint32_t stack_depth = 1;

namespace {

constexpr std::uint32_t own_frames = 2;  // take_stack and the interposed function
constexpr std::uint32_t refused = ~std::uint32_t{0};

using stack_table = written_once<detail::trace_io::chunk_kind::stacks, stack_slots, pending_table_bytes>;
using unwinder = int (*)(void**, int);

stack_table* table = nullptr;  // its pages are fresh from the system, and so all zeros
bool walks = false;            // by `walk_stack` where it can
unwinder unwind = nullptr;
unwinder unwind_without_locks = nullptr;  // the C library's, slower, if it has _dl_find_object to look modules up

using frames = std::span<const std::uint64_t>;

/// A place of unloaded code, with the number of the last unloading there; the last place stands for all that find no
/// room.
struct code_place {
  std::atomic<std::uint64_t> begin, end, generation;
};

constexpr std::size_t most_places = 128;
constinit code_place places[most_places]{};
constinit std::atomic<std::size_t> place_count{0};
constinit std::atomic<std::uint64_t> unloadings{0};

/// Returns: the place with these bounds, or a new one: everywhere, if there is no more room.
code_place& place_of(std::uint64_t begin, std::uint64_t end) noexcept {
  const std::size_t n = place_count.load(std::memory_order_relaxed);
  for (code_place& p : std::span(places, n))
    if (p.begin.load(std::memory_order_relaxed) == begin && p.end.load(std::memory_order_relaxed) == end) return p;
  code_place& last = places[std::min(n, most_places - 1)];
  last.begin.store(n + 1 < most_places ? begin : 0, std::memory_order_relaxed);
  last.end.store(n + 1 < most_places ? end : ~std::uint64_t{0}, std::memory_order_relaxed);
  place_count.store(std::min(n + 1, most_places),
                    std::memory_order_release);  // pairs with the acquire in generation_of()
  return last;
}

/// Returns: a number that is another one after code at any of the addresses is gone. Complexity: O(frames * places);
/// O(1) while the program has unloaded nothing.
[[nodiscard]] std::uint64_t generation_of(frames stack) noexcept {
  std::uint64_t latest = 0;
  for (const code_place& p : std::span(places, place_count.load(std::memory_order_acquire))) {
    const std::uint64_t begin = p.begin.load(std::memory_order_relaxed), end = p.end.load(std::memory_order_relaxed);
    for (const std::uint64_t frame : stack)
      if (begin <= frame && frame < end) latest = std::max(latest, p.generation.load(std::memory_order_acquire));
  }
  return latest;
}

/// Two lanes, since each step waits for the multiplication before it. 64 bits suffice: see `written_once`.
[[nodiscard]] std::uint64_t hash_of(frames stack) noexcept {
  constexpr std::uint64_t odd = 0x9E3779B97F4A7C15;
  std::uint64_t even_lane = (stack.size() + (generation_of(stack) << 32)) * odd, odd_lane = ~even_lane;
  const auto mix = [](std::uint64_t lane, std::uint64_t frame) {
    const std::uint64_t product = (lane ^ frame) * odd;
    return product ^ product >> 32;
  };
  std::size_t at = 0;
  for (; at + 1 < stack.size(); at += 2) {
    even_lane = mix(even_lane, stack[at]);
    odd_lane = mix(odd_lane, stack[at + 1]);
  }
  if (at < stack.size()) even_lane = mix(even_lane, stack[at]);
  return mix(even_lane, odd_lane) | 1;
}

std::uint32_t id_of(frames stack) noexcept {
  if (stack.empty()) return 0;
  const std::uint64_t hash = hash_of(stack);
  if (const std::uint32_t known = table->find(hash); ASHLAR_LIKELY(known != 0)) return known;
  const inside_recorder inside;
  return table->add(hash, detail::trace_io::stack_bound(stack.size()),
                    [stack](std::byte* to) { return detail::trace_io::put_stack(to, stack); });
}

/// Returns: the frame pointer of the interposed function, in take_stack.
ASHLAR_INLINE const void* frame_of_caller() noexcept {
  return *static_cast<const void* const*>(__builtin_frame_address(0));
}

/// Returns: the id of the stack from a function on, as far as it can be walked.
ASHLAR_COLD std::uint32_t id_of_partial_walk(const void* function) noexcept {
  if (table == nullptr || !walks) return 0;
  std::uint64_t found[max_stack_depth];
  const int n = walk_stack(found, stack_depth, function, self.stack);
  return id_of({found, static_cast<std::size_t>(n < 0 ? -n : n)});
}

/// Returns: the id of the calling stack by the unwinder. Inlined, since a jump to it would take a frame away.
ASHLAR_INLINE std::uint32_t unwind_stack() noexcept {
  const inside_recorder inside;
  if (unwind == nullptr) return id_of_partial_walk(frame_of_caller());
  void* raw[max_stack_depth + own_frames];
  std::uint64_t kept[max_stack_depth];
  const int n = unwind(raw, static_cast<int>(stack_depth + own_frames));
  std::size_t count = 0;
  for (int i = own_frames; i < n; ++i) kept[count++] = reinterpret_cast<std::uintptr_t>(raw[i]);
  return id_of({kept, count});
}

/// Returns: the id of the stack that is walked from a function on; `refused` if it cannot be walked.
ASHLAR_INLINE std::uint32_t id_of_walk(const void* function) noexcept {
  if (ASHLAR_UNLIKELY(self.log == nullptr || stack_depth > known_stack::most_frames)) {
    std::uint64_t found[max_stack_depth];
    const int n = walk_stack(found, stack_depth, function, self.stack);
    return n <= 0 ? refused : id_of({found, static_cast<std::size_t>(n)});
  }
  known_stack* const known = self.log->stacks.find(stack_depth, function, self.stack);
  if (ASHLAR_UNLIKELY(known == nullptr)) return refused;
  if (ASHLAR_UNLIKELY(known->id == 0)) known->id = id_of({known->frames.data(), known->count});
  return known->id;
}

ASHLAR_COLD void extend_own_stack(const void* frame) noexcept {
  const inside_recorder inside;
  extend_stack(self.stack, frame);
}

/// Returns: whether malloc is a function of the program. The loader calls it, and before `main` it may not be ready.
bool has_program_malloc() noexcept {
  Dl_info of_malloc{}, of_program{};
  const void* const headers = reinterpret_cast<const void*>(getauxval(AT_PHDR));
  return dladdr(dlsym(RTLD_DEFAULT, "malloc"), &of_malloc) != 0 && dladdr(headers, &of_program) != 0 &&
         of_malloc.dli_fbase == of_program.dli_fbase;
}

}  // namespace

void start_stacks(bool is_on) noexcept {
  const char* const wanted = is_on ? std::getenv(stacks_variable) : nullptr;
  const long depth = wanted == nullptr ? 0 : std::atol(wanted);
  if (depth > 0) table = static_cast<stack_table*>(map_memory(sizeof(stack_table)));
  if (table != nullptr) walks = prepare_walk();
  stack_depth = table == nullptr ? 0 : static_cast<std::uint32_t>(std::min(depth, long{max_stack_depth}));
}

void prepare_unwinder() noexcept {
  if (stack_depth == 0 || has_program_malloc()) return;
  void* warm[4];  // an unwinder may load and allocate at its first use
  void* const library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
  unwinder found = library == nullptr ? nullptr : reinterpret_cast<unwinder>(dlsym(library, "unw_backtrace"));
  const auto backtrace = reinterpret_cast<unwinder>(dlsym(RTLD_DEFAULT, "backtrace"));
  if (found == nullptr) found = backtrace;
  if (found == nullptr && !walks) stack_depth = 0;  // a C library without an unwinder
  if (found == nullptr) return;
  found(warm, 4);
  if (backtrace != nullptr && dlsym(RTLD_DEFAULT, "_dl_find_object") != nullptr) unwind_without_locks = backtrace;
  if (unwind_without_locks != nullptr) unwind_without_locks(warm, 4);
  unwind = found;
}

ASHLAR_NOINLINE std::uint32_t take_stack() noexcept {
  if (self.busy) return 0;
  if (ASHLAR_UNLIKELY(!walks)) {
    if (table == nullptr && !is_recording()) return 0;
    if (!walks) return unwind_stack();
  }
  const void* const function = frame_of_caller();
  if (ASHLAR_UNLIKELY(!self.stack.has(reinterpret_cast<std::uintptr_t>(function)))) extend_own_stack(function);
  self.busy = true;  // a signal handler must not wait for the cache's lock, nor change what is known
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const std::uint32_t id = id_of_walk(function);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  self.busy = false;
  return ASHLAR_LIKELY(id != refused) ? id : unwind_stack();
}

std::uint32_t last_stack() noexcept { return table == nullptr ? 0 : table->last_id(); }

void add_gone_code(std::uint64_t begin, std::uint64_t end) noexcept {
  place_of(begin, end)
      .generation.store(unloadings.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_release);
}

bool write_stacks() noexcept { return stack_depth == 0 || table->write(); }

void share_stacks(pending_items<pending_table_bytes>& shared) noexcept {
  if (table != nullptr) table->use(shared);
}

void reset_stacks(bool locks_are_orphaned) noexcept {
  frame_rules.reset();
  if (locks_are_orphaned) unwind = unwind_without_locks;
  if (unwind == nullptr && !walks) stack_depth = 0;
  if (table != nullptr) table->reset();
}

namespace {

constexpr std::size_t max_id_bytes = 64;

/// Only tried, never waited for: a thread in dlopen holds the loader's lock, and may arrive here by an allocation.
constinit sleeping_lock modules_lock;
std::uint32_t sequence = 0;
bool is_list_inherited = false;  // from a process whose threads may have held the loader's lock at the fork
thread_local bool is_held_for_fork = false;
char own_path[4096];

/// Modules as in the file.
struct payload_buffer {
  std::byte bytes[pending_table_bytes];
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

std::string_view path_of(const dl_phdr_info& info) noexcept {
  if (info.dlpi_name != nullptr && *info.dlpi_name != '\0') return info.dlpi_name;
  const ssize_t n = readlink("/proc/self/exe", own_path, sizeof own_path);
  return {own_path, n > 0 ? static_cast<std::size_t>(n) : 0};
}

detail::trace_io::module_view describe(const dl_phdr_info& info, char* id_text) noexcept {
  detail::trace_io::module_view m{
      .begin = ~std::uint64_t{0}, .end = 0, .bias = info.dlpi_addr, .path = path_of(info), .build_id = {}};
  const std::span id = route::build_id_of(info);
  m.build_id = {id_text, route::put_hexadecimal(id.first(std::min(id.size(), max_id_bytes)), id_text)};
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
module_list* listed = &lists[0];

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
  listing list{.before = listed, .now = listed == &lists[0] ? &lists[1] : &lists[0]};
  list.now->count = 0;
  whole.clear();
  const std::uint32_t modules = modules_written;
  dl_iterate_phdr(add_module, &list);
  list.now->sort();
  write_unloads(*list.before, *list.now, modules);
  listed = list.now;
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

/// They are needed until the trace has modules of its own.
void copy_to_live() noexcept {
  live_head* const to = live.head();
  if (to == nullptr || sequence != 0) return;
  to->modules.extend_to(0, 0);
  std::memcpy(to->modules.bytes, whole.bytes, whole.used);
  to->modules.extend_to(whole.used, whole.count);
}

}  // namespace

void prepare_modules() noexcept {
  if (stack_depth == 0 || sequence != 0) return;
  whole.clear();
  dl_iterate_phdr(add_module, nullptr);
  copy_to_live();
}

/// In a child of several threads the list of its parent serves; another one may list, unless a thread does already.
void share_modules() noexcept {
  if (stack_depth == 0 || !modules_lock.try_lock()) return;
  if (whole.count == 0 && !is_list_inherited) dl_iterate_phdr(add_module, nullptr);
  copy_to_live();
  modules_lock.unlock();
}

void write_modules() noexcept {
  if (stack_depth != 0 && modules_lock.try_lock()) write_while_locked();
}

void write_modules_patiently() noexcept {
  if (stack_depth != 0 && modules_lock.lock_patiently()) write_while_locked();
}

void hold_modules() noexcept { is_held_for_fork = modules_lock.lock_patiently(); }

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
  listed->count = 0;
  news.clear();
  if (!is_list_inherited || !is_list_whole) whole.clear();
}

}  // namespace ashlar::recorder
