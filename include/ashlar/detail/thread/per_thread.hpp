// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The part of each thread in an owner, such as its cache of a pool: attached, found, left at an end, kept over a fork.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/support/intrusive.hpp>
#include <ashlar/detail/thread/fork.hpp>
#include <ashlar/detail/thread/thread_directory.hpp>
#include <ashlar/detail/thread/thread_end.hpp>
#include <ashlar/detail/thread/thread_records.hpp>
#include <ashlar/os/native.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The first look-up of a thread's part.
enum class look_up : unsigned char {
  by_number,  ///< a table in each thread, for owners of which a thread uses several in turn
  last_used   ///< two thread-local words, for owners of which a thread uses one; the others are in the table
};

/// One `T` for each thread that uses an owner: the cache of a `shared_block_pool`, the caches of a `shared_pool_set`,
/// the engine of a `heap`.
///
///     attach   find_or_attach(), at the first call -> owner.begin_thread() -> T, a new one or one of an ended thread
///     find     cached(): the look-up, inlined; find(): the thread's directory -> record -> T
///     exit     of the thread: record -> lock of the link -> owner.end_thread(T); of the owner: end(), the same for all
///     fork     lock of the link, owner.before_fork(step) -> owner.after_fork_in_parent() | after_fork_in_child(T*)
///
///     owner --> [ link: lock, records, owner or null ] <-- record of thread 1 --> T
///                                                      <-- record of thread 2 --> T
///
/// The owner and each record hold a reference to the link; the last one ends it. `owner.begin_thread()` returns null
/// without memory; `owner.end_thread(T&)` is called once for each, under the lock of the link, by the thread that ends
/// or by `end`. `Records<R>` allocates link and records and returns null without memory.
/// Invariant: the results of `cached` and `last_used` are in a record of the thread. Thread safety: any thread, unless
/// stated otherwise.
template <class Owner, class T, look_up First = look_up::by_number, template <class> class Records = thread_records>
class per_thread {
  static constexpr bool has_words = First == look_up::last_used;

public:
  using parts = Records<T>;
  using step_type = fork_step;

  /// Whether `last_used` is never null: of a thread without a part it is one that is all zero.
  static constexpr bool has_empty_part = false;

  explicit per_thread(Owner& owner) noexcept : owner_(owner) {}
  per_thread(const per_thread&) = delete;
  per_thread& operator=(const per_thread&) = delete;

  /// Returns: the calling thread's part, or null on a miss (see `find`). Complexity: two loads and a compare.
  [[nodiscard]] ASHLAR_INLINE T* cached() const noexcept {
    if constexpr (has_words) return words::of(this);
    else return static_cast<T*>(thread_directory::find(number_));
  }

  /// @{ Returns: the calling thread's part of the owner of this type that it used last, or null; whether it is of this
  /// owner.
  [[nodiscard]] static ASHLAR_INLINE T* last_used() noexcept
    requires has_words
  {
    return words::found();
  }
  [[nodiscard]] ASHLAR_INLINE bool is_last_used() const noexcept
    requires has_words
  {
    return words::is_of(this);
  }
  /// @}

  /// Returns: the calling thread's part, or null; `cached` finds it from now on. Complexity: O(parts of this thread).
  [[nodiscard]] T* find() const noexcept {
    if (T* const mine = cached(); mine != nullptr) return mine;
    record* const mine = known_record();
    if (mine == nullptr || mine->part == nullptr) return nullptr;
    if constexpr (has_words) remember(*mine);
    return mine->part;
  }

  /// Returns: the calling thread's part, attached at its first call; null while the thread ends or without memory.
  [[nodiscard]] T* find_or_attach() noexcept {
    if (T* const mine = cached(); mine != nullptr) return mine;
    expect_forks();
    record* const mine = obtain_record();
    if (mine == nullptr) return nullptr;
    if (mine->part == nullptr) mine->part = owner_.begin_thread();
    if (mine->part != nullptr) remember(*mine);
    return mine->part;
  }

  /// Effects: gives the calling thread another part, or none. Returns: its former part, or null; `next` itself if the
  /// thread cannot have one.
  [[nodiscard]] T* attach(T* next) noexcept
    requires has_words
  {
    if (next != nullptr) expect_forks();
    record* const mine = next != nullptr ? obtain_record() : known_record();
    if (mine == nullptr) return next;
    forget(*mine);
    T* const last = std::exchange(mine->part, next);
    if (next != nullptr) remember(*mine);
    return last;
  }

  /// @{ As in `process_threads`, but no thread takes the part of another one.
  static constexpr bool parts_move = false;
  static bool expect_moves() noexcept { return false; }
  static ASHLAR_INLINE void enter() noexcept {}
  static ASHLAR_INLINE void leave() noexcept {}
  struct use {
    use() noexcept {}
  };
  /// @}

  /// Effects: calls `f(part)` for the parts of all threads, then `last()`; an ending thread waits meanwhile.
  /// Expects: no other thread uses the owner.
  template <class F, class Last>
  void for_each(F f, Last last) noexcept {
    link* const shared = link_.load(memory_order_acquire);
    if (shared == nullptr) return last();
    const report_scope<spin_lock> held(shared->lock);
    for (record* each = shared->records.front(); each != nullptr; each = each->next)
      if (each->part != nullptr) f(*each->part);
    last();
  }

  /// Effects: ends the parts of all threads; threads that end later do not use the owner, nor do forks.
  /// Expects: no other thread uses the owner.
  void end() noexcept {
    link* const shared = link_.load(memory_order_acquire);
    if (shared == nullptr) return fork_participants::leave(at_fork_);
    {
      const report_scope<spin_lock> held(shared->lock);
      for (record* each = shared->records.front(); each != nullptr; each = each->next) leave(*each);
      shared->owner.store(nullptr, memory_order_release);  // pairs with is_orphan()
    }
    fork_participants::leave(at_fork_);          // before the link goes, which a fork locks
    link_.store(nullptr, memory_order_relaxed);  // a second call does nothing
    shared->drop();
  }

  /// Effects: from now on a fork finds the locks of the owner free. `find_or_attach` includes it.
  void expect_forks() const noexcept { fork_participants::enter(at_fork_, functions_); }

private:
  using words = last_used_tls<per_thread, T>;
  struct record;

  struct link {
    spin_lock lock;
    atomic<per_thread*> owner;  // null after its end; changed under the lock
    atomic<std::size_t> references = 1;
    list<record> records;

    explicit link(per_thread& of) : owner(&of) {}

    // Without the lock: this thread may hold it, or a wait under another owner's lock may deadlock.
    [[nodiscard]] bool is_orphan() const noexcept {
      return owner.load(memory_order_acquire) == nullptr;  // pairs with end(), which ended the parts
    }

    void drop() noexcept {
      if (references.fetch_sub(1, memory_order_acq_rel) == 1)
        Records<link>::end(this);  // pairs with itself in other threads
    }
  };

  struct record : thread_entry, list_node<record> {
    T* part = nullptr;
    link* shared;
    ASHLAR_NO_UNIQUE_ADDRESS part_if<has_words, typename words::place> found_at;

    record(std::uint64_t its_number, link* of) noexcept : shared(of) {
      number = its_number;
      static constexpr thread_entry::functions of_record{
          [](thread_entry* self) noexcept { return static_cast<record*>(self)->shared->is_orphan(); },
          [](thread_entry* self) noexcept { static_cast<record*>(self)->end(); }};
      calls = &of_record;
      if constexpr (has_words) found = this;
      thread_end::hold_library();  // it contains these functions
    }

    void end() noexcept {
      if (!shared->is_orphan()) {
        const report_scope<spin_lock> held(shared->lock);
        if (per_thread* const of = shared->owner.load(memory_order_relaxed); of != nullptr) {
          of->leave(*this);
          shared->records.erase(this);
        }
      }
      shared->drop();
      Records<record>::end(this);
    }
  };

  // The thread of the record ends, or the owner. Under the lock of the link.
  void leave(record& leaving) noexcept {
    forget(leaving);
    if (leaving.part != nullptr) owner_.end_thread(*std::exchange(leaving.part, nullptr));
  }

  // Expects: the record is of the calling thread, and has a part.
  void remember(record& mine) const noexcept {
    if constexpr (has_words) {
      if (!words::is_here(*mine.found_at))
        forget(mine);  // of another library, with shared functions but separate thread-local words
      *mine.found_at = words::remember(this, mine.part);
    } else {
      mine.found = mine.part;
      thread_directory::remember(mine);
    }
  }

  // The table needs no such call: it has no entry without a part, and no call looks for an owner that has ended.
  void forget(record& of) const noexcept {
    if constexpr (has_words) words::forget(*of.found_at, this, of.part);
  }

  [[nodiscard]] record* known_record() const noexcept {
    if constexpr (has_words)
      if (void* const found = thread_directory::find(number_); found != nullptr) return static_cast<record*>(found);
    return static_cast<record*>(thread_directory::find_slow(number_));
  }

  [[nodiscard]] record* obtain_record() noexcept {
    if (!thread_directory::accepts()) return nullptr;
    record* const mine = known_record();
    return mine != nullptr ? mine : make();
  }

  [[nodiscard]] record* make() noexcept {
    link* const shared = shared_link();
    record* const fresh = shared == nullptr ? nullptr : Records<record>::try_make(number_, shared);
    if (fresh == nullptr) return nullptr;
    shared->references.fetch_add(1, memory_order_relaxed);
    {
      const check_scope<spin_lock> held(shared->lock);
      shared->records.push_back(fresh);
    }
    thread_directory::enter(fresh);
    return fresh;
  }

  // The first thread that needs the link makes it.
  [[nodiscard]] link* shared_link() noexcept {
    link* known = link_.load(memory_order_acquire);
    if (known != nullptr) return known;
    link* const made = Records<link>::try_make(*this);
    if (made == nullptr) return nullptr;
    if (link_.compare_exchange_strong(known, made, memory_order_acq_rel, memory_order_acquire)) return made;
    Records<link>::end(made);
    return known;
  }

  [[nodiscard]] static per_thread& self(void* of) noexcept { return *static_cast<per_thread*>(of); }

  void before_fork(fork_step step) noexcept {
    if (step == fork_step::outer_locks && (forked_ = link_.load(memory_order_acquire)) != nullptr) forked_->lock.lock();
    owner_.before_fork(step);
  }

  void after_fork_in_parent() noexcept {
    owner_.after_fork_in_parent();
    if (forked_ != nullptr) forked_->lock.unlock();
  }

  // Drops the records of other threads, which the child lacks.
  void after_fork_in_child() noexcept {
    link_.store(forked_, memory_order_relaxed);  // a later link may be locked by a thread that the child lacks
    record* mine = nullptr;
    if (forked_ != nullptr) {
      mine = static_cast<record*>(thread_directory::find_unchanged(number_));
      forked_->records = {};
      if (mine != nullptr) forked_->records.push_back(mine);
      forked_->lock.unlock();
    }
    owner_.after_fork_in_child(mine != nullptr ? mine->part : nullptr);
    if (stack_.is_gone()) leave_process(mine);
  }

  // The child lacks the thread on whose stack this lies, and the next one may get that: nothing may lead here.
  ASHLAR_COLD void leave_process(record* mine) noexcept {
    fork_participants::leave_in_child(at_fork_);
    if (forked_ == nullptr) return;
    if (mine != nullptr) forget(*mine);
    forked_->owner.store(nullptr, memory_order_release);  // as after end()
    link_.store(nullptr, memory_order_relaxed);
    forked_->drop();
    static_cast<void>(thread_directory::find_slow(number_));  // retires the record
  }

  const std::uint64_t number_ = thread_directory::new_number();
  Owner& owner_;
  atomic<link*> link_ = nullptr;
  link* forked_ = nullptr;  // the link that the fork locked: another thread may make one meanwhile
  const stack_thread stack_{this};
  mutable fork_participant at_fork_{.self = this};

  static constexpr fork_participant functions_{
      .before = [](void* of, fork_step step) noexcept { self(of).before_fork(step); },
      .in_parent = [](void* of) noexcept { self(of).after_fork_in_parent(); },
      .in_child = [](void* of) noexcept { self(of).after_fork_in_child(); }};
};

}  // namespace ashlar::ASHLAR_ABI::detail
