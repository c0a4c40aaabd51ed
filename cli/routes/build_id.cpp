// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the build ids of ELF files with libdw.
#include "cli/routes/build_id.hpp"

#include <filesystem>
#include <memory>
#include <set>
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

bool is_there(const std::string& file) {
  std::error_code error;
  return std::filesystem::exists(file, error);
}

std::string gone(const std::string& file) { return file + ", which the plan is for, is not there"; }

std::string obstacle_in(const std::string& id, const std::string& file) {
  if (!is_there(file)) return gone(file);
  const std::string now = build_id_of(file);
  if (now == id) return {};
  return "the plan is for another build of " + file + ": for build id " + id + ", and that file has " +
         (now.empty() ? "none" : now) + "; record it and plan again";
}

}  // namespace

std::string build_id_of(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return "";
  std::string id = build_id_in(descriptor);
  ::close(descriptor);
  return id;
}

std::string bind_plan(route_plan& plan, const std::string& program) {
  if (plan.groups.empty()) return {};
  if (!is_there(program)) return gone(program);
  const std::string own = build_id_of(program);
  if (own.empty()) return program + " has no build id, by which plans name their sites: link it with --build-id";
  if (!plan.modules.contains(own))
    return "the plan is for another program than " + program + " with build id " + own + ": for " + plan.program;
  plan.modules[own] = std::filesystem::absolute(program).lexically_normal().string();
  std::set<std::string> used;
  for (const route_group& group : plan.groups)
    for (const route_site& site : group.sites)
      for (const route_frame& frame : site.chain) used.insert(frame.build_id);
  for (const std::string& id : used) {
    if (id == own) continue;
    if (const std::string found = obstacle_in(id, plan.modules.at(id)); !found.empty()) return found;
  }
  return {};
}

}  // namespace ashlar::cli
