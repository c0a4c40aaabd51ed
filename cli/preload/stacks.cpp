// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every distinct stack gets an id by its hash: found without a lock, added under one.
#include "cli/preload/stacks.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <span>

#include <dlfcn.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/detail/trace/checksum.hpp>
#include <ashlar/detail/trace/table_chunks.hpp>

#include "cli/preload/chunks.hpp"
#include "cli/preload/recorder.hpp"
#include "cli/preload/settings.hpp"
#include "cli/preload/workspace.hpp"

namespace ashlar::recorder {

std::uint32_t stack_depth = 0;

namespace {

constexpr std::size_t table_slots = std::size_t{1} << 20;
constexpr std::size_t max_stacks = table_slots / 4 * 3;
constexpr std::size_t pending_bytes = 64 * 1024;
constexpr int own_frames = 2;  // take_stack and the interposed function

/// 64 bits of hash stand for the stack: among a million stacks the chance that two are mistaken for one is 1 in 10^7.
struct slot {
  std::atomic<std::uint64_t> hash = 0;  ///< 0 = empty.
  std::atomic<std::uint32_t> id = 0;    ///< Released after the stack is pending, acquired by its finder.
};

struct stack_store {
  slot slots[table_slots];
  std::byte pending[pending_bytes];
};

using unwinder = int (*)(void**, int);

stack_store* store = nullptr;
unwinder unwind = nullptr;
unwinder unwind_without_locks = nullptr;  // the C library's, slower, if it has _dl_find_object to look modules up
constinit spin_lock stacks_lock;
std::uint32_t stacks = 0;         // ids given
std::uint32_t pending_count = 0;  // of them outside of the file
std::size_t pending_used = 0;
std::uint32_t sequence = 0;

/// Expects: the lock is held.
bool write_pending() noexcept {
  if (pending_count == 0) return true;
  const bool written =
      write_chunk({.kind = detail::trace_io::chunk_kind::stacks, .sequence = sequence++, .count = pending_count},
                  {store->pending, pending_used});
  pending_count = 0;
  pending_used = 0;
  return written;
}

/// Expects: the lock is held. A payload starts with the id of its first stack.
std::uint32_t add_stack(std::span<const std::uint64_t> frames) noexcept {
  if (pending_used + detail::trace_io::max_varint_bytes + detail::trace_io::stack_bound(frames.size()) > pending_bytes)
    write_pending();
  std::byte* to = store->pending + pending_used;
  if (pending_count == 0) to = detail::trace_io::put_varint(to, std::uint64_t{stacks} + 1);
  pending_used = static_cast<std::size_t>(detail::trace_io::put_stack(to, frames) - store->pending);
  ++pending_count;
  return ++stacks;
}

slot& find_slot(std::uint64_t hash) noexcept {
  for (std::size_t at = hash;; ++at) {
    slot& s = store->slots[at % table_slots];
    const std::uint64_t there = s.hash.load(std::memory_order_relaxed);
    if (there == hash || there == 0) return s;
  }
}

std::uint32_t add_new(std::uint64_t hash, std::span<const std::uint64_t> frames) noexcept {
  const ashlar::detail::lock_scope hold(stacks_lock);
  slot& s = find_slot(hash);
  if (s.hash.load(std::memory_order_relaxed) == hash) return s.id.load(std::memory_order_relaxed);
  if (stacks >= max_stacks) return 0;
  s.id.store(add_stack(frames), std::memory_order_relaxed);
  s.hash.store(hash, std::memory_order_release);  // pairs with the fence in id_of(): a reader of the hash reads the id
  return s.id.load(std::memory_order_relaxed);
}

std::uint32_t id_of(std::span<const std::uint64_t> frames) noexcept {
  const std::uint64_t hash = detail::trace_io::checksum(std::as_bytes(frames)) | 1;
  const slot& s = find_slot(hash);
  if (s.hash.load(std::memory_order_acquire) == hash) return s.id.load(std::memory_order_relaxed);
  return add_new(hash, frames);
}

}  // namespace

void prepare_stacks() noexcept {
  void* warm[4];  // an unwinder may load and allocate at its first use
  const char* const wanted = std::getenv(stacks_variable);
  const long depth = wanted == nullptr ? 0 : std::atol(wanted);
  if (depth <= 0) return;
  void* const library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) unwind = reinterpret_cast<unwinder>(dlsym(library, "unw_backtrace"));
  const auto backtrace = reinterpret_cast<unwinder>(dlsym(RTLD_DEFAULT, "backtrace"));
  if (unwind == nullptr) unwind = backtrace;
  if (unwind == nullptr) return;  // a C library without an unwinder: no stacks
  unwind(warm, 4);
  if (backtrace != nullptr && dlsym(RTLD_DEFAULT, "_dl_find_object") != nullptr) unwind_without_locks = backtrace;
  if (unwind_without_locks != nullptr) unwind_without_locks(warm, 4);
  store = static_cast<stack_store*>(map_memory(sizeof(stack_store)));
  if (store != nullptr)
    stack_depth = depth < long{max_stack_depth} ? static_cast<std::uint32_t>(depth) : max_stack_depth;
}

ASHLAR_NOINLINE std::uint32_t take_stack() noexcept {
  if (self.busy) return 0;
  const inside_recorder inside;
  void* raw[max_stack_depth + own_frames];
  std::uint64_t frames[max_stack_depth];
  const int n = unwind(raw, static_cast<int>(stack_depth) + own_frames);
  std::size_t kept = 0;
  for (int i = own_frames; i < n; ++i) frames[kept++] = reinterpret_cast<std::uintptr_t>(raw[i]);
  return kept == 0 ? 0 : id_of({frames, kept});
}

bool write_stacks() noexcept {
  if (stack_depth == 0) return true;
  const ashlar::detail::lock_scope hold(stacks_lock);
  return write_pending();
}

void reset_stacks(bool locks_are_orphaned) noexcept {
  stacks_lock.unlock();
  if (locks_are_orphaned) unwind = unwind_without_locks;
  if (unwind == nullptr) stack_depth = 0;
  if (store == nullptr) return;
  for (slot& s : store->slots)
    if (s.hash.load(std::memory_order_relaxed) != 0) s.hash.store(0, std::memory_order_relaxed);
  stacks = pending_count = sequence = 0;
  pending_used = 0;
}

}  // namespace ashlar::recorder
