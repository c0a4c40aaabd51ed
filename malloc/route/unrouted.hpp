// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of libashlar behind the functions of this library: its objects with the names of their exports changed.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>

struct ashlar_heap;

/// Declares the function that libashlar exports as `name`. drop_in.cmake has the same list of names.
#define ASHLAR_UNROUTED(result, name, ...) extern "C" ASHLAR_OF_THIS_LIBRARY result ashlar_unrouted_##name(__VA_ARGS__)

ASHLAR_UNROUTED(void*, malloc, std::size_t bytes) noexcept;
ASHLAR_UNROUTED(void, free, void* p) noexcept;
ASHLAR_UNROUTED(void*, calloc, std::size_t count, std::size_t each) noexcept;
ASHLAR_UNROUTED(void*, realloc, void* p, std::size_t bytes) noexcept;
ASHLAR_UNROUTED(void*, reallocarray, void* p, std::size_t count, std::size_t each) noexcept;
ASHLAR_UNROUTED(void, free_sized, void* p, std::size_t bytes) noexcept;
ASHLAR_UNROUTED(void, free_aligned_sized, void* p, std::size_t alignment, std::size_t bytes) noexcept;
ASHLAR_UNROUTED(std::size_t, malloc_usable_size, void* p) noexcept;
ASHLAR_UNROUTED(void*, rallocx, void* p, std::size_t bytes, int flags) noexcept;
ASHLAR_UNROUTED(std::size_t, xallocx, void* p, std::size_t bytes, std::size_t extra, int flags) noexcept;
ASHLAR_UNROUTED(void, sdallocx, void* p, std::size_t bytes, int flags) noexcept;
ASHLAR_UNROUTED(void*, _Znwm, std::size_t bytes);
ASHLAR_UNROUTED(void*, ashlar_realloc, void* p, std::size_t bytes) noexcept;
ASHLAR_UNROUTED(void, ashlar_free_sized, void* p, std::size_t bytes, std::size_t alignment) noexcept;
ASHLAR_UNROUTED(std::size_t, ashlar_usable_size, const void* p) noexcept;
ASHLAR_UNROUTED(int, ashlar_try_expand, void* p, std::size_t bytes) noexcept;
ASHLAR_UNROUTED(void, ashlar_heap_free, ashlar_heap* heap, void* p) noexcept;
ASHLAR_UNROUTED(void*, ashlar_heap_realloc, ashlar_heap* heap, void* p, std::size_t bytes) noexcept;
ASHLAR_UNROUTED(ashlar_heap*, ashlar_heap_of, const void* p) noexcept;
