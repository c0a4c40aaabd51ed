// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Objects that are acquired and released: in the pool itself, in one block, or in a growing number of slabs.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/slots/object_pool_slots.hpp>
#include <ashlar/face/pool_handle.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/page_store.hpp>

namespace ashlar::ASHLAR_ABI {

/// The choices of an `object_pool`. To change one, derive and shadow it:
///
///     struct message_traits : ashlar::object_pool_traits {
///       using lifetime = ashlar::keep_constructed<ashlar::reset_with<&message::clear>>;
///     };
///     ashlar::object_pool<message, message_traits> messages;
struct object_pool_traits {
  /// The storage of objects. `growing`: in a growing number of slabs. `dynamic_capacity`: in one block, allocated by
  /// the first `acquire` or `reserve`. A number: in the pool, which never allocates, and may be `constinit`.
  static constexpr std::size_t capacity = growing;
  /// The time of construction and destruction: `construct_on_acquire`, or `keep_constructed<Reset>`.
  using lifetime = construct_on_acquire;
  /// The result of `acquire` when the pool is exhausted: `throw_when_exhausted`, or `null_when_exhausted`.
  using exhausted = throw_when_exhausted;
  /// `one_thread`. `any_thread<Lock>`: any thread acquires, under the lock, and releases, without it.
  using threads = one_thread;
  /// The source of memory; unused if objects lie in the pool.
  using upstream = default_upstream;
};

/// `Traits` with this capacity: `ashlar::object_pool<particle, ashlar::with_capacity<1000>> particles;`
template <std::size_t Capacity, class Traits>
struct with_capacity : Traits {
  static constexpr std::size_t capacity = Capacity;
};

/// Hands out objects of type `T`, and takes them back, in O(1). The object released last is acquired next.
///
///     ashlar::object_pool<particle, ashlar::with_capacity<1000>> particles;  // in the pool; never allocates
///     particle* const p = particles.acquire(position);
///     particles.release(p);
///
/// | capacity | storage of objects | constructor |
/// |---|---|---|
/// | `growing` | slabs from the upstream | `()`, or `({.max_count, .growth_count}, lifetime = {}, upstream = {})` |
/// | `dynamic_capacity` | one block from the upstream | `(capacity, lifetime = {}, upstream = {})` |
/// | a number | inside the pool | `(lifetime = {})` |
///
/// Cost of an object: its size and 4 bytes outside of it, so that a free object stays untouched. At `hardened` it is
/// filled with poison, and a guard as large as its alignment follows each object. At level `fast`, in one thread and
/// with `construct_on_acquire`, `acquire` and `release` of 64 bytes in a bounded pool are nine instructions each,
/// besides constructor and destructor, with one branch, in `acquire` (tests/resource/fast_paths.sh). Together they
/// cost within 2 % of a hand-written list through the objects, and less if objects are released in another order.
///
/// Constructors, destructors and `Reset` may use the pool; none of them runs under the lock. The destruction of an
/// object that is released during the destruction or reset of another one, in the same pool on the same thread, is
/// deferred until that is done: a chain of objects that release each other needs no more stack than two. Destructors
/// and `Reset` do not throw. The end of the pool destroys the remaining objects, once, in any order: destructors may
/// release other objects then, destroyed or not, and must not acquire.
///
/// Thread safety: `one_thread` none. `any_thread`: any thread may acquire, release, make, reserve and query;
/// `for_each_live`, `clear`, `invariant` and the destructor require exclusive use.
template <class T, class Traits>
class object_pool {
  static constexpr std::size_t fixed_capacity = Traits::capacity;
  using lifetime_type = typename Traits::lifetime;
  using exhausted_type = typename Traits::exhausted;
  using upstream_type = typename Traits::upstream;

  static_assert(std::is_object_v<T> && !std::is_array_v<T> && std::is_same_v<T, std::remove_cv_t<T>>,
                "an object_pool holds objects, neither const nor arrays");
  static_assert(std::is_nothrow_destructible_v<T>,
                "a destructor that throws would leave a slot neither taken nor free");
  static_assert(policy::lifetime<lifetime_type> && policy::exhaustion<exhausted_type> && resource<upstream_type>);
  static_assert(fixed_capacity == dynamic_capacity || fixed_capacity == growing ||
                fixed_capacity <= object_pool_options().max_count);

  using slots_type =
      detail::object_pool_slots<T, fixed_capacity, lifetime_type, typename Traits::threads, upstream_type>;
  using place_type = decltype(std::declval<slots_type&>().try_take());
  static constexpr bool grows = fixed_capacity == growing;
  static constexpr bool is_inside = !grows && fixed_capacity != dynamic_capacity;

public:
  using value_type = T;
  using traits_type = Traits;
  using handle = pool_handle<object_pool>;

  /// Allocates nothing.
  constexpr object_pool() noexcept(std::is_nothrow_default_constructible_v<lifetime_type>)
    requires is_inside && std::default_initializable<lifetime_type>
  = default;
  constexpr explicit object_pool(lifetime_type lifetime)
    requires is_inside
      : lifetime_(std::move(lifetime)) {}

  /// Allocates nothing.
  constexpr explicit object_pool(std::size_t capacity, lifetime_type lifetime = lifetime_type(),
                                 upstream_type upstream = upstream_type())
    requires(fixed_capacity == dynamic_capacity)
      : slots_(std::in_place, capacity, std::move(upstream)), lifetime_(std::move(lifetime)) {}
  constexpr object_pool(std::size_t capacity, upstream_type upstream)
    requires(fixed_capacity == dynamic_capacity)
      : slots_(std::in_place, capacity, std::move(upstream)) {}

  /// Allocates nothing.
  object_pool()
    requires grows
      : object_pool(object_pool_options{}) {}
  explicit object_pool(const object_pool_options& options, lifetime_type lifetime = lifetime_type(),
                       upstream_type upstream = upstream_type())
    requires grows
      : slots_(std::in_place, options, std::move(upstream)), lifetime_(std::move(lifetime)) {}
  object_pool(const object_pool_options& options, upstream_type upstream)
    requires grows
      : slots_(std::in_place, options, std::move(upstream)) {}
  ASHLAR_DELETED("a growing pool takes ({.max_count = 64}); a pool of one block is with_capacity<dynamic_capacity>",
                 explicit object_pool(std::size_t) requires grows);

  object_pool(const object_pool&) = delete;  // objects point into it: what shall move holds it in a std::unique_ptr
  object_pool& operator=(const object_pool&) = delete;

  /// Effects: destroys the objects that were not released, and the kept ones.
  ~object_pool() {
    // Slabs outlive the pool while slots are out, so all slots are given back.
    if constexpr (grows || !std::is_trivially_destructible_v<T>) destroy_all();
  }

  /// Returns: a new object `T(args...)`, or a kept one, unchanged. When the pool is exhausted: throws `std::bad_alloc`
  /// or as the upstream, or returns null, according to `exhausted`. Throws: as the constructor; the pool is then
  /// unchanged.
  template <class... Args>
  ASHLAR_INLINE T* acquire(Args&&... args) noexcept(!exhausted_type::throws &&
                                                    std::is_nothrow_constructible_v<T, Args...>) {
    if constexpr (!exhausted_type::throws) return try_acquire(std::forward<Args>(args)...);
    else return fill(slots_.take(), std::forward<Args>(args)...);
  }

  /// As `acquire`, but null when the pool is exhausted. Throws: as the constructor.
  template <class... Args>
  [[nodiscard]] ASHLAR_INLINE T* try_acquire(Args&&... args) noexcept(std::is_nothrow_constructible_v<T, Args...>) {
    const place_type place = slots_.try_take();
    if (ASHLAR_UNLIKELY(place.slot == nullptr)) return nullptr;
    return fill(place, std::forward<Args>(args)...);
  }

  /// Effects: destroys the object, or resets and keeps it. Expects: it is an acquired object of this pool; from level
  /// `checked` on any other pointer is reported.
  ASHLAR_INLINE void release(T* object) noexcept {
    void* const slot = const_cast<void*>(static_cast<const volatile void*>(object));
    if constexpr (!ends_plainly)
      if (ASHLAR_UNLIKELY(is_sweeping_) && slots_.is_free(slot)) return;
    if constexpr (checking_level >= checking::checked) slots_.check(slot);
    if constexpr (ends_plainly) slots_.give(slot, lifetime_type::keeps ? 0 : slots_type::raw_mark);
    else slots_.destroy_iteratively(slot, [this](void* ending) { return retire(ending); });
  }

  /// Returns: as `acquire`, but as a handle that releases the object; two words. See `static_pool_handle` for one word.
  template <class... Args>
  [[nodiscard]] handle make(Args&&... args) noexcept(!exhausted_type::throws &&
                                                     std::is_nothrow_constructible_v<T, Args...>) {
    return handle(acquire(std::forward<Args>(args)...), detail::returns_to<object_pool>(*this));
  }

  /// Returns: as `make`, but empty when the pool is exhausted.
  template <class... Args>
  [[nodiscard]] handle try_make(Args&&... args) noexcept(std::is_nothrow_constructible_v<T, Args...>) {
    return handle(try_acquire(std::forward<Args>(args)...), detail::returns_to<object_pool>(*this));
  }

  /// Effects: allocates the memory of all objects now. Throws: as the upstream; `std::bad_array_new_length` if it is
  /// too large for any block.
  void reserve()
    requires(!grows)
  {
    slots_.reserve();
  }
  /// Effects: makes `objects` live objects possible without a request to the upstream. Throws: as `acquire`.
  void reserve(std::size_t objects)
    requires grows
  {
    slots_.reserve(objects);
  }

  /// Effects: gives slabs without live objects back, and destroys the objects kept in them; retains at most
  /// `retain_bytes` of such slabs. Returns: bytes given back.
  std::size_t trim(std::size_t retain_bytes = 0) noexcept
    requires grows
  {
    return slots_.trim(retain_bytes);
  }

  /// Effects: releases all objects, in any order. Destructors and `Reset` may release others, destroyed or not, and
  /// must not acquire. Complexity: O(peak of live objects).
  void clear() noexcept {
    sweep([this](void* slot) { return retire(slot); });
  }

  /// Effects: calls `f(T&)` for each live object, in the order of addresses (within a slab, if growing). `f` may
  /// release any object, and acquire some, which may or may not be visited; the growing pool allows neither. Expects:
  /// no constructor, destructor or `Reset` of an object of this pool is running. Complexity: O(peak of live objects).
  template <class F>
  void for_each_live(F f) {
    slots_.for_each_taken([&f](void* slot) { f(*object_in(slot)); });
  }

  /// Returns: the number of objects with room; for a growing pool, without growth.
  [[nodiscard]] constexpr std::size_t capacity() const noexcept { return slots_.capacity(); }
  /// Returns: the number of acquired objects. Complexity: O(1 + free objects that lived once); growing: O(slabs). For
  /// any thread: O(peak of live objects), and exact only without concurrent calls.
  [[nodiscard]] std::size_t live() const noexcept { return slots_.live(); }
  /// Returns: the number of further objects that can be acquired without growth. Complexity: as `live`.
  [[nodiscard]] std::size_t spare() const noexcept { return capacity() - live(); }
  [[nodiscard]] bool empty() const noexcept { return live() == 0; }
  /// Returns: whether no more can be acquired. Complexity: O(1); growing: O(slabs).
  [[nodiscard]] bool full() const noexcept { return slots_.is_exhausted(); }
  /// Returns: whether `p` points into an object of this pool, acquired or free. Complexity: O(1); growing: O(slabs).
  [[nodiscard]] bool owns(const void* p) const noexcept { return slots_.owns(p); }

  /// Returns: the bytes held from the upstream. Complexity: O(1). Thread safety: as `live`.
  [[nodiscard]] std::size_t held_bytes() const noexcept
    requires(!is_inside)
  {
    return slots_.held_bytes();
  }

  [[nodiscard]] const upstream_type& upstream_resource() const noexcept
    requires(!is_inside)
  {
    return slots_.upstream_resource();
  }

  /// Complexity: O(peak of live objects).
  [[nodiscard]] bool invariant() const noexcept { return slots_.invariant() && live() <= capacity(); }

private:
  [[nodiscard]] static consteval bool has_reset() {
    if constexpr (lifetime_type::keeps) return !std::is_same_v<typename lifetime_type::reset_type, no_reset>;
    else return false;
  }

  /// Whether the release of an object only gives its slot back.
  static constexpr bool ends_plainly = lifetime_type::keeps ? !has_reset() : std::is_trivially_destructible_v<T>;

  // A slot that goes back unless an object is made in it.
  struct unfilled {
    slots_type& all_slots;
    void* slot;
    ~unfilled() {
      if (ASHLAR_UNLIKELY(slot != nullptr)) all_slots.give(slot, slots_type::raw_mark);
    }
  };

  [[nodiscard]] ASHLAR_INLINE static T* object_in(void* slot) noexcept { return std::launder(static_cast<T*>(slot)); }

  template <class... Args>
  [[nodiscard]] ASHLAR_INLINE T* fill(place_type place, Args&&... args) {
    if constexpr (lifetime_type::keeps)
      if (!place.is_raw) return object_in(place.slot);
    if constexpr (std::is_nothrow_constructible_v<T, Args...>) {
      return ::new (place.slot) T(std::forward<Args>(args)...);
    } else {
      unfilled guard = {slots_, place.slot};
      T* const made = ::new (place.slot) T(std::forward<Args>(args)...);
      guard.slot = nullptr;
      return made;
    }
  }

  // Returns: the marks of the slot.
  std::uint32_t retire(void* slot) noexcept {
    if constexpr (lifetime_type::keeps) {
      static_assert(std::is_nothrow_invocable_v<typename lifetime_type::reset_type&, T&>,
                    "Reset takes a T& and is noexcept: no caller could catch its exception");
      lifetime_.reset(*object_in(slot));
      return 0;
    } else {
      return destroy(slot);
    }
  }

  static std::uint32_t destroy(void* slot) noexcept {
    std::destroy_at(object_in(slot));
    return slots_type::raw_mark;
  }

  // Ends all objects, each once, even if one releases an earlier one.
  template <class End>
  void sweep(End end) noexcept {
    is_sweeping_ = true;
    slots_.for_each_taken([this, &end](void* slot) { slots_.destroy_iteratively(slot, end); });
    is_sweeping_ = false;
  }

  void destroy_all() noexcept {
    sweep(&destroy);
    if constexpr (lifetime_type::keeps && !grows)
      slots_.for_each_kept([](void* slot) { static_cast<void>(destroy(slot)); });
  }

  slots_type slots_;
  ASHLAR_NO_UNIQUE_ADDRESS lifetime_type lifetime_;
  bool is_sweeping_ = false;
};

}  // namespace ashlar::ASHLAR_ABI
