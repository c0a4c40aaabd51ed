// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the notes of ELF files with libelf.
#include "cli/routes/build_id.hpp"

#include <cstring>
#include <filesystem>
#include <set>

#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

namespace ashlar::cli {

namespace {

std::string hexadecimal(const unsigned char* bytes, std::size_t n) {
  std::string text;
  for (std::size_t i = 0; i != n; ++i) {
    text += "0123456789abcdef"[bytes[i] >> 4];
    text += "0123456789abcdef"[bytes[i] & 15];
  }
  return text;
}

std::string build_id_in(Elf_Data& notes) {
  GElf_Nhdr note;
  std::size_t name = 0, contents = 0;
  for (std::size_t at = 0; (at = gelf_getnote(&notes, at, &note, &name, &contents)) != 0;) {
    const char* const begin = static_cast<const char*>(notes.d_buf);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(begin + name, "GNU", 4) == 0)
      return hexadecimal(reinterpret_cast<const unsigned char*>(begin + contents), note.n_descsz);
  }
  return {};
}

std::string build_id_in(Elf* file) {
  std::size_t n = 0;
  if (file == nullptr || elf_kind(file) != ELF_K_ELF || elf_getphdrnum(file, &n) != 0) return {};
  for (std::size_t i = 0; i != n; ++i) {
    GElf_Phdr part;
    if (gelf_getphdr(file, static_cast<int>(i), &part) == nullptr || part.p_type != PT_NOTE) continue;
    const Elf_Type type = part.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR;
    Elf_Data* const notes = elf_getdata_rawchunk(file, static_cast<std::int64_t>(part.p_offset), part.p_filesz, type);
    if (notes == nullptr) continue;
    if (const std::string id = build_id_in(*notes); !id.empty()) return id;
  }
  return {};
}

std::string obstacle_in(const std::string& id, const std::string& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return file + ", which the plan is for, is not there";
  const std::string now = build_id_of(file);
  if (now == id) return {};
  return "the plan is for another build of " + file + ": for build id " + id + ", and that file has " +
         (now.empty() ? "none" : now) + "; record it and plan again";
}

}  // namespace

std::string build_id_of(const std::string& path) {
  elf_version(EV_CURRENT);
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {};
  Elf* const file = elf_begin(descriptor, ELF_C_READ, nullptr);
  std::string id = build_id_in(file);
  elf_end(file);
  close(descriptor);
  return id;
}

std::string obstacle_to(const route_plan& plan, const std::string& program) {
  if (plan.groups.empty()) return {};
  const std::string own = build_id_of(program);
  if (own.empty()) return program + " has no build id, by which plans name their sites: link it with --build-id";
  if (!plan.modules.contains(own))
    return "the plan is for another program than " + program + " with build id " + own + ": for " + plan.program;
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
