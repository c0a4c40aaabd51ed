// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the modules of the plan among the loaded ones by their build ids, and builds the table of their sites; the
// start and the report.
#include "malloc/route/sites.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string_view>

#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/detail/support/text_writer.hpp>
#include <ashlar/detail/thread/fork.hpp>
#include <ashlar/os/pages.hpp>

#include "malloc/c_library.hpp"
#include "malloc/error_stream.hpp"
#include "malloc/route/build_ids.hpp"
#include "malloc/route/chunk.hpp"
#include "malloc/route/group.hpp"
#include "malloc/route/text.hpp"
#include "malloc/route/threads.hpp"
#include "malloc/settings.hpp"
#include "malloc/system.hpp"

namespace ashlar::route {

alignas(64) constinit atomic<std::uint8_t> filter[filter_bytes] = {};

namespace {

constinit site_node no_sites[2];
constinit site_table empty_table = {.mask = 1, .shift = 63, .places = no_sites};

}  // namespace

constinit atomic<const site_table*> sites = &empty_table;

namespace {

constexpr std::uintptr_t not_loaded = ~std::uintptr_t{0};

struct planned_module {
  std::string_view build_id;
  std::uintptr_t bias = not_loaded;
};

/// The plan as read, in pages of its own.
struct plan_store {
  plan_in_effect known;
  planned_module modules[most_modules];
  planned_frame* frames = nullptr;
  std::size_t frame_count = 0, most_frames = 0;

  void report() noexcept { known.reports = true; }
  [[nodiscard]] bool module(std::string_view id) noexcept {
    modules[known.modules++].build_id = id;
    return true;
  }
  [[nodiscard]] bool group(const planned_group& read) noexcept {
    known.groups[known.count++] = read;
    return true;
  }
  [[nodiscard]] bool frame(const planned_frame& read) noexcept {
    if (frame_count == most_frames) return false;
    frames[frame_count++] = read;
    known.sites += read.group != 0 ? 1 : 0;
    return true;
  }
};
constinit plan_store store;

// For the modules of the plan, the table under construction and the filter. Its holder waits for nothing: modules are
// looked for without it, since that takes a lock of the loader.
constinit spin_lock modules_lock;
constinit atomic<unsigned long long> loads_seen = 0;

// A window in which new modules are looked for: from the loader's allocation of a module's description to its entry in
// the list. Only the thread that loads looks: it has the locks of the loader, for which others would wait.
constinit atomic<std::uint32_t> looks_left = 0;
constinit atomic<std::uintptr_t> loading_thread = 0;

std::uintptr_t loader_begin = 0, loader_end = 0;
constexpr std::uint32_t looks_after_notice = 4096;

// ---- modules

/// The load biases of the plan's modules.
struct found_modules {
  std::uintptr_t bias[most_modules];
  unsigned long long loads;
};

int find_module(dl_phdr_info* info, std::size_t, void* to) noexcept {
  auto& found = *static_cast<found_modules*>(to);
  found.loads = info->dlpi_adds;
  const auto id = build_id_of(*info);
  if (id.empty()) return 0;
  for (std::size_t i = 0; i != store.known.modules; ++i)
    if (found.bias[i] == not_loaded && is_hexadecimal_of(id, store.modules[i].build_id))
      found.bias[i] = info->dlpi_addr;
  return 0;
}

int count_loads(dl_phdr_info* info, std::size_t, void* loads) noexcept {
  *static_cast<unsigned long long*>(loads) = info->dlpi_adds;
  return 1;  // the first object gives it
}

int find_loader(dl_phdr_info* info, std::size_t, void* base) noexcept {
  if (info->dlpi_addr != *static_cast<std::uintptr_t*>(base)) return 0;
  for (const auto& part : std::span(info->dlpi_phdr, info->dlpi_phnum))
    if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0) {
      loader_begin = info->dlpi_addr + part.p_vaddr;
      loader_end = loader_begin + part.p_memsz;
    }
  return 1;
}

// ---- the table

class table_builder {
public:
  explicit table_builder(site_table& into) noexcept : into_(into) {}

  /// Effects: notes what groups serve where chains end. Expects: all chains have been put.
  void finish() noexcept {
    for (std::size_t at = 0; at <= into_.mask; ++at) {
      site_node& node = into_.places[at];
      if (node.key == 0 || node.group == no_group || node.step.cfa_offset != 0) continue;
      const group& of = range.groups[node.group];
      (of.is_pool() ? node.cell_bytes : node.block_bytes) = static_cast<std::uint32_t>(of.most_bytes());
    }
  }

  void put(std::span<const planned_frame> chain) noexcept {
    std::size_t last_from_rbp = 0;  // and the number of frames up to it
    for (std::size_t i = 0; i != chain.size(); ++i)
      if (chain[i].step.from_rbp) last_from_rbp = i + 1;
    std::uint32_t inner = 0;
    site_node* node = nullptr;
    for (std::size_t i = 0; i != chain.size(); ++i) {
      const std::uintptr_t address = store.modules[chain[i].module].bias + chain[i].offset;
      node = &node_of(address, inner);
      const bool needs_rbp = node->step.needs_rbp || i < last_from_rbp;
      if (chain[i].group == 0) node->step = chain[i].step, node->step.needs_rbp = needs_rbp;
      inner = node->number;
    }
    node->group = chain.back().group - std::uint32_t{1};
  }

private:
  [[nodiscard]] site_node& node_of(std::uintptr_t address, std::uint32_t inner) noexcept {
    const std::uint64_t key = site_key(address, inner);
    std::size_t at = into_.place_of(key);
    while (into_.places[at].key != 0) {
      if (into_.places[at].key == key) return into_.places[at];
      at = (at + 1) & into_.mask;
    }
    into_.places[at] = {.key = key, .number = ++numbers_, .group = no_group, .step = {}};
    return into_.places[at];
  }

  site_table& into_;
  std::uint32_t numbers_ = 0;
};

/// Effects: calls `f(chain)` for each chain whose modules are all loaded.
template <class F>
void for_each_loaded_chain(F f) noexcept {
  std::size_t begin = 0;
  bool is_loaded = true;
  for (std::size_t i = 0; i != store.frame_count; ++i) {
    is_loaded = is_loaded && store.modules[store.frames[i].module].bias != not_loaded;
    if (store.frames[i].group == 0) continue;
    if (is_loaded) f(std::span<const planned_frame>(store.frames + begin, i + 1 - begin));
    begin = i + 1;
    is_loaded = true;
  }
}

/// A table, for the places at which the modules of the plan lay.
struct published_table {
  site_table table;
  const published_table* next = nullptr;  ///< in the list of all
  std::uintptr_t* biases = nullptr;       ///< of the modules
};
constinit const published_table* all_published = nullptr;  // under the lock of the modules

/// Returns: the table that was published when the modules lay where they do now, or null.
[[nodiscard]] const site_table* table_of_before() noexcept {
  for (const published_table* each = all_published; each != nullptr; each = each->next) {
    std::size_t same = 0;
    while (same != store.known.modules && each->biases[same] == store.modules[same].bias) ++same;
    if (same == store.known.modules) return &each->table;
  }
  return nullptr;
}

/// Returns: a table with room for all loaded chains, or null without memory. It is never released, since any thread may
/// be reading it.
[[nodiscard]] site_table* make_table() noexcept {
  std::size_t nodes = 1;
  for_each_loaded_chain([&](std::span<const planned_frame> chain) { nodes += chain.size(); });
  const std::size_t places = std::bit_ceil(2 * nodes);
  const std::size_t modules = store.known.modules;
  const std::size_t head_bytes = sizeof(published_table) + modules * sizeof(std::uintptr_t);
  void* const memory = os::pages::map(os::pages::round_up(head_bytes + places * sizeof(site_node)), 64);
  if (memory == nullptr) return nullptr;
  auto* const made = ::new (memory) published_table;
  made->biases = reinterpret_cast<std::uintptr_t*>(made + 1);
  for (std::size_t i = 0; i != modules; ++i) made->biases[i] = store.modules[i].bias;
  made->next = all_published;
  all_published = made;
  made->table = {.mask = static_cast<std::uint32_t>(places - 1),
                 .shift = static_cast<std::uint32_t>(64 - std::countr_zero(places)),
                 .places = reinterpret_cast<site_node*>(made->biases + modules)};
  return &made->table;
}

/// Effects: marks the addresses of chains whose groups take calls. Whole lines of it are compared first: most stay as
/// they are. Expects: the lock is held.
void fill_filter(bool looks_at_all) noexcept {
  static std::uint8_t wanted[filter_bytes];
  std::memset(wanted, looks_at_all ? begins_chain : 0, filter_bytes);
  for_each_loaded_chain([&](std::span<const planned_frame> chain) {
    if (!range.groups[chain.back().group - 1].takes_calls()) return;
    for (const planned_frame& frame : chain)
      wanted[(store.modules[frame.module].bias + frame.offset) % filter_bytes] |=
          &frame == chain.data() ? begins_chain : continues_chain;
  });
  constexpr std::size_t line = 64;
  for (std::size_t at = 0; at != filter_bytes; at += line) {
    if (std::memcmp(static_cast<const void*>(filter + at), wanted + at, line) == 0) continue;
    for (std::size_t i = at; i != at + line; ++i)
      if (value_of(filter[i]) != wanted[i]) set(filter[i], wanted[i]);
  }
}

[[nodiscard]] bool has_given_up() noexcept {
  for (std::uint32_t i = 0; i != range.count; ++i)
    if (range.groups[i].is_given_up()) return true;
  return false;
}

/// Effects: publishes a table, the former one if the modules lie as they did then. So a module that comes and goes at
/// one place takes no further memory. Expects: the lock is held.
void publish_sites() noexcept {
  if (const site_table* const before = table_of_before(); before != nullptr)
    return sites.store(before, detail::memory_order_release);
  std::size_t found = 0;
  for_each_loaded_chain([&](std::span<const planned_frame>) { ++found; });
  if (found != 0 && range.count == 0) range.begin(store.known.groups, store.known.count, drop_in::settings().decay_ms);
  site_table* const made = make_table();
  if (made == nullptr) return;
  table_builder builder(*made);
  for_each_loaded_chain([&](std::span<const planned_frame> chain) { builder.put(chain); });
  builder.finish();
  store.known.sites_found = detail::max(store.known.sites_found, found);
  sites.store(made, detail::memory_order_release);  // pairs with site_of_call() and likely_site()
}

/// Effects: publishes a table if a module of the plan has come, gone or moved. Expects: the lock is held.
void take_modules(const found_modules& found) noexcept {
  bool has_changed = false;
  for (std::size_t i = 0; i != store.known.modules; ++i) {
    planned_module& each = store.modules[i];
    has_changed = has_changed || each.bias != found.bias[i];
    each.bias = found.bias[i];
  }
  if (has_changed) publish_sites();
}

/// Effects: looks for the modules of the plan, if any module has been loaded since the last look. Returns: whether one
/// has.
bool find_modules() noexcept {
  unsigned long long loads = 0;
  ::dl_iterate_phdr(count_loads, &loads);
  if (loads == value_of(loads_seen)) return false;
  found_modules found;
  for (std::uintptr_t& each : found.bias) each = not_loaded;
  ::dl_iterate_phdr(find_module, &found);
  const ashlar::lock_scope held(modules_lock);
  set(loads_seen, found.loads);
  take_modules(found);
  fill_filter(false);
  return true;
}

/// Effects: in the thread that loads a library: looks whether it is there.
ASHLAR_COLD void look_for_modules() noexcept {
  const std::uint32_t left = value_of(looks_left);
  set(looks_left, find_modules() ? 0 : left - 1);
  if (left != 1 || value_of(looks_left) != 0) return;
  const ashlar::lock_scope held(modules_lock);
  fill_filter(false);
}

}  // namespace

const site_node* site_of_call(std::uintptr_t return_address, const void* const* frame) noexcept {
  const site_table* in = sites.load(detail::memory_order_acquire);  // pairs with publish_sites()
  const site_node* node = in->find(site_key(return_address, 0));
  if (ASHLAR_UNLIKELY(node == nullptr && value_of(looks_left) != 0) &&
      value_of(loading_thread) == detail::this_thread()) {
    look_for_modules();
    in = sites.load(detail::memory_order_acquire);
    node = in->find(site_key(return_address, 0));
  }
  if (node == nullptr) return nullptr;
  if (reinterpret_cast<std::uintptr_t>(frame[1]) == return_address) return end_of_chain(*in, *node, frame);
  return node->group != no_group ? node : nullptr;
}

void revise_filter() noexcept {
  const ashlar::lock_scope held(modules_lock);
  fill_filter(value_of(looks_left) != 0);
}

void notice_loader(const void* return_address) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(return_address);
  if (at - loader_begin >= loader_end - loader_begin) return;
  const ashlar::lock_scope held(modules_lock);
  set(loading_thread, detail::this_thread());
  if (value_of(looks_left) == 0) fill_filter(true);
  set(looks_left, looks_after_notice);
}

void begin_sites(std::string_view text) noexcept {
  const std::size_t most = detail::min(text.size() / least_frame_bytes + 1, most_frames);
  store.frames = static_cast<planned_frame*>(os::pages::map(os::pages::round_up(most * sizeof(planned_frame)), 64));
  if (store.frames == nullptr) return;
  store.most_frames = most;
  plan_reader reader(store);
  if (const std::size_t line = reader.read(text); line != 0) {
    ashlar::panic_line words;
    detail::write_error_line(words.text("ashlar: ASHLAR_ROUTE: line ")
                                 .number(line)
                                 .text(" is no part of a plan: "
                                       "nothing is routed")
                                 .view());
    store.known = {};
    return;
  }
  if (store.frame_count == 0) return;
  std::uintptr_t base = ::getauxval(AT_BASE);
  ::dl_iterate_phdr(find_loader, &base);
  find_modules();
}

const plan_in_effect& plan() noexcept { return store.known; }

void lock_sites() noexcept { modules_lock.lock(); }
void unlock_sites() noexcept { modules_lock.unlock(); }

void unlock_sites_in_child() noexcept {
  const bool was_loading = value_of(looks_left) != 0;
  if (was_loading && value_of(loading_thread) != detail::this_thread()) set(looks_left, std::uint32_t{0});
  // A thread that the fork left behind may have changed whether a group that is given up takes calls, and not yet have
  // revised the filter.
  if (was_loading || has_given_up()) fill_filter(value_of(looks_left) != 0);
  modules_lock.unlock();
}

// ---- the start of the router, after the start of libashlar and before all other constructors, and its report at exit

namespace {

/// Returns: the value of the variable, or nothing. getenv may not be ready.
[[nodiscard]] std::string_view value_in(const char* const* environment) noexcept {
  const std::size_t n = std::strlen(variable);
  for (; environment != nullptr && *environment != nullptr; ++environment)
    if (std::strncmp(*environment, variable, n) == 0) return *environment + n;
  return {};
}

/// Returns: a copy, since a program may write its name over its environment.
[[nodiscard]] std::string_view kept(std::string_view text) noexcept {
  if (text.size() > most_text_bytes) {
    detail::write_error_line("ashlar: ASHLAR_ROUTE: the plan is longer than 128 KiB: nothing is routed");
    return {};
  }
  if (text.empty()) return {};
  void* const copy = os::pages::map(os::pages::round_up(text.size()), os::pages::page_bytes());
  return copy != nullptr
             ? std::string_view(static_cast<char*>(std::memcpy(copy, text.data(), text.size())), text.size())
             : std::string_view();
}

__attribute__((constructor(102))) void begin(int, char**, char** environment) noexcept {
  if (::getauxval(AT_SECURE) != 0) return;
  const std::string_view text = kept(value_in(drop_in::environment_at_start(environment)));
  if (text.empty()) return;
  if (drop_in::settings().zeroes)
    return detail::write_error_line("ashlar: ASHLAR: with the option zero=1 nothing is routed");
  begin_sites(text);
  if (plan().count != 0) static_cast<void>(records.find_or_attach());  // from now on forks wait for the locks
  if (plan().reports) drop_in::keep_error_stream();
}

void write_group(detail::text_writer<drop_in::text_output>& out, std::size_t number) noexcept {
  group& of = range.groups[number];
  std::uint64_t count = 0, bytes = 0;
  records.sum(number, count, bytes);
  const group_figures now = of.figures();
  out.text("ashlar: route: ").text(of.name()).text(of.is_pool() ? " (pool): " : " (arena): ");
  out.counted(count, "allocation").text(", ").size(bytes).text("; at most ").size(now.most_chunks * of.chunk_bytes());
  out.text(" in ").counted(now.most_chunks, "chunk").text(", at the end ").grouped(now.chunks);
  if (now.dies_young) out.text("; given up: its blocks die young");
  else if (now.is_given_up) out.text("; given up: pinned ").size(now.pinned_when_given_up);
  out.text("\n");
}

void write_report(int descriptor) noexcept {
  drop_in::text_output to = drop_in::output_to(descriptor);
  detail::text_writer out(to);
  out.text("ashlar: route: process ")
      .number(drop_in::process_id())
      .text(" (")
      .text(::program_invocation_short_name)
      .text("): ");
  out.grouped(plan().sites_found).text(" of ").counted(plan().sites, "site").text(" found\n");
  for (std::size_t i = 0; i != range.count; ++i) write_group(out, i);
  out.flush();
}

// Before the statistics of libashlar.
__attribute__((destructor(102))) void report_at_exit() noexcept {
  if (plan().count == 0) return;
  if (plan().reports || drop_in::settings().writes_statistics) write_report(drop_in::kept_error_stream());
}

}  // namespace

}  // namespace ashlar::route
