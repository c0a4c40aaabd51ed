// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The `ashlar` command: finds the verb and runs it. Each verb has its own file and registers itself.
#include <algorithm>
#include <csignal>
#include <exception>

#include <ashlar/base/config.hpp>

#include "cli/support/text.hpp"
#include "cli/support/verb.hpp"

namespace {

using ashlar::cli::verb;

std::vector<verb> all_verbs() {
  std::vector<verb> verbs;
  for (auto* v = ashlar::cli::verb_registration::first(); v != nullptr; v = v->next()) verbs.push_back(v->value());
  std::sort(verbs.begin(), verbs.end(), [](const verb& a, const verb& b) { return a.name < b.name; });
  return verbs;
}

/// Returns: `status`, or the status of a failure if something printed is lost, as on a full disk, which it reports.
int printed(const std::string& who, int status) {
  ashlar::cli::clear_progress();
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  ashlar::cli::print_error(who, std::string("standard output: ") + std::strerror(errno != 0 ? errno : EIO));
  return ashlar::cli::exit_failure;
}

int printed() { return printed("ashlar", ashlar::cli::exit_ok); }

int print_help(std::FILE* out) {
  std::fputs("usage: ashlar VERB [OPTION]... [ARGUMENT]...\n\n"
             "Records the allocations of a program, and names the allocator that serves it best.\n\n",
             out);
  for (const verb& v : all_verbs())
    if (!v.help.empty())
      std::fprintf(out, "  %-10.*s %.*s\n", static_cast<int>(v.name.size()), v.name.data(),
                   static_cast<int>(v.help.size()), v.help.data());
  std::fputs("\n'ashlar VERB --help' describes a verb; 'ashlar version' prints the version.\n", out);
  return out == stdout ? printed() : ashlar::cli::exit_usage;
}

int print_version() {
  std::printf("ashlar %d.%d.%d\n", ASHLAR_VERSION_MAJOR, ASHLAR_VERSION_MINOR, ASHLAR_VERSION_PATCH);
  return printed();
}

int unknown(const std::string& word) {
  std::vector<std::string> names = {"help", "version", "--help", "--version"};
  for (const verb& v : all_verbs()) names.emplace_back(v.name);
  const std::string meant = ashlar::cli::suggestion(word, names);
  ashlar::cli::print_error("ashlar",
                           "unknown verb '" + word + "'" + (meant.empty() ? "; 'ashlar --help' lists them" : meant));
  return ashlar::cli::exit_usage;
}

int run(const verb& v, int argc, char** argv) {
  std::string name = "ashlar " + std::string(v.name);
  argv[1] = name.data();
  try {
    return printed(name, v.run(argc - 1, argv + 1));
  } catch (const ashlar::cli::usage_error& error) {
    return ashlar::cli::complain(v.name, error.what(), ashlar::cli::exit_usage);
  } catch (const std::system_error& error) {
    // What printed only knows that it wrote to some file.
    const bool is_lost = std::ferror(stdout) != 0;
    return ashlar::cli::complain(v.name, is_lost ? "standard output: " + error.code().message() : error.what());
  } catch (const std::exception& error) {
    return ashlar::cli::complain(v.name, error.what());
  }
}

int start(const std::string& word, int argc, char** argv) {
  for (const verb& v : all_verbs())
    if (v.name == word) return run(v, argc, argv);
  return unknown(word);
}

int help_on(char** argv) {
  std::string option = "--help";
  char* of_verb[] = {argv[0], argv[2], option.data(), nullptr};
  return start(argv[2], 3, of_verb);
}

/// A write beyond the file-size limit must fail with EFBIG and be reported, not kill. Unlike an ignored signal, a
/// handler is not inherited by the programs that a verb starts; a signal that is ignored already stays so.
void report_file_size_limit() {
  struct sigaction before{};
  sigaction(SIGXFSZ, nullptr, &before);
  if (before.sa_handler == SIG_DFL) std::signal(SIGXFSZ, [](int) {});
}

}  // namespace

int main(int argc, char** argv) {
  report_file_size_limit();
  if (argc < 2) return print_help(stderr);
  const std::string word = argv[1];
  if (word == "help" && argc > 2) return help_on(argv);
  if (word == "--help" || word == "-h" || word == "help") return print_help(stdout);
  if (word == "--version" || word == "-V" || word == "version") return print_version();
  return start(word, argc, argv);
}
