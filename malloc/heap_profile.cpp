// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tables of the sampled profile of the heap.
#include "malloc/heap_profile.hpp"

#include <cstddef>
#include <cstdint>

#include <pthread.h>

#include <ashlar/base/lock.hpp>
#include <ashlar/detail/support/immortal.hpp>
#include <ashlar/detail/thread/fork_safe_lock.hpp>

#include "malloc/exponential.hpp"
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

}  // namespace ashlar::drop_in
