// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// malloc and its family in front of libashlar's: calls of the plan's sites are served by their groups, all others go
// on to libashlar. What an unrouted call costs more than there, on x86-64: malloc and operator new six instructions
// (the low bits of the return address, a byte of the filter, two branches), free six (a difference, a comparison, two
// branches); of a wrapper in front of chains that do not go on to its caller, some thirty.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/os/system_calls.hpp>

#include "malloc/export.hpp"
#include "malloc/mallocx_flags.hpp"
#include "malloc/route/group.hpp"
#include "malloc/route/sites.hpp"
#include "malloc/route/threads.hpp"

struct ashlar_heap;

// The functions of libashlar behind those of this file: its objects with the names of their exports changed.
/// Declares the function that libashlar exports as `name`. drop_in.cmake has the same list of names.
#define ASHLAR_UNROUTED(result, name, ...) extern "C" ASHLAR_OF_THIS_LIBRARY result ashlar_unrouted_##name(__VA_ARGS__)

ASHLAR_UNROUTED(void*, malloc, std::size_t bytes) noexcept;
ASHLAR_UNROUTED(void*, calloc, std::size_t count, std::size_t each) noexcept;
ASHLAR_UNROUTED(void*, realloc, void* p, std::size_t bytes) noexcept;
ASHLAR_UNROUTED(void*, rallocx, void* p, std::size_t bytes, int flags) noexcept;
ASHLAR_UNROUTED(std::size_t, xallocx, void* p, std::size_t bytes, std::size_t extra, int flags) noexcept;
ASHLAR_UNROUTED(void*, _Znwm, std::size_t bytes);

namespace ashlar::route {

namespace {

// Each is called last by the function of the family, so that the caller of that one is its own.

/// Returns: a block of the group in which a chain ends at the node, or what `miss()` returns.
template <class Miss>
[[nodiscard]] ASHLAR_INLINE void* allocate_at(const site_node& node, std::size_t bytes,
                                              Miss miss) noexcept(noexcept(miss())) {
  if (ASHLAR_LIKELY(bytes - 1 < node.cell_bytes)) return allocate_by<take_cell>(node.group, node.cell_bytes, miss);
  return bytes - 1 < node.block_bytes ? allocate_by<take_block>(node.group, bytes, miss) : miss();
}

/// As `allocate_slow`; where that has no block: `Unrouted(bytes)`.
template <auto Unrouted>
[[nodiscard]] ASHLAR_NOINLINE void* allocate_slow_or(std::size_t number,
                                                     std::size_t bytes) noexcept(noexcept(Unrouted(bytes))) {
  void* const p = allocate_slow(number, bytes);
  return p != nullptr ? p : Unrouted(bytes);
}

/// Returns: a block of the group of the calling site, whose node is `first` as a rule; where there is none, or it does
/// not serve the request: `Unrouted(bytes)`.
template <auto Unrouted>
[[nodiscard]] ASHLAR_INLINE void* routed_or(std::size_t bytes, const site_node& first, const void* site,
                                            const void* const* frame) noexcept(noexcept(Unrouted(bytes))) {
  const auto address = reinterpret_cast<std::uintptr_t>(site);
  const bool is_first = first.key == address && frame[1] == site;
  const site_node* const node = ASHLAR_LIKELY(is_first)
                                    ? end_of_chain(*sites.load(detail::memory_order_acquire), first, frame)
                                    : site_of_call(address, frame);
  if (node == nullptr) return Unrouted(bytes);
  const auto miss = [number = node->group, bytes]() noexcept(noexcept(Unrouted(bytes))) {
    return allocate_slow_or<Unrouted>(number, bytes);
  };
  return allocate_at(*node, bytes, miss);
}

/// As above, with a look for the first node; null where there is no block.
[[nodiscard]] ASHLAR_INLINE void* routed(std::size_t bytes, const void* site, const void* const* frame) noexcept {
  constexpr auto none = [](std::size_t) noexcept -> void* { return nullptr; };
  return routed_or<none>(bytes, likely_site(reinterpret_cast<std::uintptr_t>(site)), site, frame);
}

#define ASHLAR_SITE() __builtin_return_address(0), static_cast<const void* const*>(__builtin_frame_address(0))

[[nodiscard]] ASHLAR_NOINLINE void* malloc_by_chain(std::size_t bytes, const site_node& first) noexcept {
  return routed_or<ashlar_unrouted_malloc>(bytes, first, ASHLAR_SITE());
}

[[nodiscard]] ASHLAR_NOINLINE void* new_by_chain(std::size_t bytes, const site_node& first) {
  return routed_or<ashlar_unrouted__Znwm>(bytes, first, ASHLAR_SITE());
}

/// As the functions above, which walk the stack, but for most calls of a wrapper that no chain goes on from. Expects:
/// the call is at `first`.
[[nodiscard]] ASHLAR_NOINLINE void* malloc_by_caller(std::size_t bytes, const site_node& first) noexcept {
  const auto* const frame = static_cast<const void* const*>(__builtin_frame_address(0));
  return ASHLAR_LIKELY(is_beside_chains(first, frame)) ? ashlar_unrouted_malloc(bytes) : malloc_by_chain(bytes, first);
}

[[nodiscard]] ASHLAR_NOINLINE void* new_by_caller(std::size_t bytes, const site_node& first) {
  const auto* const frame = static_cast<const void* const*>(__builtin_frame_address(0));
  return ASHLAR_LIKELY(is_beside_chains(first, frame)) ? ashlar_unrouted__Znwm(bytes) : new_by_chain(bytes, first);
}

/// Returns: a block by the return address alone, if its node lies in the first place of the table; else
/// `ByCaller(bytes, first)` where the node is the call's own, else `ByChain(bytes, first)`.
template <auto ByCaller, auto ByChain>
[[nodiscard]] ASHLAR_INLINE void*
allocate_at_site(std::size_t bytes,
                 const void* site) noexcept(noexcept(ByChain(bytes, std::declval<const site_node&>()))) {
  const auto address = reinterpret_cast<std::uintptr_t>(site);
  const site_node& first = likely_site(address);
  if (ASHLAR_UNLIKELY(first.key != address)) return ByChain(bytes, first);
  return allocate_at(first, bytes,
                     [bytes, &first]() noexcept(noexcept(ByChain(bytes, first))) { return ByCaller(bytes, first); });
}

[[nodiscard]] ASHLAR_NOINLINE void* malloc_at_site(std::size_t bytes) noexcept {
  return allocate_at_site<malloc_by_caller, malloc_by_chain>(bytes, ASHLAR_RETURN_ADDRESS());
}

[[nodiscard]] ASHLAR_NOINLINE void* new_at_site(std::size_t bytes) {
  return allocate_at_site<new_by_caller, new_by_chain>(bytes, ASHLAR_RETURN_ADDRESS());
}

[[nodiscard]] ASHLAR_NOINLINE void* calloc_at_site(std::size_t count, std::size_t each) noexcept {
  std::size_t bytes = 0;
  void* const p = ashlar::checked_mul(count, each, bytes) ? routed(bytes, ASHLAR_SITE()) : nullptr;
  return ASHLAR_LIKELY(p != nullptr) ? std::memset(p, 0, bytes) : ashlar_unrouted_calloc(count, each);
}

/// As `realloc` of a routed block: it stays where it is while it has room and at least half of it is used, else it
/// moves into the group of the calling site.
[[nodiscard]] ASHLAR_INLINE void* resize(void* p, std::size_t bytes, const void* site,
                                         const void* const* frame) noexcept {
  const std::size_t had = usable_size(p);
  if ((bytes <= had && bytes >= had / 2) || (bytes > had && try_expand(p, bytes))) return p;
  void* moved = routed(bytes, site, frame);
  if (moved == nullptr) moved = ashlar_unrouted_malloc(bytes);
  if (moved == nullptr) return bytes <= had ? p : nullptr;
  std::memcpy(moved, p, detail::min(had, bytes));
  deallocate(range.group_of(p), p);
  return moved;
}

[[nodiscard]] ASHLAR_NOINLINE void* resize_routed(void* p, std::size_t bytes) noexcept {
  if (bytes != 0) return resize(p, bytes, ASHLAR_SITE());
  deallocate(range.group_of(p), p);
  return nullptr;
}

/// As `resize_routed`, without a site and with an alignment.
[[nodiscard]] ASHLAR_NOINLINE void* resize_aligned(void* p, std::size_t bytes, std::size_t alignment) noexcept {
  if (!ashlar::is_power_of_two(alignment)) {
    errno = EINVAL;
    return nullptr;
  }
  const std::size_t had = usable_size(p);
  if (ashlar::is_aligned(p, alignment) && bytes <= had) return p;
  void* const moved = alignment <= granule ? ::malloc(bytes) : ::aligned_alloc(alignment, bytes);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, p, detail::min(had, bytes));
  deallocate(range.group_of(p), p);
  return moved;
}

}  // namespace

}  // namespace ashlar::route

namespace drop_in = ashlar::drop_in;
namespace route = ashlar::route;

extern "C" {

void ashlar_before_map(std::size_t bytes) noexcept { route::range.release_idle(bytes); }

ASHLAR_EXPORT void* malloc(std::size_t bytes) noexcept {
  if (route::may_be_site(ASHLAR_RETURN_ADDRESS())) return route::malloc_at_site(bytes);
  return ashlar_unrouted_malloc(bytes);
}

ashlar_heap* ashlar_heap_of_process();

/// @{ The functions that take a block, as rows: what they do with a routed one of the group `of`, else libashlar does.
#define ASHLAR_BY_BLOCK(result, name, parameters, arguments, routed, ...)              \
  ASHLAR_OF_THIS_LIBRARY result ashlar_unrouted_##name parameters __VA_ARGS__;         \
  ASHLAR_EXPORT result name parameters __VA_ARGS__ {                                   \
    if ([[maybe_unused]] route::group* const of = route::range.find(p)) return routed; \
    return ashlar_unrouted_##name arguments;                                           \
  }
ASHLAR_BY_BLOCK(void, free, (void* p), (p), route::deallocate(*of, p), noexcept)
ASHLAR_BY_BLOCK(void, sdallocx, (void* p, std::size_t bytes, int flags), (p, bytes, flags), route::deallocate(*of, p),
                noexcept)
ASHLAR_BY_BLOCK(void, ashlar_free_sized, (void* p, std::size_t bytes, std::size_t alignment), (p, bytes, alignment),
                route::deallocate(*of, p))
ASHLAR_BY_BLOCK(void, ashlar_heap_free, (ashlar_heap * heap, void* p), (heap, p), route::deallocate(*of, p))
ASHLAR_BY_BLOCK(std::size_t, malloc_usable_size, (void* p), (p), route::usable_size(p), noexcept)
ASHLAR_BY_BLOCK(std::size_t, ashlar_usable_size, (const void* p), (p), route::usable_size(p))
ASHLAR_BY_BLOCK(void*, ashlar_realloc, (void* p, std::size_t bytes), (p, bytes),
                route::resize_aligned(p, bytes, route::granule))
ASHLAR_BY_BLOCK(void*, ashlar_heap_realloc, (ashlar_heap * heap, void* p, std::size_t bytes), (heap, p, bytes),
                route::resize_aligned(p, bytes, route::granule))
ASHLAR_BY_BLOCK(void*, ashlar_heap_aligned_realloc,
                (ashlar_heap * heap, void* p, std::size_t bytes, std::size_t alignment), (heap, p, bytes, alignment),
                route::resize_aligned(p, bytes, alignment))
ASHLAR_BY_BLOCK(int, ashlar_try_expand, (void* p, std::size_t bytes), (p, bytes), route::try_expand(p, bytes) ? 1 : 0)
ASHLAR_BY_BLOCK(ashlar_heap*, ashlar_heap_of, (const void* p), (p), ashlar_heap_of_process())
/// @}

ASHLAR_EXPORT void* calloc(std::size_t count, std::size_t each) noexcept {
  if (each == 1) route::notice_loader(ASHLAR_RETURN_ADDRESS());  // as the loader asks for a module, not for its tables
  if (route::may_be_site(ASHLAR_RETURN_ADDRESS())) return route::calloc_at_site(count, each);
  return ashlar_unrouted_calloc(count, each);
}

/// A null pointer makes it a malloc; a block of the default heap stays there.
ASHLAR_EXPORT void* realloc(void* p, std::size_t bytes) noexcept {
  if (p == nullptr && route::may_be_site(ASHLAR_RETURN_ADDRESS())) return route::malloc_at_site(bytes);
  if (route::range.has(p)) return route::resize_routed(p, bytes);
  return ashlar_unrouted_realloc(p, bytes);
}

ASHLAR_EXPORT_AS("free") void cfree(void* p) noexcept;
ASHLAR_EXPORT_AS("free") void ashlar_free(void* p);
ASHLAR_EXPORT_AS("free") void __libc_free(void* p) noexcept;
ASHLAR_EXPORT_AS("malloc") void* ashlar_malloc(std::size_t bytes);
ASHLAR_EXPORT_AS("malloc") void* __libc_malloc(std::size_t bytes) noexcept;
ASHLAR_EXPORT_AS("calloc") void* __libc_calloc(std::size_t count, std::size_t each) noexcept;
ASHLAR_EXPORT_AS("realloc") void* __libc_realloc(void* p, std::size_t bytes) noexcept;
ASHLAR_EXPORT_AS("free") void __libc_cfree(void* p) noexcept;

ASHLAR_EXPORT void* rallocx(void* p, std::size_t bytes, int flags) noexcept {
  if (!route::range.has(p)) return ashlar_unrouted_rallocx(p, bytes, flags);
  const std::size_t had = route::usable_size(p);
  void* const moved = route::resize_aligned(p, bytes, drop_in::alignment_of(flags));
  if (moved != nullptr && drop_in::wants_zeros(flags) && bytes > had)
    std::memset(static_cast<std::byte*>(moved) + had, 0, ::malloc_usable_size(moved) - had);
  return moved;
}

/// A routed block of a chunk that is not the latest keeps its size.
ASHLAR_EXPORT std::size_t xallocx(void* p, std::size_t bytes, std::size_t extra, int flags) noexcept {
  if (!route::range.has(p)) return ashlar_unrouted_xallocx(p, bytes, extra, flags);
  const std::size_t had = route::usable_size(p);
  if (bytes > had) static_cast<void>(route::try_expand(p, bytes));
  const std::size_t has = route::usable_size(p);
  if (drop_in::wants_zeros(flags) && has > had) std::memset(static_cast<std::byte*>(p) + had, 0, has - had);
  return has;
}

}  // extern "C"

ASHLAR_EXPORT_REPLACED void* operator new(std::size_t bytes) {
  if (route::may_be_site(ASHLAR_RETURN_ADDRESS())) return route::new_at_site(bytes);
  return ashlar_unrouted__Znwm(bytes);
}

ASHLAR_EXPORT_REPLACED void* operator new[](std::size_t bytes) { return ::operator new(bytes); }

ASHLAR_EXPORT_REPLACED_AS("free") void operator delete(void* p) noexcept;
ASHLAR_EXPORT_REPLACED_AS("free") void operator delete(void* p, std::align_val_t) noexcept;
ASHLAR_EXPORT_REPLACED void operator delete[](void* p) noexcept { ::operator delete(p); }
