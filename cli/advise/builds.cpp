// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares build ids.
#include "cli/advise/builds.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <span>

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <libelf.h>
#include <unistd.h>

namespace ashlar::cli {

namespace {

std::string build_id_in(int descriptor) {
  ::elf_version(EV_CURRENT);
  const std::unique_ptr<Elf, int (*)(Elf*)> elf(::elf_begin(descriptor, ELF_C_READ_MMAP, nullptr), &::elf_end);
  const void* bytes = nullptr;
  const ssize_t size = elf == nullptr ? 0 : ::dwelf_elf_gnu_build_id(elf.get(), &bytes);
  std::string text;
  for (const unsigned char byte :
       std::span(static_cast<const unsigned char*>(bytes), size > 0 ? static_cast<std::size_t>(size) : 0))
    text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace

std::string build_id_of_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return "";
  std::string id = build_id_in(descriptor);
  ::close(descriptor);
  return id;
}

std::vector<trace::mapped_module> without_other_builds(std::vector<trace::mapped_module> modules,
                                                       std::vector<std::string>& changed) {
  std::map<std::string, std::string> ids;  // by path
  for (trace::mapped_module& module : modules) {
    if (module.build_id.empty()) continue;
    const auto [at, is_new] = ids.try_emplace(module.path);
    if (is_new) at->second = build_id_of_file(module.path);
    if (at->second.empty() || at->second == module.build_id) continue;
    if (std::find(changed.begin(), changed.end(), module.path) == changed.end()) changed.push_back(module.path);
    module.path += " (another build)";
  }
  return modules;
}

}  // namespace ashlar::cli
