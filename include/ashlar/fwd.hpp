// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every public class template once, by declaration; default template arguments live here.
#pragma once

#include <cstddef>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/base/threads.hpp>

namespace ashlar::inline ASHLAR_ABI {

namespace os {
struct system_calls;
template <class Calls = system_calls>
class basic_pages;
using pages = basic_pages<>;
}  // namespace os

namespace plan {
struct buffer;
struct problem;
struct options;
struct layout;
}  // namespace plan

struct fresh_plain;
struct fresh_populated;
struct fresh_huge;
template <class Fresh = fresh_plain>
struct fresh_resident;
template <class Fresh = fresh_plain>
struct fresh_locked;
template <class Fresh = fresh_populated, class Pages = os::pages>
class basic_page_resource;
using page_resource = basic_page_resource<>;

class new_delete_resource;
class null_resource;
class buffer_resource;
template <std::size_t Bytes>
class inline_buffer;

struct block_pool_options;
template <resource Upstream = page_resource>
class block_pool;
template <thread_safe_resource Upstream = page_resource>
class shared_block_pool;
template <std::size_t CellBytes, std::size_t CellAlignment = natural_alignment(CellBytes),
          resource Upstream = page_resource>
class fixed_block_pool;

template <class Layout>
class static_arena;
template <class Table, resource Heap = new_delete_resource>
class static_arena_guard;

template <resource R>
class statistics;
template <resource R, basic_lockable Lock = spin_lock>
class synchronized;
template <resource R>
class guarding;

template <class T, resource R>
class resource_delete;
template <class Base, resource R>
class base_delete;
template <class T, resource R>
class allocator;
template <class T, lock_policy Lock = null_lock>
class pool_allocator;
template <resource R>
class pmr_resource;
template <class T>
class slot_handle;
template <class T, resource Upstream = page_resource>
class slot_map;

struct count_by_padding;
struct construct_on_acquire;
struct throw_when_exhausted;
/// Capacity of an object_pool: said to the constructor.
inline constexpr std::size_t dynamic_capacity = 0;
/// Capacity of an object_pool: as many as are asked for.
inline constexpr std::size_t growing = max_size;
template <class T, std::size_t Capacity = dynamic_capacity, class Lifetime = construct_on_acquire,
          class Exhausted = throw_when_exhausted, threads_policy Threads = one_thread,
          resource Upstream = page_resource>
class object_pool;
template <class T, threads_policy Threads = one_thread, class Placement = count_by_padding>
class ref_ptr;
template <class T, threads_policy Threads = one_thread, class Placement = count_by_padding,
          resource Upstream = page_resource>
class ref_pool;
template <class T, class Lifetime = construct_on_acquire, class Exhausted = throw_when_exhausted,
          threads_policy Threads = one_thread, class Placement = count_by_padding, resource Upstream = page_resource>
class intrusive_pool;
template <std::size_t Bytes, threads_policy Threads = one_thread, class Exhausted = throw_when_exhausted,
          resource Upstream = page_resource>
class buffer_pool;

}  // namespace ashlar::inline ASHLAR_ABI
