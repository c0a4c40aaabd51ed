// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The part of each thread in an owner that lives as long as the process, such as the heap behind a malloc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/detail/thread/fork.hpp>
#include <ashlar/detail/thread/thread_end.hpp>
#include <ashlar/detail/thread/thread_place.hpp>
#include <ashlar/os/process_barrier.hpp>

#if ASHLAR_POSIX
#include <climits>
#include <pthread.h>
#endif

namespace ashlar::ASHLAR_ABI::detail {

/// The end of a thread, by one key: a `thread_local` object with a destructor allocates to register it, a guarded
/// static takes a lock, and both are destroyed first at the end of the main thread, which still runs destructors then.
///
///     end of a thread:  thread_local objects -> keys, round 1 -> keys, round 2 -> keys, round 3: the call -> round 4
///                                                `-- the key is set again ---------^
///
/// Destructors of other keys may set values again, and need the thread's data: all but the destructors of the last
/// round find it. Over musl a key destroys the thread-local objects. `exit` destroys no keys, so the main thread has no
/// end, unless it calls `pthread_exit`. Where there are no keys `thread_end` makes the call. Static storage, never
/// destroyed; the code stays loaded. Thread safety: any thread.
class late_thread_end {
public:
  using function = void (*)(void* self) noexcept;

  /// `at_end(self)` is called in each thread that has entered, and `before_end(self)` two rounds before, where there
  /// are keys.
  constexpr late_thread_end(function at_end, void* self, function before_end = nullptr) noexcept
      : at_end_(at_end), before_end_(before_end), self_(self) {
    for (round& each : rounds_) each.of = this;
  }
  late_thread_end(const late_thread_end&) = delete;  // keys point to it
  late_thread_end& operator=(const late_thread_end&) = delete;

#if ASHLAR_POSIX
  /// Effects: calls `at_end(self)` once at the end of this thread. May allocate, by the system's use of malloc.
  /// Returns: false, without a later call, if the system has no key or no memory left.
  [[nodiscard]] bool enter() noexcept { return make_key() && set(rounds_.data()); }

  /// Effects: makes the key, which takes no memory; of two threads that make it one gives its own back. The system
  /// allocates for a value only behind the first 32 keys of a process, and loses the value if that allocation enters
  /// for an allocation of its own: so the key is made early. Returns: whether there is one.
  bool make_key() noexcept {
    if (ASHLAR_LIKELY(key_.load(memory_order_acquire) != 0)) return true;
    pthread_key_t made = {};
    if (::pthread_key_create(&made, end_round) != 0) return false;
    std::uint64_t none = 0;
    const std::uint64_t mine = static_cast<std::uint64_t>(made) + 1;
    if (!key_.compare_exchange_strong(none, mine, memory_order_acq_rel, memory_order_acquire))
      static_cast<void>(::pthread_key_delete(made));
    return true;
  }

private:
  struct round {
    late_thread_end* of = nullptr;
  };
  // One before the last: there an implementation may stop early.
  static constexpr std::size_t most_rounds = detail::max(2, PTHREAD_DESTRUCTOR_ITERATIONS) - 1;

  [[nodiscard]] bool set(round* next) const noexcept {
    return ::pthread_setspecific(static_cast<pthread_key_t>(key_.load(memory_order_acquire) - 1), next) == 0;
  }

  static void end_round(void* value) noexcept {
    round* const ended = static_cast<round*>(value);
    late_thread_end& self = *ended->of;
    if (ended == self.rounds_.data() && self.before_end_ != nullptr) self.before_end_(self.self_);
    if (ended != &self.rounds_.back() && self.set(ended + 1)) return;
    self.at_end_(self.self_);
  }

  std::array<round, most_rounds> rounds_ = {};  // their addresses are the values of the key
  atomic<std::uint64_t> key_ = 0;               // plus 1; 0 without a key
#else
  [[nodiscard]] bool enter() noexcept {
    mine_.at_end = [](thread_end_participant*) noexcept { mine_of_->at_end_(mine_of_->self_); };
    mine_of_ = this;
    return thread_end::enter(mine_);
  }
  static bool make_key() noexcept { return true; }

private:
  struct round {
    late_thread_end* of = nullptr;
  };
  std::array<round, 1> rounds_ = {};
  static inline constinit thread_local thread_end_participant mine_ = {};
  static inline constinit thread_local late_thread_end* mine_of_ = nullptr;
#endif

  function at_end_, before_end_;
  void* self_;
};

/// As `per_thread` for the one owner of its type, which is constant-initialised and never destroyed: without records,
/// links and numbers. One thread-local word points to the part, or to one that is all zero:
///
///     word --> empty part of all threads --find_or_attach()--> T --end of the thread--> empty part
///                                                   ^-- owner.begin_thread()  `-- owner.end_thread(T&)
///
/// No call takes memory of malloc but `late_thread_end::enter`, after the thread has been marked as open: the malloc in
/// it gets a part. A thread that has left its part gets no other one. The owner also has `enter_registry()`, called
/// before its first use, and `before_fork`, `after_fork_in_parent`, `after_fork_in_child` as `per_thread` calls them.
/// Thread safety: any thread, unless stated otherwise.
template <class Owner, class T>
class process_threads {
public:
  static constexpr bool has_empty_part = true;

  explicit constexpr process_threads(Owner& owner) noexcept : owner_(owner) {}
  process_threads(const process_threads&) = delete;
  process_threads& operator=(const process_threads&) = delete;

  /// @{ Returns: the calling thread's part, or null.
  [[nodiscard]] static ASHLAR_INLINE T* cached() noexcept { return found(here_.get()); }
  [[nodiscard]] T* find() const noexcept {
    T* const mine = cached();
    return ASHLAR_LIKELY(mine != nullptr) ? mine : found(places_.find(here_));
  }
  /// @}

  /// Returns: the calling thread's part, or the empty one, of which nothing may be changed. Complexity: a load.
  [[nodiscard]] static ASHLAR_INLINE T* last_used() noexcept {
    T* const mine = here_.get();
    ASHLAR_ASSUME(mine != nullptr);
    return mine;
  }
  /// Returns: true, since the thread has no part of another owner.
  [[nodiscard]] static ASHLAR_INLINE bool is_last_used() noexcept { return true; }

  /// Returns: the calling thread's part, attached at its first call; null at the end of the thread or without memory.
  [[nodiscard]] T* find_or_attach() noexcept {
    T* const mine = cached();
    return ASHLAR_LIKELY(mine != nullptr) ? mine : begin_part();
  }

  /// @{ As in `thread_place` and `thread_places`.
  static constexpr bool parts_move = thread_place<T>::parts_move;
  static ASHLAR_INLINE void enter() noexcept { here_.enter(); }
  static ASHLAR_INLINE void leave() noexcept { here_.leave(); }
  void ask(T* const* parts, std::size_t count) noexcept { places_.ask(parts, count); }
  [[nodiscard]] bool try_take(T& part) noexcept { return places_.try_take(part); }
  static void forget(T& part) noexcept { thread_places<T>::forget(part); }
  void let_move() noexcept { places_.let_move(here_); }
  static bool expect_moves() noexcept { return parts_move && process_barrier::announce(); }
  /// @}

  /// The calling thread uses its part, as between `enter` and `leave`. One scope may lie in another one.
  class use {
  public:
    use() noexcept : was_inside_(here_.is_inside.load(memory_order_relaxed)) { enter(); }
    use(const use&) = delete;
    use& operator=(const use&) = delete;
    ~use() {
      if (!was_inside_) leave();
    }

  private:
    bool was_inside_;
  };

  /// Effects: gives the calling thread another part, or none. Returns: its former part, or null; `next` itself if the
  /// thread cannot have one.
  [[nodiscard]] T* attach(T* next) noexcept {
    if (next != nullptr) {
      expect_forks();
      if (!accepts()) return next;
    }
    return found(places_.exchange(here_, next != nullptr ? next : &empty_.part));
  }

  /// Effects: calls `last()`. Expects: no other thread uses the owner.
  template <class F, class Last>
  void for_each(F, Last last) noexcept {
    last();
  }

  /// Effects: none: the owner does not end.
  void end() noexcept {}

  /// Effects: from now on a fork finds the locks of the owner free, once handlers are installed. `find_or_attach`
  /// includes it.
  ASHLAR_INLINE void expect_forks() const noexcept {
    if (ASHLAR_UNLIKELY(at_fork_.entered.load(memory_order_relaxed) == nullptr)) begin();
  }

private:
  enum class state : unsigned char { fresh, open, ended };

  // The first use of the owner, perhaps by several threads at once.
  ASHLAR_COLD void begin() const noexcept {
    if (!has_handlers_) fork_participants::leave_to_start();
    owner_.enter_registry();
    at_end_.make_key();
    fork_participants::enter_without_handlers(at_fork_);
  }

  [[nodiscard]] ASHLAR_COLD T* begin_part() noexcept {
    expect_forks();
    if (!accepts()) return nullptr;
    enter();  // a malloc inside `accepts` may have left, and may have attached a part
    if (T* const mine = find(); mine != nullptr) return mine;
    T* const made = owner_.begin_thread();
    if (made != nullptr) places_.exchange(here_, made);
    return made;
  }

  [[nodiscard]] bool accepts() noexcept { return state_ == state::open || (state_ == state::fresh && open()); }

  [[nodiscard]] ASHLAR_COLD bool open() noexcept {
    state_ = state::open;  // before the call, which may allocate
    if (at_end_.enter()) return true;
    leave(state::fresh);  // its end would not be noticed
    return false;
  }

  ASHLAR_COLD void leave(state next) noexcept {
    state_ = next;
    T* const leaving = found(places_.exchange(here_, &empty_.part));
    if (leaving != nullptr) owner_.end_thread(*leaving);
  }

  [[nodiscard]] static ASHLAR_INLINE T* found(T* part) noexcept { return part != &empty_.part ? part : nullptr; }

  [[nodiscard]] static process_threads& self(void* of) noexcept { return *static_cast<process_threads*>(of); }

  // Fast paths read zeroes of it, which are neither a cell nor an owner.
  union empty_part {
    constexpr empty_part() noexcept : bytes{} {}
    constexpr ~empty_part() {}

    std::byte bytes[sizeof(T)];
    T part;
  };

  static inline constinit empty_part empty_ = {};
  ASHLAR_IN_STATIC_TLS static inline constinit thread_local thread_place<T> here_{&empty_.part};
  ASHLAR_IN_STATIC_TLS static inline constinit thread_local state state_ = state::fresh;

  // At the start of the program, of those that use an owner alone.
  static inline const bool has_handlers_ = (fork_participants::install_at_start(), true);

  Owner& owner_;
  mutable thread_places<T> places_{&empty_.part};
  mutable late_thread_end at_end_{[](void* of) noexcept { self(of).leave(state::ended); }, this,
                                  [](void* of) noexcept { self(of).places_.stay(here_); }};
  mutable fork_participant at_fork_{
      .before =
          [](void* of, fork_step step) noexcept {
            self(of).owner_.before_fork(step);
            if (step == fork_step::shared_locks) self(of).places_.before_fork();
          },
      .in_parent = [](void* of) noexcept { self(of).places_.after_fork(), self(of).owner_.after_fork_in_parent(); },
      .in_child =
          [](void* of) noexcept {
            self(of).places_.after_fork();
            self(of).owner_.after_fork_in_child(self(of).find());  // another thread may have asked for it
          },
      .self = this};
};

}  // namespace ashlar::ASHLAR_ABI::detail
