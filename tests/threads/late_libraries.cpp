// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Opens the given libraries late, uses them from old and new threads, and closes them; none may have more than a few
// bytes of static thread-local storage, or much of the dynamic kind.
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <link.h>

namespace {

using work_function = int (*)(char);

constexpr std::size_t most_static_bytes = 64;
constexpr std::size_t most_bytes = 1024;  // of 12 cell sizes, 3 heaps, a pool and a set; for each thread

void expect(bool condition, const char* what, const char* about = "") {
  if (condition) return;
  std::fprintf(stderr, "late_libraries: not so: %s %s\n", what, about);
  std::_Exit(1);
}

struct library {
  void* handle = nullptr;
  work_function work = nullptr;
};

[[nodiscard]] bool must_be_static(const link_map& loaded) {
  for (const auto* each = loaded.l_ld; each->d_tag != DT_NULL; ++each)
    if (each->d_tag == DT_FLAGS) return (each->d_un.d_val & DF_STATIC_TLS) != 0;
  return false;
}

struct thread_local_bytes {
  ElfW(Addr) address;
  std::size_t bytes;
};

[[nodiscard]] std::size_t thread_local_bytes_of(const link_map& loaded) {
  thread_local_bytes sought = {loaded.l_addr, 0};
  const auto look = [](dl_phdr_info* info, std::size_t, void* at) {
    auto& result = *static_cast<thread_local_bytes*>(at);
    if (info->dlpi_addr != result.address) return 0;
    for (std::size_t i = 0; i < info->dlpi_phnum; ++i)
      if (info->dlpi_phdr[i].p_type == PT_TLS) result.bytes = info->dlpi_phdr[i].p_memsz;
    return 1;
  };
  ::dl_iterate_phdr(look, &sought);
  return sought.bytes;
}

[[nodiscard]] library open(const char* path) {
  void* const handle = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  expect(handle != nullptr, "a library opens:", handle != nullptr ? "" : ::dlerror());
  link_map* loaded = nullptr;
  expect(::dlinfo(handle, RTLD_DI_LINKMAP, &loaded) == 0, "the loader knows the library");
  const std::size_t bytes = thread_local_bytes_of(*loaded);
  const auto* const users_own = static_cast<const std::size_t*>(::dlsym(handle, "ashlar_late_users_own_bytes"));
  expect(users_own != nullptr && bytes > *users_own, "the library has thread-local variables");
  expect(bytes - *users_own <= most_bytes, "what is large stands behind pointers:", path);
  expect(!must_be_static(*loaded) || bytes <= most_static_bytes, "the library may be loaded late:", path);
  const auto work = reinterpret_cast<work_function>(::dlsym(handle, "ashlar_late_work"));
  expect(work != nullptr, "the library has its function");
  return {handle, work};
}

void use_all(const std::vector<library>& libraries, char mark) {
  for (const library& each : libraries) expect(each.work(mark) == 1, "blocks are those of one thread alone");
}

void open_use_and_close(const std::vector<const char*>& paths) {
  std::vector<library> libraries;
  std::atomic<bool> are_open = false;
  std::vector<std::thread> threads;
  for (char mark = 1; mark <= 3; ++mark)  // threads older than the libraries
    threads.emplace_back([&, mark] {
      while (!are_open) std::this_thread::yield();
      use_all(libraries, mark);
    });
  for (const char* const each : paths) libraries.push_back(open(each));
  are_open = true;
  threads.emplace_back([&] { use_all(libraries, 4); });
  use_all(libraries, 5);
  for (std::thread& each : threads) each.join();
  for (const library& each : libraries) expect(::dlclose(each.handle) == 0, "a library closes");
}

}  // namespace

int main(int count, char** arguments) {
  expect(count > 1, "arguments: the libraries");
  const std::vector<const char*> paths(arguments + 1, arguments + count);
  for (int round = 0; round < 2; ++round) open_use_and_close(paths);
  std::printf("late_libraries: %zu are good\n", paths.size());
  return 0;
}
