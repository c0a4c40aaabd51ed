// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every resource for several threads behind the same few calls, for scenarios of threads that use one of them.
#pragma once

#include <cstddef>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/shared_pool_set.hpp>

namespace ashlar_test {

/// A resource of its own, whose blocks have `Bytes` bytes.
template <class R, std::size_t Bytes>
class blocks_of_resource {
public:
  static constexpr std::size_t block_bytes = Bytes;
  static constexpr bool is_of_process = false;

  [[nodiscard]] void* allocate() { return resource_->allocate(Bytes, 8); }
  void free(void* p) { resource_->deallocate(p, Bytes, 8); }
  [[nodiscard]] bool invariant() const { return resource_->invariant(); }
  [[nodiscard]] std::size_t held_bytes() const { return resource_->held_bytes(); }
  /// Effects: asks and trims while other threads work.
  void look_at(const void* p) {
    static_cast<void>(resource_->owns(p));
    if constexpr (requires { resource_->flush(); }) resource_->flush();
    static_cast<void>(resource_->trim());
  }
  void release() { resource_->release(); }
  /// Effects: ends the resource.
  void end() { resource_.reset(); }
  /// Effects: gives back what no block is in. Returns: whether that is all.
  [[nodiscard]] bool goes_back() {
    if constexpr (requires { resource_->flush(); }) resource_->flush();
    static_cast<void>(resource_->trim());
    return held_bytes() <= 16 * least_ && invariant();
  }

private:
  [[nodiscard]] static std::unique_ptr<R> make() {
    if constexpr (std::is_constructible_v<R, ashlar::block_pool_options>)
      return std::make_unique<R>(ashlar::block_pool_options{.cell_bytes = Bytes});
    else return std::make_unique<R>();
  }
  // A set keeps its pools, and what they needed for their slabs of then; a slab is larger than all of it.
  [[nodiscard]] std::size_t bytes_of_pools() {
    if constexpr (!std::is_same_v<R, ashlar::shared_pool_set<>>) return 0;
    free(allocate());
    if constexpr (requires { resource_->flush(); }) resource_->flush();
    static_cast<void>(resource_->trim());
    return held_bytes();
  }

  std::unique_ptr<R> resource_ = make();
  std::size_t least_ = bytes_of_pools();
};

/// Cells of the pool of the process with this size.
template <std::size_t Bytes, class Lock>
class blocks_of_process {
public:
  static constexpr std::size_t block_bytes = Bytes;
  static constexpr bool is_of_process = true;
  using pool = ashlar::detail::process_pool<Bytes, 8, Lock>;

  [[nodiscard]] static void* allocate() { return pool::allocate(); }
  static void free(void* p) { pool::deallocate(p); }
  [[nodiscard]] static bool invariant() {
    return pool::with_pool([](auto& p) { return p.invariant(); });
  }
  [[nodiscard]] static std::size_t held_bytes() {
    return pool::with_pool([](auto& p) { return p.held_bytes(); });
  }
  static void look_at(const void* cell) {
    pool::with_pool([=](auto& p) { static_cast<void>(p.owns(cell)), static_cast<void>(p.trim()); });
  }
  [[nodiscard]] static bool goes_back() {
    if constexpr (requires { pool::flush(); }) pool::flush();
    pool::with_pool([](auto& p) { static_cast<void>(p.trim()); });
    return held_bytes() == 0 && invariant();
  }
};

template <class F>
void in_a_thread_of_its_own(F f) {
  std::thread(f).join();
}

template <class F>
void on_threads(std::size_t count, F f) {
  std::vector<std::thread> threads;
  for (std::size_t who = 0; who < count; ++who) threads.emplace_back(f, who);
  for (std::thread& each : threads) each.join();
}

}  // namespace ashlar_test
