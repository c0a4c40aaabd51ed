// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Objects behind handles: a handle to an erased object stays invalid forever.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/base/slot_handle.hpp>
#include <ashlar/detail/slots/handle_table.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/fixed_block_pool.hpp>
#include <ashlar/resource/page_store.hpp>

namespace ashlar::ASHLAR_ABI {

struct slot_map_options {
  std::size_t max_count =
      detail::handle_table<void>::most_slots;  ///< live objects and retired slots; beyond it `emplace` throws
  /// The generation of a slot's first object; at least 1. The default is 1 at `fast`; from `checked` on it differs in
  /// each options object, so that only maps made with the same one share it.
  std::uint32_t first_generation = detail::handle_table<void>::next_generation();
};

/// Objects in cells of a pool, found by `slot_handle`s. An object never moves; a handle to an erased one is never
/// mistaken for the handle of its successor.
///
///     ashlar::slot_map<monster> monsters;
///     const auto handle = monsters.emplace("orc");
///     if (monster* alive = monsters.get(handle)) alive->hit();
///     monsters.erase(handle);                          // get(handle) is null from now on
///
///     handle { index, generation } -> table[index] { object, generation, next free } -> cell of the pool
///
/// Cost of an element: its own bytes, one bit, and one table entry (16 bytes; 12 with 32-bit pointers). The table grows
/// by doubling and does not shrink, since stale handles must find their generation. A slot that has used all
/// generations up to 2^32 - 1 is retired.
///
/// `emplace`, `erase`, `get` and `contains` are O(1), the first amortised. Constructors and destructors of `T` may use
/// the map; destructors must not make objects during the end of the map, which destroys the remaining ones. Invariant:
/// `size() + free slots + retired slots + objects being made or destroyed == slots of the table`. Thread safety: none.
/// From level `checked` on a handle of another map is stale, except for rare collisions, unless both have the same
/// `first_generation`; at `fast` it may look valid.
template <class T, resource Upstream>
class slot_map {
  static_assert(std::is_object_v<T> && !std::is_const_v<T>, "a slot_map holds objects that can be made and destroyed");

public:
  using value_type = T;
  using handle = slot_handle<T>;

  slot_map() : slot_map(slot_map_options{}) {}
  /// Allocates nothing. Expects: `first_generation` is not 0.
  explicit slot_map(const slot_map_options& options, Upstream upstream = {})
      : upstream_(std::move(upstream)), table_(options.max_count, options.first_generation),
        pool_(fixed_block_pool_options{}, resource_ref<Upstream>(upstream_)) {}
  explicit slot_map(Upstream upstream) : slot_map(slot_map_options{}, std::move(upstream)) {}

  slot_map(const slot_map&) = delete;  // handles and pointers lead into it
  slot_map& operator=(const slot_map&) = delete;

  ~slot_map() {
    if constexpr (!std::is_trivially_destructible_v<T>) clear();
    pool_.release();  // the remaining objects are not a leak
    table_.release(upstream_);
  }

  /// Returns: the handle of a new object. Throws: `std::bad_alloc`, as the upstream, or as the constructor; the map is
  /// then unchanged.
  template <class... Args>
  handle emplace(Args&&... args) {
    table_.make_room(upstream_);
    reserved_slot slot(table_);
    slot.cell = pool_.allocate();
    return finish(slot, std::forward<Args>(args)...);
  }

  /// As `emplace`, but returns an invalid handle when memory has run out. Throws: as the constructor.
  template <class... Args>
  [[nodiscard]] handle try_emplace(Args&&... args) noexcept(std::is_nothrow_constructible_v<T, Args...>) {
    if (!table_.try_make_room(upstream_)) return {};
    reserved_slot slot(table_);
    slot.cell = pool_.try_allocate();
    if (slot.cell == nullptr) return {};
    return finish(slot, std::forward<Args>(args)...);
  }

  /// Returns: the object, or null if it was erased or never existed.
  [[nodiscard]] ASHLAR_INLINE T* get(handle h) noexcept { return table_.find(h); }
  [[nodiscard]] ASHLAR_INLINE const T* get(handle h) const noexcept { return table_.find(h); }
  [[nodiscard]] ASHLAR_INLINE bool contains(handle h) const noexcept { return table_.find(h) != nullptr; }

  /// Expects: `contains(h)`.
  [[nodiscard]] ASHLAR_INLINE T& operator[](handle h) noexcept {
    ASHLAR_EXPECTS(contains(h), "asked a slot_map for an object by a stale handle");
    return *table_.at(h.index());
  }
  [[nodiscard]] ASHLAR_INLINE const T& operator[](handle h) const noexcept {
    ASHLAR_EXPECTS(contains(h), "asked a slot_map for an object by a stale handle");
    return *table_.at(h.index());
  }

  /// Effects: destroys the object. Its handle is stale before its destructor runs. Returns: whether there was one.
  bool erase(handle h) noexcept {
    T* const leaving = table_.find(h);
    if (leaving == nullptr) return false;
    destroy(h.index(), leaving);
    return true;
  }

  /// Effects: destroys all objects, in the order of their slots; every handle is stale. Memory is retained. Complexity:
  /// O(slots).
  void clear() noexcept {
    for (std::uint32_t index = 0; index < table_.size(); ++index)
      if (T* const leaving = table_.at(index)) destroy(index, leaving);
  }

  /// Effects: calls `f(T&)` for each object, the lowest address first: a scan of the pool's bitmaps. Expects: `f`
  /// neither makes nor erases objects, and is not called by a constructor or destructor of `T`. Complexity: O(cells).
  template <class F>
  void for_each_live(F f) {
    pool_.for_each_live([&f](void* cell) { f(*std::launder(static_cast<T*>(cell))); });
  }

  /// Effects: calls `f(handle, T&)` for each object, in the order of their slots. `f` may erase any object, and make
  /// some, which may or may not be visited. Complexity: O(slots).
  template <class F>
  void for_each_handle(F f) {
    for (std::uint32_t index = 0; index < table_.size(); ++index)
      if (T* const object = table_.at(index)) f(table_.handle_of(index), *object);
  }

  [[nodiscard]] std::size_t size() const noexcept { return table_.live(); }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  /// Returns: the number of slots that have used all generations.
  [[nodiscard]] std::size_t retired() const noexcept { return table_.retired(); }
  [[nodiscard]] std::size_t max_size() const noexcept { return table_.max_slots() - table_.retired(); }
  [[nodiscard]] const Upstream& upstream_resource() const noexcept { return upstream_; }

  /// Effects: makes `count` live objects possible without a request to the upstream. Throws: as `emplace`.
  void reserve(std::size_t count) {
    table_.reserve(upstream_, count);
    pool_.reserve(count);
  }

  /// Effects: gives empty slabs back. Returns: bytes given back. The table stays.
  std::size_t shrink_to_fit() noexcept { return pool_.trim(); }

  /// Expects: no object is being made or destroyed. Complexity: O(slots, slabs and their words).
  [[nodiscard]] bool invariant() const noexcept {
    return table_.invariant([this](const T* object) { return pool_.owns(object); }) && pool_.invariant() &&
           pool_.live() == size();
  }

private:
  using pool = fixed_block_pool<sizeof(T), alignof(T), resource_ref<Upstream>>;

  // A slot, and later a cell, that both go back unless an object is made.
  struct reserved_slot {
    explicit reserved_slot(detail::handle_table<T>& from) noexcept : table(from), index(from.take()) {}
    reserved_slot(const reserved_slot&) = delete;
    reserved_slot& operator=(const reserved_slot&) = delete;
    ~reserved_slot() {
      if (cells != nullptr) cells->deallocate(cell);
      if (index != detail::handle_table<T>::none) table.put_back(index);
    }

    detail::handle_table<T>& table;
    std::uint32_t index;
    void* cell = nullptr;
    pool* cells = nullptr;
  };

  template <class... Args>
  [[nodiscard]] ASHLAR_INLINE handle finish(reserved_slot& slot, Args&&... args) {
    slot.cells = &pool_;
    T* const made = ::new (slot.cell) T(std::forward<Args>(args)...);
    slot.cells = nullptr;
    return table_.publish(std::exchange(slot.index, detail::handle_table<T>::none), made);
  }

  void destroy(std::uint32_t index, T* leaving) noexcept {
    table_.withdraw(index);
    leaving->~T();
    pool_.deallocate(leaving);
    table_.recycle(index);
  }

  ASHLAR_NO_UNIQUE_ADDRESS Upstream upstream_;
  detail::handle_table<T> table_;
  pool pool_;
};

}  // namespace ashlar::ASHLAR_ABI
