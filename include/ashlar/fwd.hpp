// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every public class template once, by declaration; default template arguments live here.
#pragma once

#include <cstddef>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>

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
class allocator;
template <class T, lock_policy Lock = null_lock>
class pool_allocator;
template <resource R>
class pmr_resource;
template <class T>
class slot_handle;
template <class T, resource Upstream = page_resource>
class slot_map;

}  // namespace ashlar::inline ASHLAR_ABI
