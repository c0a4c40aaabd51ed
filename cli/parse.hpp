// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parses a verb's command line with CLI11 and gives its outcome the exit codes of this command.
#pragma once

#include <optional>

#include <CLI/CLI.hpp>

#include "verb.hpp"

namespace ashlar::cli {

/// Effects: fills what `app`'s options are bound to; prints help, or one line on what is wrong.
/// Returns: nothing if the verb may go on, else the exit status.
inline std::optional<int> parse(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "%s: %s; see %s --help\n", app.get_name().c_str(), error.what(), app.get_name().c_str());
    return exit_usage;
  }
}

}  // namespace ashlar::cli
