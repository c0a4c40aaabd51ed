// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A module that a victim loads late, with a site of its own.
#include "cli/tests/routes/site.hpp"

ROUTE_SITE(plugin_malloc, malloc @PLT, 8);

extern "C" __attribute__((visibility("default"))) void* plugin_make(std::size_t bytes) { return plugin_malloc(bytes); }
extern "C" __attribute__((visibility("default"))) const void* plugin_place() { return plugin_malloc_site; }
