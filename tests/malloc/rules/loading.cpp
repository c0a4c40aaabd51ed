// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Libraries that are loaded and unloaded in threads, and allocate meanwhile.
#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>

#include "tests/malloc/rule.hpp"

namespace malloc_rules {
namespace {

/// The plugin, loaded once more.
class loaded {
public:
  explicit loaded(int flags = 0) : loaded{::dlopen(ASHLAR_PLUGIN, RTLD_NOW | RTLD_LOCAL | flags)} {}
  explicit loaded(void* handle) : handle_{handle} { expect(handle_ != nullptr, "dlopen failed"); }
  ~loaded() { expect(::dlclose(handle_) == 0, "dlclose failed"); }
  loaded(const loaded&) = delete;

  template <class Function>
  Function* find(const char* name) const {
    auto* const found = reinterpret_cast<Function*>(::dlsym(handle_, name));
    expect(found != nullptr, "dlsym failed");
    return found;
  }

private:
  void* handle_;
};

bool is_made(const void* p, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    if (static_cast<const char*>(p)[i] != 'm') return false;
  return true;
}

/// Expects: `open` gives the plugin, as the only one that holds it.
template <class Open>
void exchange_blocks(Open open) {
  void* p = nullptr;
  {
    const loaded plugin = open();
    p = plugin.find<void*(std::size_t)>("plugin_make")(5000);
    plugin.find<void(void*)>("plugin_take")(std::malloc(700));
  }
  expect(is_made(p, 5000), "a block of a library that is gone changed");
  std::free(p);
}

void use_once() {
  exchange_blocks([] { return loaded{}; });
}

RULE(loading, again_and_again) {
  for (int i = 0; i < 200; ++i) use_once();
}

RULE(loading, in_threads) {
  in_threads(6, [](unsigned) {
    for (int i = 0; i < 100; ++i) use_once();
  });
}

RULE(loading, whose_thread_local_objects_allocate) {
  for (int i = 0; i < 40; ++i)
    in_threads(4, [](unsigned) {
      const loaded plugin;
      expect(plugin.find<std::size_t()>("plugin_touch")() == 200, "a thread_local object of a library is wrong");
    });
}

RULE(loading, that_do_not_exist) {
  for (int i = 0; i < 100; ++i) {
    expect(::dlopen("/nonexistent/library.so", RTLD_NOW) == nullptr, "dlopen found no file");
    expect(::dlerror() != nullptr, "dlerror has no text");
  }
}

// A namespace of its own has a libc of its own, whose blocks never meet this one's.
RULE(loading, in_another_namespace) {
  for (int i = 0; i < 5; ++i) {
    const loaded plugin{::dlmopen(LM_ID_NEWLM, ASHLAR_PLUGIN, RTLD_NOW)};
    plugin.find<void(void*)>("plugin_take")(plugin.find<void*(std::size_t)>("plugin_make")(100));
  }
}

// Also by the name alone, which the loader looks for in DT_RUNPATH of the caller.
RULE(loading, from_folders_of_the_caller) {
  const loaded plugin;
  auto* const opens = plugin.find<bool(const char*)>("plugin_opens");
  expect(opens("libmalloc_neighbour.so"), "no library is found by DT_RUNPATH of the caller");
  expect(opens("$ORIGIN/neighbours/libmalloc_neighbour.so"), "no library is found by $ORIGIN of the caller");
}

// The library's free is the first in its own dependencies, as it is for a host without a malloc of its own.
RULE(deep_binding, exchanges_blocks) {
  exchange_blocks([] { return loaded{RTLD_DEEPBIND}; });
}

RULE(deep_binding, by_dlmopen_exchanges_blocks) {
  exchange_blocks([] { return loaded{::dlmopen(LM_ID_BASE, ASHLAR_PLUGIN, RTLD_NOW | RTLD_DEEPBIND)}; });
}

}  // namespace

}  // namespace malloc_rules
