// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Chunks that change hands: exhausted, emptied, freed into by other threads, left by threads that end.
#include "malloc/route/threads.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/os/pages.hpp>

#include "malloc/route/sites.hpp"

namespace ashlar::route {

constinit thread_records records;

namespace {

using state = thread_record::state;

constexpr std::uint32_t any_number = std::numeric_limits<std::uint32_t>::max();

// ---- the list of a thread's chunks with free cells

void push(thread_share& to, chunk& joining) noexcept {
  joining.wake = 1;
  joining.previous = nullptr;
  joining.next = to.with_free;
  if (to.with_free != nullptr) to.with_free->previous = &joining;
  to.with_free = &joining;
}

void remove(thread_share& from, chunk& leaving) noexcept {
  (leaving.previous != nullptr ? leaving.previous->next : from.with_free) = leaving.next;
  if (leaving.next != nullptr) leaving.next->previous = leaving.previous;
}

// ---- frees by other threads

void free_all(thread_record& owner, free_block* first) noexcept {
  while (first != nullptr) {
    free_block* const next = first->next;
    group& of = range.group_of(first);
    deallocate_own(owner, of, of.chunk_of(first), first);
    first = next;
  }
}

bool drain(thread_record& owner) noexcept {
  if (owner.inbox.load(detail::memory_order_relaxed) == nullptr) return false;
  free_all(owner, owner.inbox.exchange(nullptr, detail::memory_order_acquire));  // pairs with the push
  return true;
}

// A thread that pushes a block sees an idle record, or the one that makes it idle sees the block: each writes before it
// reads, in one order of all.
void drain_idle(thread_record& of) noexcept {
  while (of.inbox.load(detail::memory_order_seq_cst) != nullptr) {
    state idle = state::idle;
    if (!of.now.compare_exchange_strong(idle, state::busy, detail::memory_order_seq_cst, detail::memory_order_relaxed))
      return;
    drain(of);
    of.now.store(state::idle, detail::memory_order_seq_cst);
  }
}

// ---- errors of the program

[[noreturn]] ASHLAR_COLD void fail_twice_freed(const group& of, const void* p) noexcept {
  ashlar::panic_line words;
  words.text("ashlar: route: group ").text(of.name()).text(": a block of the chunk of ").address(p);
  detail::panic(words.text(" was freed twice, or was never allocated").view());
}

// ---- a chunk for an allocation

/// Effects: makes room for the next current chunk.
void retire_current(thread_share& mine, group& of) noexcept {
  chunk* const last = mine.current;
  mine.current = nullptr;
  if (last == nullptr) return;
  const std::size_t used = value_of(last->used);
  if (used > of.chunk_bytes() / granule) fail_twice_freed(of, of.memory_of(*last));  // it went below 0
  if (used == 0) return of.give_chunk(*last);
  if (of.is_pool()) last->wake = any_number;
  else add(mine.bytes, static_cast<std::uint64_t>(value_of(last->fresh) - of.memory_of(*last)));
}

/// Effects: gives the thread a current chunk with room. Returns: false if there is none.
bool find_chunk(thread_record& owner, thread_share& mine, group& of, std::size_t bytes) noexcept {
  if (mine.with_free == nullptr) drain(owner);
  if (of.is_pool() && mine.current != nullptr && mine.current->free != nullptr) return true;
  chunk* const listed = mine.with_free;
  chunk* const next = listed != nullptr ? listed : of.take_chunk(&owner, mine.current != nullptr, bytes);
  if (next == nullptr) return false;
  if (listed != nullptr) remove(mine, *listed);
  retire_current(mine, of);
  next->wake = of.is_pool() ? 0 : 1;
  mine.current = next;
  return true;
}

/// Effects: makes the current chunk of an arena as new.
void restart(thread_share& mine, group& of, chunk& empty) noexcept {
  std::byte* const memory = of.memory_of(empty);
  const auto begun = static_cast<std::size_t>(value_of(empty.fresh) - memory);
  marks::clear(empty, begun / granule);
  add(mine.bytes, std::uint64_t{begun});
  set(empty.fresh, memory);
  set(empty.taken, std::uint32_t{0});
}

}  // namespace

void* allocate_slow(std::size_t number, std::size_t bytes) noexcept {
  group& of = range.groups[number];
  if (bytes > of.most_bytes()) return nullptr;
  thread_record* const owner = records.find_or_attach();
  if (owner == nullptr) return nullptr;
  if (of.is_given_up()) {
    drain(*owner);  // nothing else takes back what other threads free
    retire_current(owner->shares[number], of);
    if (of.leaves_calls()) revise_filter();
    return nullptr;
  }
  thread_share& mine = owner->shares[number];
  const std::size_t wanted = detail::max<std::size_t>(bytes, 1);
  for (;;) {
    void* p = nullptr;
    if (mine.current != nullptr)
      p = of.is_pool() ? take_cell(*mine.current, of.cell_bytes()) : take_block(*mine.current, wanted);
    if (p != nullptr) return counted(mine, number, p);
    if (!find_chunk(*owner, mine, of, wanted)) return nullptr;
  }
}

void* end_period(std::size_t number, void* p) noexcept {
  group& of = range.groups[number];
  thread_share& mine = thread_records::last_used()->shares[number];
  mine.until = thread_share::period;
  add(mine.periods, std::uint32_t{1});
  of.judge(of.is_pool() ? mine.count() * of.cell_bytes() : value_of(mine.bytes));
  if (of.is_given_up()) {
    retire_current(mine, of);  // but for `p` it would have room
    if (of.leaves_calls()) revise_filter();
  }
  ASHLAR_IN_REGISTER(p);  // a caller that knows the result would keep the argument over the call
  return p;
}

void deallocate_remote(chunk& of, void* p) noexcept {
  thread_record* const found = of.owner.load(detail::memory_order_relaxed);  // as long as the block is in use
  if (ASHLAR_UNLIKELY(found == nullptr)) fail_twice_freed(range.group_of(p), p);
  thread_record& owner = *found;
  if (ASHLAR_UNLIKELY(range.group_of(p).counts_arrival())) revise_filter();
  auto* const block = static_cast<free_block*>(p);
  free_block* first = owner.inbox.load(detail::memory_order_relaxed);
  do block->next = first;
  while (!owner.inbox.compare_exchange_weak(first, block, detail::memory_order_seq_cst, detail::memory_order_relaxed));
  if (ASHLAR_UNLIKELY(owner.now.load(detail::memory_order_seq_cst) == state::idle)) drain_idle(owner);
}

void settle(thread_record& owner, group& of, chunk& changed) noexcept {
  thread_share& share = owner.shares[&of - range.groups];
  const bool is_empty = value_of(changed.used) == 0;
  if (!of.is_pool()) return &changed == share.current ? restart(share, of, changed) : of.give_chunk(changed);
  const bool is_listed = changed.wake == 1;
  if (!is_empty) return push(share, changed);
  if (is_listed) remove(share, changed);
  of.give_chunk(changed);
}

std::size_t usable_size(const void* p) noexcept {
  const group& of = range.group_of(p);
  if (of.is_pool()) return of.cell_bytes();
  chunk& in = of.chunk_of(p);
  const std::size_t at = of.offset_in_chunk(p) / granule;
  std::byte* const fresh = in.fresh.load(detail::memory_order_acquire);  // pairs with take_block(): all marks before it
  const auto end = static_cast<std::size_t>(fresh - of.memory_of(in)) / granule;
  return (marks::next(in, at + 1, end) - at) * granule;
}

// The latest block of an arena's current chunk grows where it is.
bool try_expand(void* p, std::size_t bytes) noexcept {
  const std::size_t had = usable_size(p);
  if (bytes <= had) return true;
  const std::size_t number = range.number_of(p);
  group& of = range.groups[number];
  chunk& in = of.chunk_of(p);
  if (of.is_pool() || bytes > of.most_bytes() || &in != thread_records::last_used()->shares[number].current)
    return false;
  std::byte* const end = static_cast<std::byte*>(p) + ((bytes + (granule - 1)) & ~(granule - 1));
  if (static_cast<std::byte*>(p) + had != value_of(in.fresh) || end > in.end) return false;
  in.fresh.store(end, detail::memory_order_release);
  return true;
}

// ---- threads that begin and end

thread_record* thread_records::adopt() noexcept {
  for (thread_record* each = first_.load(detail::memory_order_acquire); each != nullptr; each = each->next) {
    state idle = state::idle;
    if (each->now.load(detail::memory_order_relaxed) == state::idle &&
        each->now.compare_exchange_strong(idle, state::owned, detail::memory_order_seq_cst,
                                          detail::memory_order_relaxed))
      return each;
  }
  return nullptr;
}

thread_record* thread_records::begin_thread() noexcept {
  if (thread_record* const left = adopt(); left != nullptr) return left;
  void* const memory = os::pages::map(os::pages::round_up(sizeof(thread_record)), alignof(thread_record));
  if (memory == nullptr) return nullptr;
  auto* const made = ::new (memory) thread_record;
  thread_record* first = first_.load(detail::memory_order_relaxed);
  do made->next = first;
  while (!first_.compare_exchange_weak(first, made, detail::memory_order_release, detail::memory_order_relaxed));
  return made;
}

void thread_records::end_thread(thread_record& leaving) noexcept {
  drain(leaving);
  leaving.now.store(state::idle, detail::memory_order_seq_cst);
  drain_idle(leaving);
}

// ---- forks

void thread_records::before_fork(detail::fork_step step) noexcept {
  if (step != detail::fork_step::last_locks) return;
  lock_sites();  // first, since who has it may begin the groups
  for (std::uint32_t i = 0; i != range.count; ++i) range.groups[i].lock();
}

namespace {

void unlock_groups() noexcept {
  for (std::uint32_t i = 0; i != range.count; ++i) range.groups[i].unlock();
}

}  // namespace

void thread_records::after_fork_in_parent() noexcept {
  unlock_groups();
  unlock_sites();
}

void thread_records::after_fork_in_child(thread_record* mine) noexcept {
  unlock_groups();
  unlock_sites_in_child();
  for (thread_record* each = first_.load(detail::memory_order_relaxed); each != nullptr; each = each->next)
    if (each != mine && each->now.load(detail::memory_order_relaxed) != state::idle)
      each->now.store(state::lost, detail::memory_order_relaxed);
}

void thread_records::sum(std::size_t number, std::uint64_t& count, std::uint64_t& bytes) const noexcept {
  const group& of = range.groups[number];
  for (thread_record* each = first_.load(detail::memory_order_acquire); each != nullptr; each = each->next) {
    const thread_share& share = each->shares[number];
    count += share.count();
    if (of.is_pool()) bytes += share.count() * of.cell_bytes();
    else bytes += value_of(share.bytes);
    if (const chunk* const open = share.current; open != nullptr && !of.is_pool())
      bytes += static_cast<std::uint64_t>(value_of(open->fresh) - of.memory_of(*open));
  }
}

}  // namespace ashlar::route
