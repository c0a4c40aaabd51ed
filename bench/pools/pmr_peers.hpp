// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The polymorphic resources under comparison: those of the standard library, of Boost, and of this library.
#pragma once

#include <cstddef>
#include <memory_resource>

#include <ashlar/face/pmr_pools.hpp>

#if ASHLAR_BENCH_HAS_BOOST_CONTAINER
#include <boost/container/pmr/memory_resource.hpp>
#include <boost/container/pmr/polymorphic_allocator.hpp>
#include <boost/container/pmr/synchronized_pool_resource.hpp>
#include <boost/container/pmr/unsynchronized_pool_resource.hpp>
#endif

#include "support/keep.hpp"

namespace bench {

// The common part: blocks by a virtual call that the compiler cannot resolve, and an allocator for containers.
template <class Resource, class Base, template <class> class Allocator>
class polymorphic_peer {
public:
  template <class T>
  using allocator = Allocator<T>;

  polymorphic_peer() noexcept : base_(&resource_) { escape(&base_); }

  template <class T>
  allocator<T> make() noexcept {
    return base_;
  }
  [[nodiscard]] void* allocate(std::size_t bytes) { return base_->allocate(bytes, 8); }
  void deallocate(void* p, std::size_t bytes) { base_->deallocate(p, bytes, 8); }
  void give_back() {
    if constexpr (requires { resource_.release(); }) resource_.release();
  }

private:
  Resource resource_;
  Base* base_;
};

template <class Resource>
using std_peer = polymorphic_peer<Resource, std::pmr::memory_resource, std::pmr::polymorphic_allocator>;

// The cost of the call and the loop: a bump pointer that starts over, and frees nothing. Not for containers.
class null_memory final : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t) override {
    if (used_ + bytes > sizeof memory_) used_ = 0;
    void* const p = memory_ + used_;
    used_ += (bytes + 15) & ~std::size_t{15};
    return p;
  }
  void do_deallocate(void*, std::size_t, std::size_t) override {}
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  static constexpr std::size_t memory_bytes = std::size_t{1} << 18;
  std::size_t used_ = 0;
  alignas(16) std::byte memory_[memory_bytes];
};

class heap_memory final : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t) override { return ::operator new(bytes); }
  void do_deallocate(void* p, std::size_t bytes, std::size_t) override { ::operator delete(p, bytes); }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }
};

using null_peer = std_peer<null_memory>;
using heap_peer = std_peer<heap_memory>;
using std_pool_peer = std_peer<std::pmr::unsynchronized_pool_resource>;
using std_synchronized_peer = std_peer<std::pmr::synchronized_pool_resource>;
using ashlar_pool_peer = std_peer<ashlar::pmr::unsynchronized_pool_resource>;
using ashlar_synchronized_peer = std_peer<ashlar::pmr::synchronized_pool_resource>;

#if ASHLAR_BENCH_HAS_BOOST_CONTAINER
template <class Resource>
using boost_pmr_peer =
    polymorphic_peer<Resource, boost::container::pmr::memory_resource, boost::container::pmr::polymorphic_allocator>;
using boost_pool_peer = boost_pmr_peer<boost::container::pmr::unsynchronized_pool_resource>;
using boost_synchronized_peer = boost_pmr_peer<boost::container::pmr::synchronized_pool_resource>;
#endif

}  // namespace bench
