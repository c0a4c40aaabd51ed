// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One table for each thread that uses an owner: found in O(1), closed at the end of the thread or of the owner.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/list.hpp>
#include <ashlar/detail/thread/thread_caches.hpp>
#include <ashlar/detail/thread/thread_end.hpp>
#include <ashlar/detail/thread/thread_records.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The tables of one owner. `Table` derives from `list_node<Table>` and is default-constructible. `owner.close(table)`
/// returns the contents of a table to the owner. It is called once for each table under the lock of the link: by the
/// ending thread or by `part` of the owner, whichever comes first.
///
///     owner --> [ link: lock, tables, owner or null ] <-- record of thread 1: table
///                                                     <-- record of thread 2: table
///
/// The owner and each record hold a reference to the link; the last one ends it. `Records<T>` allocates link and
/// records and returns null without memory. Thread safety: any thread, unless stated otherwise.
template <class Owner, class Table, template <class> class Records = thread_records>
class thread_tables {
public:
  thread_tables() = default;
  thread_tables(const thread_tables&) = delete;
  thread_tables& operator=(const thread_tables&) = delete;

  /// Returns: the calling thread's table, or null on a miss (see `known`). Complexity: two loads and a compare.
  [[nodiscard]] ASHLAR_INLINE Table* recent() const noexcept {
    return static_cast<Table*>(thread_caches::find(number_));
  }

  /// Returns: the calling thread's table, or null. Complexity: O(tables of this thread).
  [[nodiscard]] Table* known() const noexcept {
    if (Table* const latest = recent(); latest != nullptr) return latest;
    return table_of(thread_caches::find_slow(number_));
  }

  /// Returns: the calling thread's table, made on its first use; null while the thread ends or without memory.
  [[nodiscard]] Table* obtain(Owner& owner) noexcept {
    if (!thread_caches::accepts()) return nullptr;
    Table* const mine = known();
    return mine != nullptr ? mine : make(owner);
  }

  /// Effects: calls `f(table)` for every table of all threads, then `last()`; an ending thread waits meanwhile.
  /// Expects: no other thread uses the owner.
  template <class F, class Last>
  void for_each(F f, Last last) noexcept {
    link* const shared = link_.load(memory_order_acquire);
    if (shared == nullptr) return last();
    const report_scope<spin_lock> held(shared->lock);
    for (Table* each = shared->tables.front(); each != nullptr; each = each->next) f(*each);
    last();
  }

  /// Effects: closes all tables; threads that end later do not use the owner. Calls `then()` before it drops the link,
  /// which a fork locks. Expects: no other thread uses the owner.
  template <class Then>
  void part(Owner& owner, Then then) noexcept {
    link* const shared = link_.load(memory_order_acquire);
    if (shared == nullptr) return then();
    {
      const report_scope<spin_lock> held(shared->lock);
      for (Table* each = shared->tables.front(); each != nullptr; each = each->next) owner.close(*each);
      shared->owner.store(nullptr, memory_order_release);  // pairs with is_orphan()
    }
    then();
    shared->drop();
  }

  void before_fork() noexcept {
    at_fork_ = link_.load(memory_order_acquire);
    if (at_fork_ != nullptr) at_fork_->lock.lock();
  }

  void after_fork_in_parent() noexcept {
    if (at_fork_ != nullptr) at_fork_->lock.unlock();
  }

  /// Effects: drops the tables of other threads, which the child lacks. Returns: the only thread's table, or null.
  Table* after_fork_in_child() noexcept {
    link_.store(at_fork_, memory_order_relaxed);  // a later link may be locked by a thread that the child lacks
    if (at_fork_ == nullptr) return nullptr;
    Table* const mine = table_of(thread_caches::find_unchanged(number_));
    at_fork_->tables = {};
    if (mine != nullptr) at_fork_->tables.push_back(mine);
    at_fork_->lock.unlock();
    return mine;
  }

private:
  struct link {
    spin_lock lock;
    atomic<Owner*> owner;  // null after its end; changed under the lock
    atomic<std::size_t> references = 1;
    list<Table> tables;

    explicit link(Owner& of) : owner(&of) {}

    // Without the lock: this thread may hold it, or a wait under another owner's lock may deadlock.
    [[nodiscard]] bool is_orphan() const noexcept {
      return owner.load(memory_order_acquire) == nullptr;  // pairs with part(), which closed the tables
    }

    void drop() noexcept {
      if (references.fetch_sub(1, memory_order_acq_rel) == 1)
        Records<link>::end(this);  // pairs with itself in other threads
    }
  };

  struct record : thread_cache_record, Table {
    link* shared;

    record(std::uint64_t number, link* of) noexcept : shared(of) {
      pool = number;
      cache = static_cast<Table*>(this);
      is_orphan = [](thread_cache_record* self) noexcept { return static_cast<record*>(self)->shared->is_orphan(); };
      retire = [](thread_cache_record* self) noexcept { static_cast<record*>(self)->end(); };
      thread_end::hold_library();  // it contains these functions
    }

    void end() noexcept {
      if (!shared->is_orphan()) {
        const report_scope<spin_lock> held(shared->lock);
        if (Owner* const of = shared->owner.load(memory_order_relaxed); of != nullptr) {
          of->close(*this);
          shared->tables.erase(this);
        }
      }
      shared->drop();
      Records<record>::end(this);
    }
  };

  [[nodiscard]] static Table* table_of(thread_cache_record* found) noexcept { return static_cast<record*>(found); }

  [[nodiscard]] Table* make(Owner& owner) noexcept {
    link* const shared = shared_link(owner);
    record* const fresh = shared == nullptr ? nullptr : Records<record>::try_make(number_, shared);
    if (fresh == nullptr) return nullptr;
    shared->references.fetch_add(1, memory_order_relaxed);
    {
      const check_scope<spin_lock> held(shared->lock);
      shared->tables.push_back(fresh);
    }
    thread_caches::enter(fresh);
    return fresh;
  }

  // The first thread that needs the link makes it.
  [[nodiscard]] link* shared_link(Owner& owner) noexcept {
    link* known = link_.load(memory_order_acquire);
    if (known != nullptr) return known;
    link* const made = Records<link>::try_make(owner);
    if (made == nullptr) return nullptr;
    if (link_.compare_exchange_strong(known, made, memory_order_acq_rel, memory_order_acquire)) return made;
    Records<link>::end(made);
    return known;
  }

  const std::uint64_t number_ = thread_caches::new_pool();
  atomic<link*> link_ = nullptr;
  link* at_fork_ = nullptr;  // the link that the fork locked: another thread may make one meanwhile
};

}  // namespace ashlar::ASHLAR_ABI::detail
