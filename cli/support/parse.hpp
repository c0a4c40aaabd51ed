// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parses a verb's command line with CLI11 and maps its outcome to the exit codes of this command.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>

#include "cli/support/text.hpp"
#include "cli/support/verb.hpp"

namespace ashlar::cli {

/// Help of one form, which the manual and the completions are made from: an option, the name of its value, its default.
/// Allowed values are described in words. The description of a verb begins with its usage.
class plain_help : public CLI::Formatter {
public:
  plain_help() { column_width(32); }
  std::string make_usage(const CLI::App* /*app*/, std::string /*name*/) const override { return {}; }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_positional() || option->get_type_size() == 0) return {};
    const std::string type = option->get_type_name();
    const std::string value = option->get_default_str();
    return " " + type.substr(0, type.find(':')) + (value.empty() ? "" : " (" + value + ")");
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return wrapped(CLI::Formatter::make_option_desc(option), page_width - get_column_width());
  }
};

/// Adds an option. `form`: its names and the name of its value, as in "-o,--output FILE".
template <class Value>
CLI::Option* add_value(CLI::App& app, const std::string& form, Value& value, const std::string& help) {
  const std::size_t blank = form.find(' ');
  return app.add_option(form.substr(0, blank), value, help)->type_name(form.substr(blank + 1));
}

/// A check of CLI11, of what `budget_seconds` reads.
inline std::string check_budget(const std::string& text) {
  return budget_seconds(text) >= 0 ? "" : "'" + text + "' is no time from 0 to 1e6 s, such as 20s or 2m";
}

/// Effects: reports a mistake, with where to read on. Returns: the exit status.
inline int complain_of_use(const CLI::App& app, const std::string& mistake) {
  print_error(app.get_name(), mistake + "; see " + app.get_name() + " --help");
  return exit_usage;
}

/// Effects: reports that the verb does not take `word`, with the option that may have been meant.
inline int complain_of_extra(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  const bool is_option = word.starts_with('-');
  const std::string meant = is_option ? suggestion(word.substr(0, word.find('=')), names) : std::string();
  return complain_of_use(app, (is_option ? "unknown option " : "unexpected argument ") + word + meant);
}

/// Returns: whether the word given for a file is empty, as of a variable of the shell that is not set.
inline bool lacks_file(const CLI::Option& option) {
  constexpr std::array<std::string_view, 4> of_files = {"FILE", "PLAN", "TRACE", "LIB"};
  return std::ranges::find(of_files, option.get_type_name()) != of_files.end() &&
         std::ranges::find(option.results(), "") != option.results().end();
}

/// Effects: fills the variables bound to the options of `app`; prints help, or one line about an error. Returns:
/// nothing if the verb may continue, else the exit status.
inline std::optional<int> parse(CLI::App& app, int argc, const char* const* argv) {
  app.formatter(std::make_shared<plain_help>());
  app.add_option("--color", "auto: on a terminal, unless NO_COLOR is set; always; never")
      ->type_name("WHEN")
      ->default_str("auto")
      ->check([](const std::string& wish) {
        return choose_colors(wish) ? std::string() : "'" + wish + "' is not auto, always or never";
      });
  try {
    app.parse(argc, argv);
    for (const CLI::Option* const option : app.get_options())
      if (lacks_file(*option)) throw CLI::ValidationError(option->get_name(), "the name of the file is empty");
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    print_text(app.help());
    return exit_ok;
  } catch (const CLI::ExtrasError&) {
    const std::string word = app.remaining().empty() ? std::string() : app.remaining().front();
    return complain_of_extra(app, word);
  } catch (const CLI::ParseError& error) {
    return complain_of_use(app, error.what());
  }
}

/// The same for a verb that starts a program. Everything after "--" belongs to the program, or from the first word on
/// that is not an option. Effects: fills `program`, with its arguments.
inline std::optional<int> parse_with_program(CLI::App& app, int argc, char** argv, std::vector<std::string>& program) {
  app.prefix_command();
  char** const end = argv + argc;
  char** const dashes = std::find(argv, end, std::string_view("--"));
  if (const auto status = parse(app, static_cast<int>(dashes - argv), argv)) return *status;
  program = app.remaining();
  if (!program.empty() && program.front().starts_with('-')) return complain_of_extra(app, program.front());
  if (dashes != end) program.insert(program.end(), program.empty() ? dashes + 1 : dashes, end);
  if (!program.empty()) return std::nullopt;
  return complain_of_use(app, "no program given");
}

}  // namespace ashlar::cli
