// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pool of counted objects that need no counter of their own.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/slots/slot_pool_core.hpp>
#include <ashlar/detail/slots/slot_slabs.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/face/ref_ptr.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/page_store.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The functions of the slabs for the objects in them.
template <class T, class Lifetime, policy::threads Threads, class Placement>
struct counted_ends {
  using slab_type = slot_slab<Threads>;

  /// Whether the last release of an object only gives its slot back.
  static constexpr bool is_plain = std::is_trivially_destructible_v<T> && !Lifetime::keeps;
  /// Whether the last release destroys the object before, and does no more.
  static constexpr bool destroys = !Lifetime::keeps;

  static void object(slab_type& slab, std::uint32_t index) noexcept {
    if constexpr (keeps_canaries) slot_guard<sizeof(T), alignof(T)>::expect(slab.slot_at(index), nullptr);
    if constexpr (is_plain) slot_pool_core<Threads>::give(slab, index, retire(slab, index), slab.word_at(index));
    else destroy_iteratively(slab, index, &retire);
  }

  /// Effects: destroys the kept objects. Expects: all slots are free.
  static void slab(slab_type& slab) noexcept {
    if constexpr (Lifetime::keeps && !std::is_trivially_destructible_v<T>) {
      for (std::uint32_t i = 0; i < slab.free.used(); ++i)
        if (!slot_word::is_raw(slab.word_at(i).load())) std::destroy_at(object_in(slab, i));
    }
  }

  [[nodiscard]] static T* object_in(slab_type& slab, std::uint32_t index) noexcept {
    return std::launder(static_cast<T*>(slab.slot_at(index)));
  }

private:
  // Returns: the marks of the slot.
  static std::uint32_t retire(slab_type& slab, std::uint32_t index) noexcept {
    T* const object = object_in(slab, index);
    if constexpr (Lifetime::keeps) {
      using reset_type = typename Lifetime::reset_type;
      static_assert(std::is_default_constructible_v<reset_type>,
                    "objects outlive the pool, so Reset is default-constructible");
      static_assert(noexcept(reset_type{}(*object)), "Reset is noexcept");
      reset_type{}(*object);
      return 0;
    } else {
      std::destroy_at(object);
      poison_slot<Threads::is_shared>(object, sizeof(T));
      return slot_word::raw_mark;
    }
  }
};

/// The calls of `ref_pool` and `intrusive_pool`, with their contracts: objects of type `T` in slots of `slot_slabs`,
/// each made with one reference and ended with the last.
///
/// A slot is taken before the constructor runs and given back after the destructor, so both may use the pool. An object
/// whose last reference is dropped during the destruction of another one of this pool is deferred: see
/// `deferred_destruction`. A pointer to an exact type has the placement in its type. A pointer to a base finds the
/// count through the slab's header, since the object may be of a derived class.
template <class T, class Lifetime, class Exhausted, policy::threads Threads, class Placement, resource Upstream>
class counted_objects {
  static_assert(std::is_object_v<T> && !std::is_array_v<T> && std::is_same_v<T, std::remove_cv_t<T>>);
  static_assert(std::is_nothrow_destructible_v<T>,
                "a destructor may not throw: the last release has no caller to throw to");

  using ends = counted_ends<T, Lifetime, Threads, Placement>;
  using slots_type = slot_slabs<layout_of<T, Threads, Placement>, Threads, Upstream, ends>;
  using place = typename slots_type::place;
  static constexpr bool is_own = placement_traits<T, Placement>::is_own;

public:
  using value_type = T;
  /// A `ref_ptr` to `T`.
  using pointer = ref_ptr<T, Threads, std::conditional_t<is_exact_type<T> || is_own, Placement, count::by_padding>>;

  /// Bytes of memory for each object, with its guard at `hardened`, without the slab's header.
  static constexpr std::size_t bytes_per_object = layout_of<T, Threads, Placement>::bytes_per_slot;

  counted_objects(const object_pool_options& options, Upstream upstream) : slots_(options, std::move(upstream)) {}

  /// Returns: a pointer to a new object `T(args...)`. Throws: `std::bad_alloc` beyond `max_size` objects, or as the
  /// upstream; as the constructor, and the slot is free again then.
  template <class... Args>
  [[nodiscard]] ASHLAR_INLINE pointer make(Args&&... args) {
    return fill(take(), [&](void* memory) { return ::new (memory) T(std::forward<Args>(args)...); });
  }

  /// As `make`, but null beyond `max_size` objects or when the upstream has no memory left.
  template <class... Args>
  [[nodiscard]] ASHLAR_INLINE pointer try_make(Args&&... args) noexcept(std::is_nothrow_constructible_v<T, Args...>) {
    return fill(slots_.try_take(), [&](void* memory) { return ::new (memory) T(std::forward<Args>(args)...); });
  }

  /// As `make`, of a default-initialised object: its numbers and bytes are indeterminate.
  [[nodiscard]] ASHLAR_INLINE pointer make_for_overwrite() {
    return fill(take(), [](void* memory) { return ::new (memory) T; });
  }

  /// As `make`, of an object that `fn(void* memory)` constructs there and returns.
  template <class F>
    requires std::is_invocable_r_v<T*, F&, void*>
  [[nodiscard]] pointer make_with(F fn) {
    return fill(take(), [&fn](void* memory) {
      T* const made = fn(memory);
      ASHLAR_REQUIRE(static_cast<void*>(made) == memory, "constructed an object at another address than the given one");
      return made;
    });
  }

  /// Effects: makes `objects` live objects possible without a request to the upstream, until `trim` or `clear`. Throws:
  /// as `make`; `std::bad_alloc` above `max_size`. Memory gained so far is retained.
  void reserve(std::size_t objects) { slots_.reserve(objects); }

  /// Effects: gives empty slabs back; retains at most `retain_bytes` of them. Returns: bytes given back.
  /// Complexity: O(slabs + objects released by other threads).
  std::size_t trim(std::size_t retain_bytes = 0) noexcept { return slots_.trim(retain_bytes); }

  /// Effects: gives all memory back. Expects: no object is live.
  void clear() noexcept {
    ASHLAR_REQUIRE(empty(), "cleared a pool while objects of it live");
    static_cast<void>(slots_.trim());
  }

  /// Returns: the number of objects with memory.
  [[nodiscard]] std::size_t capacity() const noexcept { return slots_.capacity(); }
  /// Returns: the limit of live objects.
  [[nodiscard]] std::size_t max_size() const noexcept { return slots_.max_slots(); }
  /// Returns: the number of live objects. Complexity: O(slabs + objects released by other threads).
  [[nodiscard]] std::size_t live() const noexcept { return slots_.live(); }
  /// Returns: the number of objects that can be made without a request to the upstream. Complexity: as `live`.
  [[nodiscard]] std::size_t spare() const noexcept { return capacity() - live(); }
  /// Returns: whether no object is live. Complexity: as `live`.
  [[nodiscard]] bool empty() const noexcept { return live() == 0; }
  /// Returns: the number of times that the pool grew.
  [[nodiscard]] std::size_t growth_steps() const noexcept { return slots_.growth_steps(); }
  /// Returns: the bytes held from the upstream: slabs and their directory. Complexity: O(1). Thread safety: as `live`.
  [[nodiscard]] std::size_t held_bytes() const noexcept { return slots_.held_bytes(); }
  [[nodiscard]] const Upstream& upstream_resource() const noexcept { return slots_.upstream_resource(); }

  /// Returns: whether `p` points into an object of this pool, live or not. Complexity: O(slabs).
  [[nodiscard]] bool owns(const void* p) const noexcept { return slots_.owns(p); }

  /// Effects: calls `f(object)` for each live object, in the order of their addresses within a slab. `f` must neither
  /// make nor release objects of this pool. Complexity: O(peak of live objects).
  template <class F>
  void for_each_live(F f) const {
    slots_.for_each_live([&f](slot_slab<Threads>& slab, std::uint32_t index) { f(*ends::object_in(slab, index)); });
  }

  /// Complexity: O(capacity).
  [[nodiscard]] bool invariant() const noexcept { return slots_.invariant(); }

private:
  using counts = ref_counts<T, Threads, typename pointer::placement_type>;

  // Gives a slot back if its object was not constructed.
  struct unfilled {
    place at;
    bool is_filled = false;

    ~unfilled() {
      if (ASHLAR_UNLIKELY(!is_filled)) undo();
    }
    ASHLAR_COLD void undo() const noexcept {
      poison_slot<Threads::is_shared>(at.memory(), sizeof(T));
      slot_pool_core<Threads>::give(*at.in, at.index, slot_word::raw_mark, at.in->word_at(at.index));
    }
  };

  [[nodiscard]] ASHLAR_INLINE place take() {
    if constexpr (!Exhausted::throws) return slots_.try_take();
    const place at = slots_.take();
    if (ASHLAR_UNLIKELY(!at)) throw_bad_alloc(sizeof(T), alignof(T));
    return at;
  }

  template <class Construct>
  [[nodiscard]] ASHLAR_INLINE pointer fill(place at, Construct construct) {
    if (ASHLAR_UNLIKELY(!at)) return {};
    T* object = nullptr;
    if (Lifetime::keeps && !at.is_raw) {
      object = std::launder(static_cast<T*>(at.memory()));
    } else {
      mark_slot<Threads::is_shared>(at.memory(), sizeof(T), true);
      unfilled slot = {at};
      object = construct(at.memory());
      slot.is_filled = true;
    }
    if constexpr (is_own) count_start(counts::count_of(object));
    return pointer(typename pointer::made_object(), object);
  }

  slots_type slots_;
};

}  // namespace ashlar::ASHLAR_ABI::detail

namespace ashlar::ASHLAR_ABI {

/// As `std::make_shared`, without control blocks: an object costs its size and 4 bytes, often in its padding, and a
/// pointer to it is one word.
///
///     ashlar::ref_pool<shape> shapes;
///     ashlar::ref_ptr<shape> a = shapes.make(3, 4);
///     ashlar::ref_ptr<drawable> b = a;      // a base; two references to one object
///
/// Grows without bound, by slabs; nothing is allocated before the first object or `reserve`. The pool may end before
/// its objects: then the last release frees the memory, in any thread. Constructors and destructors may use the pool.
/// An object whose last reference is dropped during the destruction of another one of this pool is destroyed after it.
/// Thread safety: `one_thread` none; `any_thread` all members except the destructor, and `for_each_live`, `clear` and
/// `invariant`, which require exclusive use.
template <class T, policy::threads Threads, class Placement, resource Upstream>
class ref_pool
    : public detail::counted_objects<T, construct_on_acquire, throw_when_exhausted, Threads, Placement, Upstream> {
  using calls = detail::counted_objects<T, construct_on_acquire, throw_when_exhausted, Threads, Placement, Upstream>;

public:
  ref_pool()
    requires std::default_initializable<Upstream>
      : ref_pool(Upstream()) {}
  explicit ref_pool(Upstream upstream) : ref_pool::counted_objects({}, std::move(upstream)) {}

  /// @{ With the contracts of `counted_objects`, above.
  using calls::bytes_per_object;
  using calls::capacity;
  using calls::clear;
  using calls::empty;
  using calls::for_each_live;
  using calls::growth_steps;
  using calls::held_bytes;
  using calls::invariant;
  using calls::live;
  using calls::make;
  using calls::make_for_overwrite;
  using calls::make_with;
  using calls::max_size;
  using calls::owns;
  using calls::reserve;
  using calls::spare;
  using calls::trim;
  using calls::try_make;
  using calls::upstream_resource;
  using typename calls::pointer;
  using typename calls::value_type;
  /// @}
};

}  // namespace ashlar::ASHLAR_ABI
