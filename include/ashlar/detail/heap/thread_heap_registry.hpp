// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the threads of a heap have together and each for itself, and all that is done with it off the fast paths.
#pragma once

#include <cstddef>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/expects.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/detail/heap/cell_layout.hpp>
#include <ashlar/detail/heap/heap_core.hpp>
#include <ashlar/detail/heap/heap_survey.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/shared_extent_map.hpp>
#include <ashlar/detail/heap/thread_heaps.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/algorithm.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/list.hpp>
#include <ashlar/detail/thread/fork.hpp>
#include <ashlar/detail/thread/last_used_tls.hpp>
#include <ashlar/detail/thread/thread_tables.hpp>
#include <ashlar/heap/heap_options.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// Behind the face of `heap`: the space, the common heap, and who has which thread's heap.
///
///   thread --table--> thread_heap --> space
///   thread that has none, huge blocks --> common heap --> space
///
/// Invariant: what `recent` and `latest` find is in a table of the thread. Thread safety: any thread, where nothing
/// else is said.
template <resource Upstream>
class thread_heap_registry {
public:
  using source = extent_resource<Upstream>;
  using thread_heap = detail::thread_heap<source>;
  using owner = owner_heap<source>;
  /// Whether what is wrong with a free is found in the call; then whoever frees does it himself, under the owner's
  /// lock.
  static constexpr bool checks = checking_level >= checking::checked;

  /// `heap`: whom reports name.
  thread_heap_registry(const heap_options& options, Upstream upstream, void* heap)
      : space_(options.max_bytes, std::move(upstream), options.retain_bytes, heap),
        common_(of_each(options), source(space_)), heaps_(of_each(options), source(space_)) {
    space_.before_growth(this, [](void* of) noexcept { self(of).heaps_.scavenge(); });
  }
  thread_heap_registry(const thread_heap_registry&) = delete;
  thread_heap_registry& operator=(const thread_heap_registry&) = delete;
  /// Expects: no other thread uses them; those that did may be ending.
  ~thread_heap_registry() {
    tables_.part(*this, [this] { fork_participants::leave(at_fork_); });
  }

  /// Returns: the calling thread's; null where it has none, or `known` and `obtain` must look.
  [[nodiscard]] ASHLAR_INLINE thread_heap* recent() const noexcept { return last_used::of(this); }

  /// Returns: the calling thread's of that heap of this type which it used last, or null. It stands where its blocks'
  /// segments say that their heap does.
  [[nodiscard]] static ASHLAR_INLINE thread_heap* latest() noexcept { return last_used::found(); }

  /// Returns: the calling thread's; null where it has none. `recent` finds it from now on.
  [[nodiscard]] thread_heap* known() const noexcept {
    if (thread_heap* const mine = recent(); mine != nullptr) return mine;
    table* const mine = tables_.known();
    if (mine == nullptr || mine->mine == nullptr) return nullptr;
    remember(*mine);
    return mine->mine;
  }

  /// Returns: the calling thread's, made or adopted if need be; null where it cannot have one.
  [[nodiscard]] thread_heap* obtain() noexcept {
    if (thread_heap* const mine = recent(); mine != nullptr) return mine;
    fork_participants::enter(at_fork_);
    table* const mine = tables_.obtain(*this);
    if (mine == nullptr) return nullptr;
    if (mine->mine == nullptr) attach(*mine, prepared(heaps_.adopt()));
    else remember(*mine);
    return mine->mine;
  }

  /// Effects: parts the calling thread from its heap, whose frees are sent. Returns: it, or null.
  [[nodiscard]] thread_heap* detach() noexcept {
    table* const mine = tables_.known();
    if (mine == nullptr || mine->mine == nullptr) return nullptr;
    mine->mine->freer.flush();
    heaps_.set_in_transit(*mine->mine, true);
    return attach(*mine, nullptr);
  }

  /// Effects: gives the calling thread the heap. Returns: the one that it had, or null; `adopted` itself where the
  /// thread cannot have one.
  [[nodiscard]] thread_heap* adopt(thread_heap* adopted) noexcept {
    fork_participants::enter(at_fork_);
    table* const mine = adopted != nullptr ? tables_.obtain(*this) : nullptr;
    if (mine == nullptr) return adopted;
    heaps_.set_in_transit(*adopted, false);
    return attach(*mine, adopted);
  }

  /// Effects: leaves a heap that nobody has to the next thread that needs one.
  void park(thread_heap& left) noexcept { heaps_.park(left); }

  /// Effects: sends the calling thread's frees of others' blocks.
  void flush() noexcept {
    if (thread_heap* const mine = known(); mine != nullptr) mine->freer.flush();
  }

  /// Returns: what `allocate(from)` does, a block or null, with the heap that the request is for. Before it is null,
  /// all memory is given back that nobody needs, and what no thread has is tried.
  template <class Allocate>
  [[nodiscard]] void* allocate_by(std::size_t bytes, std::size_t alignment, Allocate allocate) noexcept {
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    const bool is_common = is_huge(bytes, alignment);
    if (void* const p = allocate_somewhere(is_common, allocate); p != nullptr) return p;
    if (!is_valid_request(bytes, alignment)) return nullptr;
    static_cast<void>(trim());  // whatever there is anywhere, before a request is refused
    if (void* const p = allocate_somewhere(is_common, allocate); p != nullptr || is_common) return p;
    if (void* const p = allocate_parked(allocate); p != nullptr) return p;
    return allocate_common(allocate);
  }

  /// Calls `free(home)` where that may be done: by its owner, and by anybody where whole calls take the lock. Else the
  /// block travels. Expects: `p` is not null.
  template <class Free>
  void deallocate_by(void* p, Free free) noexcept {
    owner& home = home_of(p);
    if (checks) return free(home);
    const bool is_noted = !is_aligned(p, window_bytes) && segment::owner_of(p) != size_classes::none;
    thread_heap* const mine = is_noted ? obtain() : known();  // who notes nothing needs no heap
    if (mine != nullptr && &home == &mine->blocks) return free(home);
    mine != nullptr ? mine->freer.defer_free(home, p) : home.free_remote(p);
  }

  /// Returns: whose block it is. Huge ones are common. From level `checked` on `p` may be anything; of what is no block
  /// of this heap the common one says so.
  [[nodiscard]] owner& home_of(void* p) const noexcept {
    if (is_aligned(p, window_bytes)) return common_;
    if constexpr (!checks) return *owner::of(p);
    const void* const heap = space_.heap_of(p);
    return heap != nullptr ? *owner::of_segment(heap) : common_;
  }

  [[nodiscard]] bool owns(const void* p) const noexcept {
    if (!space_.has(p)) return false;
    if (common_.owns(p)) return true;
    bool found = false;
    heaps_.for_each([&](const thread_heap& each) { found = found || each.blocks.owns(p); });
    return found;
  }

  /// Calls `f(owner_heap, heap_part)` for each: the threads', and then the common one. The frees that the calling
  /// thread has noted are sent before.
  template <class F>
  void for_each_part(F f) const {
    thread_heap* const mine = known();
    if (mine != nullptr) mine->freer.flush();
    heaps_.for_each([&](thread_heap& each) { f(each.blocks, &each == mine ? heap_part::own : heap_part::others); });
    with_common([&] { f(common_, heap_part::common); });
  }

  /// Expects: no other thread uses the heap; those that did may be ending.
  void release() noexcept {
    const auto release_all = [this] {
      heaps_.for_each([](thread_heap& each) { each.freer.leave(); });  // no packet may name what is gone
      heaps_.for_each([](thread_heap& each) { each.blocks.release(); });
      common_.release();
      space_.trim();
    };
    tables_.for_each([](table&) {}, release_all);
  }

  std::size_t trim(std::size_t retain_bytes = 0) noexcept {
    flush();
    const std::size_t held = space_.held_bytes();
    std::size_t given = 0;
    thread_heap* const mine = known();
    if (mine != nullptr) given += mine->blocks.trim(retain_bytes);
    with_common([&] { given += common_.trim(); });
    heaps_.for_each([&](thread_heap& each) { given += each.blocks.trim_remote(&each == mine ? retain_bytes : 0); });
    space_.trim();
    return detail::max(given, held - detail::min(held, space_.held_bytes()));
  }

  [[nodiscard]] shared_extent_map<Upstream>& space() noexcept { return space_; }
  [[nodiscard]] const shared_extent_map<Upstream>& space() const noexcept { return space_; }
  [[nodiscard]] std::size_t parked() const noexcept { return heaps_.parked(); }

  /// Expects: no thread allocates or frees meanwhile.
  [[nodiscard]] bool invariant() const noexcept {
    bool good = space_.invariant() && common_.invariant();
    heaps_.for_each([&](const thread_heap& each) { good = good && each.blocks.invariant() && each.freer.invariant(); });
    return good;
  }

private:
  // What a thread has of this heap.
  using last_used = last_used_tls<thread_heap_registry, thread_heap>;
  struct table : list_node<table> {
    thread_heap* mine = nullptr;
    typename last_used::place found_at = {};  // where the thread may find it at once
  };
  using thread_tables_type = thread_tables<thread_heap_registry, table>;
  friend thread_tables_type;

  // The limit is the shared space's.
  [[nodiscard]] static heap_options of_each(heap_options options) noexcept {
    options.max_bytes = max_size;
    return options;
  }

  // Effects: gives the thread of a table another thread heap, or none. Returns: the one it had.
  thread_heap* attach(table& its, thread_heap* next) noexcept {
    forget(its);
    thread_heap* const last = std::exchange(its.mine, next);
    if (next != nullptr) remember(its);
    return last;
  }

  // What others have freed meanwhile lies about piece by piece, and whoever comes next may want other lengths.
  [[nodiscard]] static thread_heap* prepared(thread_heap* adopted) noexcept {
    if (adopted != nullptr) adopted->blocks.flush_caches();
    return adopted;
  }

  // Of a table: its thread ends, or the heap does. Under the lock of the tables.
  void close(table& leaving) noexcept {
    forget(leaving);
    if (leaving.mine != nullptr) heaps_.park(*std::exchange(leaving.mine, nullptr));
  }

  void remember(table& its) const noexcept {
    ASHLAR_REQUIRE(static_cast<const void*>(its.mine) == &its.mine->blocks, "a segment names another place");
    forget(its);  // of another library's, where functions are shared and what threads have is not
    its.found_at = last_used::remember(this, its.mine);
  }

  void forget(table& its) const noexcept { last_used::forget(its.found_at, this, its.mine); }

  template <class F>
  void with_common(F f) const {
    fork_participants::enter(at_fork_);
    const report_scope<spin_lock> held(common_lock_);  // a cell that comes back twice is found at every level
    f();
  }

  [[nodiscard]] static bool is_huge(std::size_t bytes, std::size_t alignment) noexcept {
    const std::size_t step = detail::max<std::size_t>(1, alignment / slice_bytes);
    return bytes > segment_bytes || first_slice_at(step) + slices_of(with_canary(bytes)) > slices_per_segment;
  }

  template <class Allocate>
  [[nodiscard]] void* allocate_somewhere(bool is_common, Allocate allocate) noexcept {
    thread_heap* const mine = is_common ? nullptr : obtain();
    return mine != nullptr ? allocate(mine->blocks) : allocate_common(allocate);
  }

  template <class Allocate>
  [[nodiscard]] void* allocate_common(Allocate allocate) noexcept {
    void* p = nullptr;
    with_common([&] { p = allocate(common_); });
    return p;
  }

  // With the heaps that nobody has, each once. The one that has room becomes the calling thread's, whose own is parked.
  template <class Allocate>
  [[nodiscard]] ASHLAR_COLD void* allocate_parked(Allocate allocate) noexcept {
    for (std::size_t left = heaps_.parked(); left != 0; --left) {
      thread_heap* const next = heaps_.adopt_oldest();
      if (next == nullptr) return nullptr;
      void* const p = allocate(next->blocks);
      table* const mine = p != nullptr ? tables_.known() : nullptr;
      thread_heap* const idle = mine != nullptr ? attach(*mine, next) : next;
      if (idle != nullptr) heaps_.park(*idle);
      if (p != nullptr) return p;
    }
    return nullptr;
  }

  [[nodiscard]] static thread_heap_registry& self(void* of) noexcept { return *static_cast<thread_heap_registry*>(of); }

  void before_fork(fork_step step) noexcept {
    heaps_.before_fork(step);
    if (step == fork_step::outer_locks) {
      tables_.before_fork();
      common_lock_.lock();
    } else if (step == fork_step::inner_locks) {
      common_.before_fork();
    } else if (step == fork_step::shared_locks) {
      space_.lock().lock();
    }
  }

  void after_fork_in_parent() noexcept {
    space_.lock().unlock();
    common_.after_fork();
    heaps_.after_fork_in_parent();
    common_lock_.unlock();
    tables_.after_fork_in_parent();
  }

  void after_fork_in_child() noexcept {
    space_.lock().unlock();
    common_.after_fork();
    common_.drain_inbox();
    const table* const mine = tables_.after_fork_in_child();
    heaps_.after_fork_in_child(mine != nullptr ? mine->mine : nullptr);
    common_lock_.unlock();
  }

  shared_extent_map<Upstream> space_;
  mutable owner common_;
  mutable spin_lock common_lock_;  // held by who uses it as its own
  thread_heaps<source> heaps_;
  thread_tables_type tables_;
  mutable fork_participant at_fork_{.before = [](void* of, fork_step step) noexcept { self(of).before_fork(step); },
                                    .in_parent = [](void* of) noexcept { self(of).after_fork_in_parent(); },
                                    .in_child = [](void* of) noexcept { self(of).after_fork_in_child(); },
                                    .self = this};
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
