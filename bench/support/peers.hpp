// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The peers table: every rival by name, as a malloc library to preload or as a standard allocator to compile in.
#pragma once

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <string_view>

#include <ashlar/face/allocator.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/page_resource.hpp>

#if ASHLAR_BENCH_HAS_BOOST
#include <boost/pool/pool_alloc.hpp>
#include <boost/pool/singleton_pool.hpp>
#endif

namespace bench {

// A malloc that replaces glibc's: the first installed one of `files`, in order of preference, is preloaded.
struct malloc_library {
  std::string_view peer;
  const char* files[3];
  const char* tunables = nullptr;  // of the C library, which it needs at its best
};

inline constexpr malloc_library malloc_libraries[] = {
    {"mimalloc", {"libmimalloc.so.2", "libmimalloc.so"}},
    {"mimalloc3", {"libmimalloc3.so"}},
    {"jemalloc", {"libjemalloc.so.2", "libjemalloc.so"}},
    {"tcmalloc", {"libtcmalloc_minimal.so.4", "libtcmalloc.so.4", "libtcmalloc_minimal.so"}},
    {"google_tcmalloc", {"libtcmalloc_google.so"}, "glibc.pthread.rseq=0"},  // its caches by CPU
    {"rpmalloc", {"librpmalloc.so"}},
    {"rpmalloc2", {"librpmalloc2.so"}},
    {"snmalloc", {"libsnmalloc.so", "libsnmallocshim.so"}},
};

inline const malloc_library* find_malloc_library(std::string_view peer) noexcept {
  for (const malloc_library& library : malloc_libraries)
    if (library.peer == peer) return &library;
  return nullptr;
}

// A peer is a type with
//     allocator<T>      the standard allocator under test
//     make<T>()         one of them
//     give_back()       gives memory back to the system after the container's end, if the allocator has a call for it
struct standard_peer {
  template <class T>
  using allocator = std::allocator<T>;
  template <class T>
  allocator<T> make() noexcept {
    return {};
  }
  void give_back() noexcept {}
};

struct ashlar_peer {
  template <class T>
  using allocator = ashlar::pool_allocator<T, ashlar::one_thread>;
  template <class T>
  allocator<T> make() noexcept {
    return {};
  }
  void give_back() noexcept {}
};

// The same pool over each way to map memory, to choose the default.
template <class Fresh, std::size_t SlabBytes = 0>
class ashlar_fresh_peer {
  using pool = ashlar::block_pool<ashlar::basic_page_resource<Fresh>>;

  // The node types are private to the standard library: 24 bytes for a list, 40 for a set.
  struct node_pools {
    [[nodiscard]] pool& of(std::size_t bytes) noexcept { return bytes <= 24 ? list_nodes : set_nodes; }
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
      return of(bytes).allocate(bytes, alignment);
    }
    void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
      of(bytes).deallocate(p, bytes, alignment);
    }
    [[nodiscard]] bool operator==(const node_pools& other) const noexcept { return this == &other; }

    pool list_nodes{ashlar::block_pool_options{.cell_bytes = 24, .slab_bytes = SlabBytes}};
    pool set_nodes{ashlar::block_pool_options{.cell_bytes = 40, .slab_bytes = SlabBytes}};
  };

public:
  template <class T>
  using allocator = ashlar::allocator<T, node_pools>;
  template <class T>
  allocator<T> make() noexcept {
    return pools_;
  }
  void give_back() noexcept {}

private:
  node_pools pools_;
};

using ashlar_plain_peer = ashlar_fresh_peer<ashlar::fresh::plain>;
using ashlar_populated_peer = ashlar_fresh_peer<ashlar::fresh::populated>;
using ashlar_huge_peer = ashlar_fresh_peer<ashlar::fresh::huge, ashlar::fresh::huge::huge_bytes>;

template <class Resource>
class pmr_peer {
public:
  template <class T>
  using allocator = std::pmr::polymorphic_allocator<T>;
  template <class T>
  allocator<T> make() noexcept {
    return &resource_;
  }
  void give_back() { resource_.release(); }

private:
  Resource resource_;
};

using pmr_pool_peer = pmr_peer<std::pmr::unsynchronized_pool_resource>;
using pmr_monotonic_peer = pmr_peer<std::pmr::monotonic_buffer_resource>;

#if ASHLAR_BENCH_HAS_BOOST
template <class Mutex>
class boost_peer {
public:
  template <class T>
  using allocator = boost::fast_pool_allocator<T, boost::default_user_allocator_new_delete, Mutex>;
  template <class T>
  allocator<T> make() noexcept {
    return {};
  }
  // The node types are private to the standard library: 24 bytes for a list, 32 or 40 for a set.
  void give_back() { purge<24>(), purge<32>(), purge<40>(); }

private:
  template <std::size_t NodeBytes>
  void purge() {
    boost::singleton_pool<boost::fast_pool_allocator_tag, NodeBytes, boost::default_user_allocator_new_delete, Mutex,
                          32, 0>::purge_memory();
  }
};

using boost_mutex_peer = boost_peer<boost::details::pool::default_mutex>;
using boost_null_mutex_peer = boost_peer<boost::details::pool::null_mutex>;
#endif

}  // namespace bench
