// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Hands out chunks, and counts what they pin.
#include "malloc/route/group.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include <sys/mman.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/os/random_bits.hpp>
#include <ashlar/os/system_calls.hpp>

namespace ashlar::route {

constinit group_range range;

namespace {

// The range lies between the range of the process heap and the program, and the heads below it.
constexpr std::uintptr_t lowest_place = std::uintptr_t{52} << 40;
constexpr std::size_t places_of_range = std::size_t{1} << 20;
constexpr std::size_t range_bytes = std::size_t{1} << 40;
constexpr std::size_t most_slice_bytes = std::size_t{1} << 36;
constexpr std::size_t most_chunk_bytes = std::size_t{1} << 24;
constexpr std::size_t bytes_per_head_byte = 32;  // at least, as the smallest chunk of an arena has a head of 128 bytes
constexpr std::size_t head_step = std::size_t{1} << 16;
constexpr std::size_t least_populated_bytes = std::size_t{1} << 19;
constexpr std::size_t most_populated_bytes = std::size_t{1} << 21;

// Slices are powers of two apart: without a colour the first chunks of all groups would share the sets of each cache
// and translation buffer, and so would their heads.
constexpr std::size_t lines_of_colour = 5;
constexpr std::size_t least_pages_of_coloured_chunk = 16;  // of smaller ones too much would share pages with others
[[nodiscard]] std::size_t most_colour() noexcept { return os::pages::page_bytes() * (most_groups + 1); }

/// Returns: whether there is fresh memory at the place. The system grants it where nothing is mapped.
[[nodiscard]] bool map_at(std::byte* place, std::size_t bytes) noexcept {
  const detail::errno_scope<detail::system_calls> keep;
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  void* const p = detail::memory_calls::map(place, bytes, PROT_READ | PROT_WRITE, flags);
  const bool is_there = p == place;
  if (!is_there && p != MAP_FAILED) detail::memory_calls::unmap(p, bytes);  // a kernel without the last flag
  return is_there;
}

// A request above that part of a chunk could leave as much of it unused.
constexpr std::size_t blocks_of_chunk = 4;

/// Returns: the bytes of a chunk: what the plan wishes, within a quarter of the budget, as one may be dead but for a
/// block.
[[nodiscard]] std::size_t chunk_within(const planned_group& plan) noexcept {
  constexpr std::size_t least = std::size_t{1} << 16;
  const std::size_t room = std::bit_ceil(plan.cell_bytes * blocks_of_chunk);
  return detail::min(plan.chunk_bytes, detail::max(std::bit_floor(plan.budget_bytes / 4), least, room));
}

}  // namespace

void group::begin(const planned_group& plan, std::size_t number, std::byte* slice, std::size_t slice_bytes,
                  std::byte* heads, std::uint32_t decay_ms) noexcept {
  const std::size_t page = os::pages::page_bytes();
  const bool has_whole_pages = chunk_within(plan) >= least_pages_of_coloured_chunk * page;
  colour_ = has_whole_pages ? number * (lines_of_colour * sizeof(chunk)) % page : 0;
  slice_ = slice + number * page + colour_;
  slice_bytes_ = slice_bytes;
  heads_ = heads + number * page + colour_;
  if (plan.kind == remedy::pool) cell_bytes_ = ashlar::align_up(plan.cell_bytes, granule);
  shift_ = static_cast<std::uint32_t>(std::countr_zero(chunk_within(plan)));
  most_bytes_ = plan.kind == remedy::pool ? cell_bytes_ : chunk_bytes() / blocks_of_chunk;
  const std::size_t with_marks = plan.kind == remedy::arena ? marks::bytes_of(chunk_bytes()) : 0;
  stride_ = sizeof(chunk) + ashlar::align_up(with_marks, alignof(chunk));
  usable_bytes_ = is_pool() ? chunk_bytes() / cell_bytes_ * cell_bytes_ : chunk_bytes();
  window_.set_duration(decay_ms);
  budget_bytes_ = plan.budget_bytes;
  name_ = plan.name;
}

chunk* group::take_chunk(thread_record* owner, bool grows, std::size_t bytes) noexcept {
  if (value_of(is_exhausted_)) return nullptr;
  const ashlar::lock_scope held(lock_);
  if (value_of(is_given_up_)) return nullptr;
  sampled_bytes_ += ashlar::align_up(bytes, granule);
  ++sampled_;
  if (chunks_ >= next_guard_) guard();
  if (value_of(is_given_up_)) return nullptr;
  chunk* const taken = warm_list_ != nullptr || cold_list_ != nullptr ? reuse() : extend(grows);
  if (taken == nullptr) return set(is_exhausted_, true), nullptr;
  takers_ += grows ? 0 : 1;
  ++chunks_;
  most_chunks_ = detail::max(most_chunks_, chunks_);
  std::byte* const memory = memory_by_number(*taken);
  if (is_pool()) taken->free = nullptr;
  else taken->begin = memory;
  set(taken->fresh, memory);
  taken->end = memory + usable_bytes_;
  taken->next = taken->previous = nullptr;
  set(taken->used, std::uint32_t{0});
  set(taken->taken, std::uint32_t{0});
  taken->owner.store(owner, detail::memory_order_relaxed);
  return taken;
}

chunk* group::reuse() noexcept {
  chunk*& list = warm_list_ != nullptr ? warm_list_ : cold_list_;
  if (warm_list_ != nullptr) --warm_, range.count_warm(0, chunk_bytes());
  idle_ = 0;
  chunk* const first = list;
  list = first->next;
  return first;
}

chunk* group::extend(bool grows) noexcept {
  if (!commit(begun_ + 1)) return nullptr;
  range.release_idle(chunk_bytes());
  if (grows) populate();
  return ::new (static_cast<void*>(&head(begun_++))) chunk;
}

bool group::commit(std::size_t chunks) noexcept {
  const std::size_t wanted = chunks << shift_, wanted_heads = chunks * stride_;
  if (wanted + most_colour() > slice_bytes_) return false;
  if (wanted_heads + colour_ > committed_heads_) {
    const std::size_t more = ashlar::align_up(wanted_heads + colour_ - committed_heads_, head_step);
    if (!map_at(heads_ - colour_ + committed_heads_, more)) return false;
    committed_heads_ += more;
  }
  if (wanted > value_of(committed_)) {
    const std::size_t step = detail::max(chunk_bytes(), least_commit_bytes), mapped = mapped_;
    const std::size_t more = ashlar::align_up(wanted + colour_ - mapped, step);
    if (!map_at(slice_ - colour_ + mapped, more)) return false;
    mapped_ += more;
    set(committed_, mapped_ - colour_);
  }
  return true;
}

// A thread that has used up a chunk of a group that has grown takes the pages of its next chunk by one call, and of
// those up to a 64th of what the group has, in place of a fault for each: what stays unused is part of the peak.
void group::populate() noexcept {
  const std::size_t begun = begun_ << shift_;
  if (begun < least_populated_bytes || begun < populated_) return;
  const std::size_t page = os::pages::page_bytes();
  const std::size_t from = ashlar::align_up(begun, page);
  const std::size_t wish = detail::min(detail::max(begun / 64, chunk_bytes()), most_populated_bytes);
  const std::size_t end = ashlar::align_down(detail::min(begun + wish, value_of(committed_)), page);
  populated_ = begun + chunk_bytes();
  if (from + page > end) return;
  range.release_idle(end - from);
  os::pages::populate(slice_ - colour_ + from, end - from);
  populated_ = detail::max(populated_, end);
}

void group::give_chunk(chunk& empty) noexcept {
  if (!is_pool()) marks::clear(empty, static_cast<std::size_t>(value_of(empty.fresh) - memory_of(empty)) / granule);
  const ashlar::lock_scope held(lock_);
  --chunks_;
  empty.owner.store(nullptr, detail::memory_order_relaxed);
  next_guard_ = detail::min(next_guard_, chunks_ + guard_step());
  empty.next = warm_list_;
  warm_list_ = &empty;
  ++warm_;
  range.count_warm(chunk_bytes(), 0);
  set(is_exhausted_, false);
  trim_warm();
}

std::size_t group::kept_chunks() const noexcept {
  const std::size_t share = detail::max(group_range::least_kept_bytes / range.count, least_kept_of_group) >> shift_;
  return detail::max(share, chunks_ / 8);
}

// Effects: notes that a chunk has become free.
void group::trim_warm() noexcept {
  if (is_given_up()) return leave_to_system();
  const std::size_t kept = kept_chunks();
  idle_ = detail::max(idle_, window_.excess(warm_ << shift_, kept << shift_, chunk_bytes()) >> shift_);
  for (std::size_t step = chunks_of_step; step != 0 && idle_ != 0 && warm_ > kept; --step, --idle_) leave_to_system();
}

std::size_t group::release_idle(std::size_t bytes) noexcept {
  if (!lock_.try_lock()) return 0;
  std::size_t released = 0;
  for (const std::size_t kept = kept_chunks(); released < bytes && warm_ > kept; released += chunk_bytes())
    leave_to_system();
  lock_.unlock();
  return released;
}

// Effects: the memory of the chunk that was given last goes to the system.
void group::leave_to_system() noexcept {
  chunk* const leaving = warm_list_;
  warm_list_ = leaving->next;
  --warm_;
  range.count_warm(0, chunk_bytes());
  leaving->next = cold_list_;
  cold_list_ = leaving;
  const detail::errno_scope<detail::system_calls> keep;
  const std::size_t page = os::pages::page_bytes();
  std::byte* const begin = ashlar::align_up(memory_of(*leaving), page);
  std::byte* const end = ashlar::align_down(memory_of(*leaving) + chunk_bytes(), page);
  if (begin < end) detail::memory_calls::advise(begin, static_cast<std::size_t>(end - begin), MADV_DONTNEED);
}

// The next count comes after a growth by a 16th of all chunks that a count looks at, so that all counts together take a
// time proportional to the chunks that are taken.
void group::guard() noexcept {
  const group_usage now = usage();
  most_live_bytes_ = detail::max(most_live_bytes_, now.live_bytes);
  const std::size_t share = detail::max(spare_bytes / range.count, least_spare_of_group);
  const bool is_within_peak = now.held_bytes <= most_live_bytes_ / 4 * 5 + share;
  const std::size_t pinned = now.held_bytes - now.live_bytes;
  if (pinned > budget_bytes_ || !is_within_peak) {
    pinned_when_given_up_ = pinned;
    return give_up();
  }
  next_guard_ = chunks_ + guard_step();
}

void group::judge(std::size_t bytes) noexcept {
  if (bytes < least_judged_bytes || is_given_up()) return;
  const ashlar::lock_scope held(lock_);
  const std::size_t few = detail::max(least_long_lived_bytes >> shift_, std::size_t{2});
  if (most_chunks_ > takers_ * few) return;
  dies_young_ = true;
  give_up();
}

// Its free chunks are of no use any more.
void group::give_up() noexcept {
  set(is_given_up_, true);
  while (warm_ != 0) leave_to_system();
}

bool group::wants_calls_again() noexcept {
  if (arrivals_.fetch_add(1, detail::memory_order_relaxed) % most_arrivals != most_arrivals - 1) return false;
  set(calls_left_, most_arrivals);
  return !takes_calls_.exchange(true, detail::memory_order_relaxed);
}

// Of an arena's dead blocks the sizes are unknown: they are taken to be as large as the live ones, and the blocks of a
// pool's live blocks as large as the samples.
group_usage group::usage() const noexcept {
  const std::size_t of_cell = detail::min(sampled_bytes_ / sampled_, cell_bytes_);
  group_usage all;
  for (std::size_t i = 0; i != begun_; ++i) {
    const chunk& each = head(i);
    if (each.owner.load(detail::memory_order_relaxed) == nullptr) continue;
    const auto begun = static_cast<std::size_t>(value_of(each.fresh) - memory_of(each));
    const std::size_t used = value_of(each.used), taken = detail::max<std::size_t>(value_of(each.taken), 1);
    all.held_bytes += begun;
    all.live_bytes += detail::min(begun, is_pool() ? used * of_cell : begun / taken * used);
  }
  return all;
}

group_figures group::figures() noexcept {
  const ashlar::lock_scope held(lock_);
  return {.chunks = chunks_,
          .most_chunks = most_chunks_,
          .pinned_when_given_up = pinned_when_given_up_,
          .dies_young = dies_young_,
          .is_given_up = value_of(is_given_up_)};
}

void group_range::release_idle(std::size_t bytes) noexcept {
  std::size_t released = 0;
  for (std::size_t i = 0; i != count && released < bytes && value_of(warm_bytes_) > least_kept_bytes; ++i)
    released += groups[i].release_idle(bytes - released);
}

void group_range::begin(const planned_group* plans, std::size_t n, std::uint32_t decay_ms) noexcept {
  const std::size_t slice = detail::min(range_bytes / std::bit_ceil(n), most_slice_bytes);
  const std::uint64_t place = detail::mixed(detail::process_secret() ^ ashlar::address_of(this)) % places_of_range;
  auto* const at = reinterpret_cast<std::byte*>(lowest_place + place * most_chunk_bytes);
  slice_shift_ = static_cast<std::uint32_t>(std::countr_zero(slice));
  for (std::size_t i = 0; i != n; ++i) {
    const std::size_t offset = i << slice_shift_;
    groups[i].begin(plans[i], i, at + offset, slice, at - (range_bytes - offset) / bytes_per_head_byte, decay_ms);
  }
  count = static_cast<std::uint32_t>(n);
  set(begin_, reinterpret_cast<std::uintptr_t>(at));
  set(bytes_, n << slice_shift_);
}

}  // namespace ashlar::route
