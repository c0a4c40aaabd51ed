// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// std::unique_ptr to objects and arrays in the memory of any resource.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/face/resource_delete.hpp>
#include <ashlar/fwd.hpp>

namespace ashlar::ASHLAR_ABI {

/// Owns an object, or an array `T[]`, in memory of an `R`, which outlives it. Move-only; a default one is null.
///
/// | pointer | holds besides the object's address | words | words, if `R` has no state |
/// |---|---|---:|---:|
/// | `unique_from<T, R>` | the resource | 2 | 1 |
/// | `unique_from<T[], R>` | the resource, the length | 3 | 2 |
/// | `unique_base_from<Base, R>` | the resource, the deleter of the derived class | 3 | 2 |
template <class T, class R>
using unique_from = std::unique_ptr<T, resource_delete<T, detail::referred_resource<R>>>;

/// Owns an object of `Base` or of a derived class of any size: takes over a `unique_from<Derived, R>`. `Base` needs no
/// virtual destructor.
template <class Base, class R>
using unique_base_from = std::unique_ptr<Base, base_delete<Base, detail::referred_resource<R>>>;

namespace detail {

// Memory for objects under construction. Unless `finish` is called, the destructor destroys the constructed objects,
// the last first, and gives the memory back.
template <class T, resource R>
class building_site {
public:
  building_site(resource_link<R> home, void* memory, std::size_t count) noexcept
      : home_(home), first_(static_cast<T*>(memory)), count_(count) {}
  building_site(const building_site&) = delete;
  building_site& operator=(const building_site&) = delete;
  ASHLAR_INLINE ~building_site() {
    if (ASHLAR_UNLIKELY(first_ != nullptr)) abandon();
  }

  template <class... Args>
  ASHLAR_INLINE void build(Args&&... args) {
    std::construct_at(first_ + built_, std::forward<Args>(args)...);
    ++built_;
  }

  void build_for_overwrite() {
    ::new (static_cast<void*>(first_ + built_)) T;
    ++built_;
  }

  [[nodiscard]] ASHLAR_INLINE T* finish() noexcept { return std::exchange(first_, nullptr); }

private:
  ASHLAR_COLD void abandon() noexcept {
    while (built_ != 0) destroy_exactly(first_ + --built_);
    home_.get().deallocate(first_, count_ * sizeof(T), alignof(T));
  }

  ASHLAR_NO_UNIQUE_ADDRESS resource_link<R> home_;
  T* first_;
  std::size_t count_;
  std::size_t built_ = 0;
};

// Makes the owners of a `T`, or of elements of it, in memory of one resource.
template <class T, resource R>
class unique_maker {
public:
  explicit unique_maker(resource_link<R> home) noexcept : home_(home) {}

  [[nodiscard]] static constexpr bool is_countable(std::size_t n) noexcept { return n <= max_block_bytes / sizeof(T); }

  [[nodiscard]] void* memory(std::size_t n = 1) const {
    if (ASHLAR_UNLIKELY(!is_countable(n))) throw_bad_array_new_length();
    return home_.get().allocate(n * sizeof(T), alignof(T));
  }
  [[nodiscard]] void* try_memory(std::size_t n = 1) const noexcept {
    auto&& from = home_.get();
    return is_countable(n) ? try_allocate_from(from, n * sizeof(T), alignof(T)) : nullptr;
  }

  // Returns: the owner of one object in `memory`, made by `build(site)`.
  template <class Build>
  [[nodiscard]] unique_from<T, R> make_one(void* memory, Build build) const {
    building_site<std::remove_cv_t<T>, R> site(home_, memory, 1);
    build(site);
    return unique_from<T, R>(site.finish(), resource_delete<T, R>(home_));
  }

  // Returns: the owner of `n` objects in `memory`, each made by `build(site)`.
  template <class Build>
  [[nodiscard]] unique_from<T[], R> make_array(void* memory, std::size_t n, Build build) const {
    building_site<std::remove_cv_t<T>, R> site(home_, memory, n);
    for (std::size_t i = 0; i < n; ++i) build(site);
    return unique_from<T[], R>(site.finish(), resource_delete<T[], R>(home_, n));
  }

private:
  ASHLAR_NO_UNIQUE_ADDRESS resource_link<R> home_;
};

// Returns: a maker for the resource that the argument refers to.
template <class T, class R>
[[nodiscard]] auto unique_maker_for(R& r) noexcept {
  return unique_maker<T, referred_resource<std::remove_cv_t<R>>>(link_to(r));
}

}  // namespace detail

/// Returns: the owner of a new `T(args...)`. It refers to `r`, which is not copied. If the constructor throws, the
/// memory goes back. Throws: as `r` and as the constructor.
///
///     ashlar::unique_from<node, ashlar::block_pool<>> first = ashlar::allocate_unique<node>(pool, "name");
template <class T, detail::resource_argument R, class... Args>
  requires(!std::is_array_v<T>)
[[nodiscard]] unique_from<T, std::remove_cvref_t<R>> allocate_unique(R&& r, Args&&... args) {
  const auto maker = detail::unique_maker_for<T>(r);
  return maker.make_one(maker.memory(), [&](auto& site) { site.build(std::forward<Args>(args)...); });
}

/// As above. Returns: null when `r` has no memory left. Throws: as the constructor.
template <class T, detail::resource_argument R, class... Args>
  requires(!std::is_array_v<T>)
[[nodiscard]] unique_from<T, std::remove_cvref_t<R>> try_allocate_unique(R&& r, Args&&... args) {
  const auto maker = detail::unique_maker_for<T>(r);
  void* const memory = maker.try_memory();
  if (memory == nullptr) return {};
  return maker.make_one(memory, [&](auto& site) { site.build(std::forward<Args>(args)...); });
}

/// Returns: the owner of a default-initialised `T`, of indeterminate value without a constructor.
template <class T, detail::resource_argument R>
  requires(!std::is_array_v<T>)
[[nodiscard]] unique_from<T, std::remove_cvref_t<R>> allocate_unique_for_overwrite(R&& r) {
  const auto maker = detail::unique_maker_for<T>(r);
  return maker.make_one(maker.memory(), [](auto& site) { site.build_for_overwrite(); });
}

/// Returns: an array of `n` value-initialised elements; `n` may be 0. If a constructor throws, the elements before it
/// are destroyed, the last first, and the memory goes back. Throws: `std::bad_array_new_length` if `n *
/// sizeof(element)` is above PTRDIFF_MAX; as `r`, and as a constructor.
template <class T, detail::resource_argument R>
  requires std::is_unbounded_array_v<T>
[[nodiscard]] unique_from<T, std::remove_cvref_t<R>> allocate_unique(R&& r, std::size_t n) {
  const auto maker = detail::unique_maker_for<std::remove_extent_t<T>>(r);
  return maker.make_array(maker.memory(n), n, [](auto& site) { site.build(); });
}

/// As above. Returns: null when `r` has no memory left, or the size is above PTRDIFF_MAX. Throws: as a constructor.
template <class T, detail::resource_argument R>
  requires std::is_unbounded_array_v<T>
[[nodiscard]] unique_from<T, std::remove_cvref_t<R>> try_allocate_unique(R&& r, std::size_t n) {
  const auto maker = detail::unique_maker_for<std::remove_extent_t<T>>(r);
  void* const memory = maker.try_memory(n);
  if (memory == nullptr) return {};
  return maker.make_array(memory, n, [](auto& site) { site.build(); });
}

/// Returns: an array of `n` default-initialised elements, of indeterminate value without a constructor. Throws: as
/// `allocate_unique<T[]>`.
template <class T, detail::resource_argument R>
  requires std::is_unbounded_array_v<T>
[[nodiscard]] unique_from<T, std::remove_cvref_t<R>> allocate_unique_for_overwrite(R&& r, std::size_t n) {
  const auto maker = detail::unique_maker_for<std::remove_extent_t<T>>(r);
  return maker.make_array(maker.memory(n), n, [](auto& site) { site.build_for_overwrite(); });
}

}  // namespace ashlar::ASHLAR_ABI
