// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// fork, exec with the preload library in the environment, wait.
#include "cli/record/child.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/preload/settings.hpp"
#include "cli/support/companion.hpp"

namespace ashlar::cli {

namespace {

volatile std::sig_atomic_t running_child = 0;

void pass_on(int signal) {
  if (running_child != 0) kill(static_cast<pid_t>(running_child), signal);
}

/// Ctrl-C goes to the whole process group: the program decides what it means, the recorder waits. Other requests to end
/// come to the recorder alone, which passes them on. SIGCHLD must not be ignored, or the exit status of the child is
/// lost. The program starts with the signals as the recorder found them.
class signals_for_child {
public:
  signals_for_child() {
    for (int i = 0; i < count; ++i) {
      struct sigaction action{};
      action.sa_handler = handlers[i];
      sigaction(signals[i], &action, &before_[i]);
    }
  }
  ~signals_for_child() { restore(); }
  signals_for_child(const signals_for_child&) = delete;
  signals_for_child& operator=(const signals_for_child&) = delete;

  void restore() const noexcept {
    for (int i = 0; i < count; ++i) sigaction(signals[i], &before_[i], nullptr);
  }

private:
  static constexpr int count = 5;
  static constexpr int signals[count] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD};
  static inline const sighandler_t handlers[count] = {SIG_IGN, SIG_IGN, pass_on, pass_on, SIG_DFL};
  struct sigaction before_[count];
};

void set_environment(const record_options& options) {
  setenv("LD_PRELOAD", preload_list(options.library, std::getenv("LD_PRELOAD")).c_str(), 1);
  setenv(recorder::file_variable, options.output.c_str(), 1);
  setenv(recorder::status_variable, options.status.c_str(), 1);
  setenv(recorder::stacks_variable, std::to_string(options.stack_depth).c_str(), 1);
  setenv(recorder::first_variable, std::to_string(getpid()).c_str(), 1);
}

/// Does not return. The errno of an exec that fails goes down the pipe, which an exec that succeeds closes.
[[noreturn]] void become(const record_options& options, int report) {
  std::vector<char*> arguments;
  for (const std::string& argument : options.program) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  set_environment(options);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  if (write(report, &error, sizeof error) != sizeof error) _exit(126);
  _exit(127);
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

child_result run_recorded(const record_options& options) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return {.error = errno};
  const signals_for_child signals;
  const pid_t child = fork();
  if (child < 0) return {.error = errno};
  if (child == 0) {
    signals.restore();
    become(options, pipe_ends[1]);
  }
  running_child = child;
  close(pipe_ends[1]);
  child_result result{.process = child};
  ssize_t n = 0;
  while ((n = read(pipe_ends[0], &result.error, sizeof result.error)) < 0 && errno == EINTR) {
  }
  close(pipe_ends[0]);
  result.status = wait_for(child);
  running_child = 0;
  return result;
}

}  // namespace ashlar::cli
