// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The base of adaptors over one upstream: it holds the upstream and forwards the calls that most adaptors leave alone.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>

namespace ashlar::ASHLAR_ABI {

/// Owns an `R`, made from the arguments, and forwards the refinements that concern no single block: `owns`, `release`
/// and `prefault`. A derived adaptor defines its block functions and its equality, and hides the members that it
/// changes:
///
///     template <resource R>
///     class counting : public forwarding<R> {
///     public:
///       using forwarding<R>::forwarding;
///       using forwarding<R>::upstream_resource;
///       void* allocate(std::size_t bytes, std::size_t alignment) {
///         return ++calls_, upstream_resource().allocate(bytes, alignment);
///       }
///       …
///
/// Block functions are not forwarded: an adaptor must not claim calls that it does not handle. The same holds for
/// `is_thread_safe` (an adaptor without state of its own uses `thread_safe_resource<R>`) and for `least_part_bytes`.
/// This base is not a resource itself, and as large as `R`.
template <resource R>
class forwarding {
public:
  // Public, because an inherited constructor keeps the access of the base. It does not make copies.
  template <class... Args>
    requires(std::constructible_from<R, Args...> && !(std::derived_from<std::remove_cvref_t<Args>, forwarding> && ...))
  explicit forwarding(Args&&... args) : upstream_(std::forward<Args>(args)...) {}

  [[nodiscard]] bool owns(const void* p) const noexcept
    requires owning_resource<R>
  {
    return upstream_.owns(p);
  }

  /// As `R::release`.
  void release() noexcept
    requires releasable_resource<R>
  {
    upstream_.release();
  }

  void prefault(void* p, std::size_t bytes) noexcept
    requires prefaulting_resource<R>
  {
    upstream_.prefault(p, bytes);
  }

  [[nodiscard]] R& upstream_resource() noexcept { return upstream_; }
  [[nodiscard]] const R& upstream_resource() const noexcept { return upstream_; }

protected:
  forwarding() = default;
  ~forwarding() = default;
  forwarding(const forwarding&) = default;
  forwarding& operator=(const forwarding&) = default;

private:
  ASHLAR_NO_UNIQUE_ADDRESS R upstream_;
};

}  // namespace ashlar::ASHLAR_ABI
