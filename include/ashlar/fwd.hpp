// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forward declarations of every public class, with the default template arguments.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>

namespace ashlar::ASHLAR_ABI {

namespace detail {
struct system_calls;
struct reserved_huge_pages;
struct numa_calls;
struct no_steps;
}  // namespace detail

namespace os {
using system_calls = detail::system_calls;
template <class Calls>
class basic_pages;
using pages = basic_pages<system_calls>;
using reserved_huge_pages = detail::reserved_huge_pages;
template <class Pages = pages, class Reserved = reserved_huge_pages>
struct huge_page_calls;
using huge_pages = basic_pages<huge_page_calls<>>;
using numa_calls = detail::numa_calls;
class process_lock;
}  // namespace os

namespace interprocess {
template <class T>
class offset_ptr;
/// `Steps::step()` is called between stores, for tests that end the process there.
template <class Lock = os::process_lock, class Steps = detail::no_steps>
class basic_shared_memory;
using shared_memory = basic_shared_memory<>;
template <class T, class Memory = shared_memory>
class allocator;
}  // namespace interprocess

namespace trace {
struct raw_codec;
class file_sink;
}  // namespace trace

namespace plan {
struct buffer;
struct problem;
struct options;
struct layout;
}  // namespace plan

namespace fresh {
struct plain;
struct populated;
struct huge;
class by_wish;
template <class Fresh = plain>
struct resident;
template <class Fresh = plain>
struct locked;
}  // namespace fresh

template <class Fresh = fresh::populated, class Pages = os::pages>
class basic_page_resource;
using page_resource = basic_page_resource<>;
/// Blocks are whole pages of 2 MiB: those that the machine has set aside, or else transparent ones. Of its own pages
/// only the system's shortage makes a request fail.
using huge_page_resource = basic_page_resource<fresh::plain, os::huge_pages>;

struct numa_node;
template <class Upstream = page_resource, class Calls = os::numa_calls>
class basic_numa_resource;
using numa_resource = basic_numa_resource<>;

class new_delete_resource;

template <class Pages = os::pages>
class basic_page_store;
using page_store = basic_page_store<>;

/// The upstream of a resource that names none. On the bare machine there is none: there `page_store` is incomplete, and
/// a resource names its upstream.
using default_upstream = std::conditional_t<has_pages || !is_hosted, page_store, new_delete_resource>;
/// The same for a heap, which keeps free memory itself. Fresh memory of `page_resource` is zero: a heap clears none.
using default_heap_upstream = std::conditional_t<has_pages || !is_hosted, page_resource, new_delete_resource>;

class null_resource;
class buffer_resource;
template <std::size_t Bytes>
class inline_buffer;
template <resource Upstream = default_upstream>
class stack_resource;
class two_ended_stack;

struct block_pool_options;
template <resource Upstream = default_upstream>
class block_pool;
template <thread_safe_resource Upstream = default_upstream>
class shared_block_pool;
template <std::size_t CellBytes, std::size_t CellAlignment = natural_alignment(CellBytes),
          resource Upstream = default_upstream, std::size_t SlabBytes = 0>
class fixed_block_pool;

template <unsigned UnitBits, unsigned MostBits, unsigned StepBits = 5>
struct tlsf_scale;
/// Block sizes up to 1 TiB, or 2 GiB on 32 bits; the index takes 8 KiB.
using tlsf_wide = tlsf_scale<sizeof(void*) == 8 ? 4 : 3, sizeof(void*) == 8 ? 40 : 31>;
/// Block sizes up to 1 MiB for small buffers; the index takes 1.8 KiB.
using tlsf_small = tlsf_scale<sizeof(void*) == 8 ? 4 : 3, 20, 4>;
template <resource Upstream = default_upstream, class Scale = tlsf_wide>
class tlsf_resource;
template <std::unsigned_integral Offset = std::uint32_t, resource Upstream = new_delete_resource>
class tlsf_offsets;

struct arena_options;
template <resource Upstream = default_upstream>
class arena;
template <std::size_t Bytes, resource Upstream = default_upstream>
class inline_arena;
template <resource Upstream = default_upstream>
class frame_arena;
class scratch_arena;
struct offset_arena_options;
template <std::size_t UnitBytes = 4, resource Upstream = default_upstream>
class offset_arena;

struct pool_set_options;
template <resource Upstream = default_upstream>
class pool_set;
template <thread_safe_resource Upstream = default_upstream>
class shared_pool_set;

struct heap_options;
template <resource Upstream = default_heap_upstream>
class local_heap;
template <resource Upstream = default_heap_upstream>
class owner_heap;
template <resource Upstream = default_heap_upstream>
class remote_freer;
template <thread_safe_resource Upstream = default_heap_upstream>
class heap;
class process_heap_type;
template <const auto& Layout, const auto&... Buffers>
struct static_plan;
template <class Plan, thread_safe_resource Upstream = default_heap_upstream>
class tiered_heap;
template <resource Upstream = basic_page_resource<fresh::resident<>>, class Scale = tlsf_wide>
class bounded_heap;

template <class Layout>
class static_arena;
template <class Table, resource Heap = new_delete_resource>
class static_arena_guard;

template <resource R>
class forwarding;
template <resource R>
class statistics;
template <resource R, basic_lockable Lock = spin_lock>
class synchronized;
template <resource R>
class guarding;
namespace site {
struct none;
class return_address;
template <std::size_t Frames = 8>
class backtrace;
template <class Site = none>
class labelled;
}  // namespace site

template <resource R, class Site = site::return_address, resource Book = new_delete_resource,
          basic_lockable Lock = null_lock>
class tracking;
template <policy::threads Threads>
class basic_budget;
using budget = basic_budget<one_thread>;
using shared_budget = basic_budget<any_thread<>>;
template <resource R, class Budget = budget>
class limiting;
struct error_log;
template <resource R, class Sink = error_log>
class logging;
template <class Codec = trace::raw_codec, class Sink = trace::file_sink, basic_lockable Lock = null_lock>
class trace_log;
template <resource R, class Log = trace_log<>, class Site = site::none>
class tracing;
template <resource R>
class profiling;
template <owning_resource First, resource Second>
class fallback;
struct threshold;
template <std::size_t Bytes, std::size_t Alignment = max_size>
struct fixed_threshold;
template <resource Small, resource Large, class Rule = threshold>
class segregator;
template <class R>
struct constructed;
template <owning_resource R, resource Upstream = new_delete_resource, class Maker = constructed<R>>
class chain;
template <resource R>
class fallback_monitor;

template <class T, resource R>
class resource_delete;
template <class Base, resource R>
class base_delete;
template <class T, resource R>
class allocator;
struct pool_allocator_traits;
template <class T, policy::pool_traits Traits = thread_cached>
class pool_allocator;
template <class T, process_wide_resource R>
class stateless_allocator;
template <resource R>
class pmr_resource;
template <class T>
class slot_handle;
template <class T, resource Upstream = default_upstream>
class slot_map;

namespace count {
struct by_padding;
}  // namespace count

struct construct_on_acquire;
struct throw_when_exhausted;
/// Capacity of an object_pool given as an argument of the constructor.
inline constexpr std::size_t dynamic_capacity = 0;
/// Capacity of an object_pool that grows, the default.
inline constexpr std::size_t growing = max_size;
struct object_pool_traits;
template <std::size_t Capacity, class Traits = object_pool_traits>
struct with_capacity;
template <class T, class Traits = object_pool_traits>
class object_pool;
template <class T, policy::threads Threads = one_thread, class Placement = count::by_padding>
class ref_ptr;
template <class T, policy::threads Threads = one_thread, class Placement = count::by_padding,
          resource Upstream = default_upstream>
class ref_pool;
struct intrusive_pool_traits;
template <class T, class Traits = intrusive_pool_traits>
class intrusive_pool;
template <std::size_t Bytes, policy::threads Threads = one_thread, class Exhausted = throw_when_exhausted,
          resource Upstream = default_upstream>
class buffer_pool;

}  // namespace ashlar::ASHLAR_ABI
