// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Puts inputs into commands.
#include "cli/rounds/player.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "cli/routes/handover.hpp"
#include "cli/support/companion.hpp"
#include "cli/support/inspect_program.hpp"
#include "cli/support/words.hpp"

namespace ashlar::cli {

namespace {

namespace fs = std::filesystem;

bool is_for_shell(const std::vector<std::string>& command) {
  return command.size() == 3 && command[0] == "/bin/sh" && command[1] == "-c";
}

std::string replaced(std::string word, const std::string& path) {
  for (std::size_t at = 0; (at = word.find(input_mark, at)) != std::string::npos; at += path.size())
    word.replace(at, std::strlen(input_mark), path);
  return word;
}

std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  if (files.empty()) throw std::runtime_error(folder.string() + ": no file in it");
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

program_side under_library(const candidate& malloc, const std::vector<std::string>& command) {
  const std::string before =
      malloc.command.empty() ? "LD_PRELOAD=" + shell_word(malloc.library) : malloc.command + " --";
  return {.command = command, .library = malloc.library, .shown = before + " " + shell_line(command)};
}

program_side checked_under_library(const candidate& malloc, const std::vector<std::string>& command, const char* use) {
  const bool is_ours = !run_command_of(malloc.library).empty();
  const std::string obstacle =
      describe(inspect_program(command.front()), {.name = malloc.name.c_str(), .use = use, .needs_glibc = !is_ours});
  if (!obstacle.empty()) throw std::runtime_error(obstacle);
  return under_library(malloc, command);
}

program_side under_routes(const route_plan& routes, const std::string& file, const std::vector<std::string>& command) {
  return {.command = command,
          .library = require_companion(route_library),
          .variables = {{route_variable, handover_text(routes, false)}},
          .shown = "ashlar run --plan " + shell_word(file) + " -- " + shell_line(command)};
}

bool takes_path(const program_side& side) {
  return std::any_of(side.command.begin(), side.command.end(),
                     [](const std::string& word) { return word.find(input_mark) != std::string::npos; });
}

std::vector<std::string> command_on(const program_side& side, const std::string& path) {
  if (path.empty()) return side.command;
  std::vector<std::string> words;
  const std::string written = is_for_shell(side.command) ? quoted(path) : path;
  for (const std::string& word : side.command) words.push_back(replaced(word, written));
  return words;
}

std::vector<std::string> input_files(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
      const std::vector<std::string> more = files_in(path);
      files.insert(files.end(), more.begin(), more.end());
    } else if (fs::exists(path, ignored)) {
      files.push_back(path);
    } else {
      throw std::runtime_error(path + ": no such file");
    }
  }
  return files;
}

}  // namespace ashlar::cli
