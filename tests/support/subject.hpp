// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any resource under test behind one interface, so that the laws are compiled once and a resource costs thin wrappers.
#pragma once

#include <cstddef>
#include <utility>

#include <ashlar/base/resource.hpp>

#include "tests/support/build.hpp"
#include "tests/support/invariant_of.hpp"
#include "tests/support/ledger.hpp"

namespace ashlar_test {

/// The limits of a resource, which its struct of test sets (see conformance.hpp), and the refinements that it has.
struct subject_traits {
  std::size_t max_alignment;
  std::size_t largest;
  std::size_t most_live;
  std::size_t churn_steps;
  int most_served;
  bool bounded;
  bool any_order;
  bool reuses;
  bool exhaustible;

  bool counts_upstream;  ///< `balance` is that of its upstream
  bool may_refuse;       ///< this build survives a refusal
  bool refuses_by_null;  ///< it has `try_allocate`
  bool frees_without_throwing;
  bool owns;
  bool releases;
  bool gives_at_least;
  bool prefaults;
  bool describes_itself;
  bool expands;
};

/// Calls of a refinement that the resource does not have do nothing.
class any_subject {
public:
  const subject_traits traits;

  explicit any_subject(const subject_traits& t) : traits(t) {}
  any_subject(const any_subject&) = delete;
  any_subject& operator=(const any_subject&) = delete;
  virtual ~any_subject() = default;

  [[nodiscard]] virtual void* allocate(std::size_t bytes, std::size_t alignment) = 0;
  /// Returns: a block, or null where the resource has no memory, by its result or by an exception.
  [[nodiscard]] virtual void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept = 0;
  virtual void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept = 0;
  virtual void deallocate(void* p) noexcept = 0;
  [[nodiscard]] virtual bool owns(const void* p) const noexcept = 0;
  virtual void release() noexcept = 0;
  [[nodiscard]] virtual ashlar::block allocate_at_least(std::size_t bytes, std::size_t alignment) = 0;
  virtual void prefault(void* p, std::size_t bytes) noexcept = 0;
  [[nodiscard]] virtual bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes,
                                        std::size_t alignment) noexcept = 0;

  /// Expects: the other is of the same type.
  [[nodiscard]] virtual bool equals(const any_subject& other) const = 0;
  [[nodiscard]] virtual bool differs_from(const any_subject& other) const = 0;
  [[nodiscard]] virtual bool invariant() const = 0;
  /// Returns: the live memory of its upstream, if it has one that counts.
  [[nodiscard]] virtual holdings balance() const = 0;
  /// Effects: all allocations of its upstream fail, or none, if it has one that can.
  virtual void set_upstream_failing(bool failing) = 0;

  [[nodiscard]] friend bool operator==(const any_subject& a, const any_subject& b) { return a.equals(b); }
};

static_assert(ashlar::try_resource<any_subject>);

/// Whether this build survives a refusal by `R`.
template <class R>
inline constexpr bool may_refuse = has_exceptions || ashlar::try_resource<R>;

template <class Made>
[[nodiscard]] constexpr subject_traits traits_of_subject() {
  using R = decltype(Made::resource);
  return {.max_alignment = Made::max_alignment,
          .largest = Made::largest,
          .most_live = Made::most_live,
          .churn_steps = Made::churn_steps,
          .most_served = Made::most_served,
          .bounded = Made::bounded,
          .any_order = Made::any_order,
          .reuses = Made::reuses,
          .exhaustible = Made::exhaustible,
          .counts_upstream = requires(const Made& made){made.upstream.balance();
}
, .may_refuse = may_refuse<R>, .refuses_by_null = ashlar::try_resource<R>,
    .frees_without_throwing =
        requires(R& r, void* p, std::size_t n) {
          { r.deallocate(p, n, n) } noexcept;
        },
    .owns = ashlar::owning_resource<R>, .releases = ashlar::releasable_resource<R>,
    .gives_at_least = ashlar::at_least_resource<R>, .prefaults = ashlar::prefaulting_resource<R>,
    .describes_itself = ashlar::self_describing_resource<R>, .expands = ashlar::expanding_resource<R>
};  // namespace ashlar_test
}

/// The subject that `Made` describes.
template <class Made>
class subject_of final : public any_subject {
  using resource_type = decltype(Made::resource);
  static_assert(ashlar::resource<resource_type>);

public:
  template <class... Args>
  explicit subject_of(Args&&... args) : any_subject(traits_of_subject<Made>()), made_(std::forward<Args>(args)...) {}

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) override {
    return made_.resource.allocate(bytes, alignment);
  }
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept override {
    return ashlar::try_allocate_from(made_.resource, bytes, alignment);
  }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept override {
    made_.resource.deallocate(p, bytes, alignment);
  }
  void deallocate([[maybe_unused]] void* p) noexcept override {
    if constexpr (ashlar::self_describing_resource<resource_type>) made_.resource.deallocate(p);
  }
  [[nodiscard]] bool owns([[maybe_unused]] const void* p) const noexcept override {
    if constexpr (ashlar::owning_resource<resource_type>) return made_.resource.owns(p);
    return false;
  }
  void release() noexcept override {
    if constexpr (ashlar::releasable_resource<resource_type>) made_.resource.release();
  }
  [[nodiscard]] ashlar::block allocate_at_least([[maybe_unused]] std::size_t bytes,
                                                [[maybe_unused]] std::size_t alignment) override {
    if constexpr (ashlar::at_least_resource<resource_type>) return made_.resource.allocate_at_least(bytes, alignment);
    return {};
  }
  void prefault([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes) noexcept override {
    if constexpr (ashlar::prefaulting_resource<resource_type>) made_.resource.prefault(p, bytes);
  }
  [[nodiscard]] bool try_expand([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes,
                                [[maybe_unused]] std::size_t new_bytes,
                                [[maybe_unused]] std::size_t alignment) noexcept override {
    if constexpr (ashlar::expanding_resource<resource_type>)
      return made_.resource.try_expand(p, bytes, new_bytes, alignment);
    return false;
  }

  [[nodiscard]] bool equals(const any_subject& other) const override { return made_.resource == resource_in(other); }
  [[nodiscard]] bool differs_from(const any_subject& other) const override {
    return made_.resource != resource_in(other);
  }
  [[nodiscard]] bool invariant() const override { return invariant_of(made_.resource); }
  [[nodiscard]] holdings balance() const override {
    if constexpr (requires { made_.upstream.balance(); }) return made_.upstream.balance();
    return nothing;
  }
  void set_upstream_failing([[maybe_unused]] bool failing) override {
    if constexpr (requires { made_.upstream.fail_from(0); })
      failing ? made_.upstream.fail_from(0) : made_.upstream.fail_never();
  }

private:
  [[nodiscard]] static const resource_type& resource_in(const any_subject& other) {
    return static_cast<const subject_of&>(other).made_.resource;
  }

  Made made_;
};

}  // namespace ashlar_test
