// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// fork, exec, wait4. A fork, not a vfork: the kernel counts the memory that the child shares until exec into its peak,
// which after a vfork is all resident memory of this process.
#include "cli/rounds/program.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/rounds/effect.hpp"
#include "cli/support/companion.hpp"

namespace ashlar::cli {

namespace {

using clock = std::chrono::steady_clock;

constexpr int exit_not_started = 127;

[[noreturn]] void fail(const std::string& what, int error) {
  throw std::runtime_error(what + ": " + std::strerror(error));
}

void empty(const temporary_file& file) {
  if (::ftruncate(file.descriptor(), 0) != 0 || ::lseek(file.descriptor(), 0, SEEK_SET) != 0)
    fail("cannot empty a temporary file", errno);
}

/// Effects: calls `f` with each piece of the file in turn.
template <class F>
void read_all(const temporary_file& file, F f) {
  std::array<char, 65536> piece;
  off_t at = 0;
  for (ssize_t n = 0; (n = ::pread(file.descriptor(), piece.data(), piece.size(), at)) > 0; at += n)
    f(std::string_view(piece.data(), static_cast<std::size_t>(n)));
}

/// FNV-1a: enough to distinguish outputs, which are not forged.
void sum_output(const temporary_file& file, program_run& run) {
  run.output_sum = 0xcbf29ce484222325;
  read_all(file, [&run](std::string_view piece) {
    run.output_bytes += piece.size();
    for (const char c : piece) run.output_sum = (run.output_sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  });
}

double to_ms(const timeval& t) { return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) / 1e3; }

/// The resident bytes of a process over time.
class resident_samples {
public:
  explicit resident_samples(pid_t process) : file_(fmt::format("/proc/{}/statm", process)) {}

  void take() {
    std::ifstream statm(file_);
    double mapped = 0, resident = 0;
    if (statm >> mapped >> resident && resident > 0) pages_.push_back(resident);
  }

  /// Returns: the median after the largest one; 0 if there are fewer than four.
  [[nodiscard]] double after_peak() const {
    const std::vector<double> after(std::max_element(pages_.rbegin(), pages_.rend()).base(), pages_.end());
    return after.size() < 4 ? 0 : median_of(after) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  }

private:
  std::string file_;
  std::vector<double> pages_;
};

/// Effects: takes a sample each hundredth of a second until the child, which is not reaped, ends. Returns: whether it
/// has ended before `end`.
bool ends_before(pid_t child, clock::time_point end, resident_samples& samples) {
  const auto handle = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  if (handle < 0 && end == clock::time_point::max()) return true;
  if (handle < 0) fail("cannot watch the time of the program", errno);
  constexpr std::chrono::milliseconds between{10};
  int ended = 0;
  do {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(std::min<clock::duration>(end - clock::now(), between));
    pollfd watched{handle, POLLIN, 0};
    ended = ::poll(&watched, 1, static_cast<int>(std::max<long long>(left.count(), 0)));
    if (ended <= 0) samples.take();
  } while (ended <= 0 && clock::now() < end);
  ::close(handle);
  return ended > 0;
}

/// Returns: whether it was killed.
bool kill_after(pid_t child, clock::time_point start, double most_seconds, resident_samples& samples) {
  const auto most = std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(most_seconds));
  const auto end = most_seconds > 0 ? start + most : clock::time_point::max();
  return !ends_before(child, end, samples) && ::kill(child, SIGKILL) == 0;
}

program_run wait_for(pid_t child, clock::time_point start) {
  int status = 0;
  rusage usage{};
  while (::wait4(child, &status, 0, &usage) < 0)
    if (errno != EINTR) fail("cannot wait for the program", errno);
  program_run run;
  run.wall_ms = std::chrono::duration<double, std::milli>(clock::now() - start).count();
  run.cpu_ms = to_ms(usage.ru_utime) + to_ms(usage.ru_stime);
  run.system_ms = to_ms(usage.ru_stime);
  run.faults = static_cast<double>(usage.ru_minflt);
  run.peak_bytes = 1024.0 * static_cast<double>(usage.ru_maxrss);
  run.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return run;
}

bool is_reaper() {
  int reaps = 0;
  return ::prctl(PR_GET_CHILD_SUBREAPER, &reaps) == 0 && reaps != 0;
}

/// Effects: kills and reaps all children, and theirs, which become children then. Returns: their number.
std::size_t end_children() {
  for (std::size_t ended = 0;;) {
    const pid_t child = ::waitpid(-1, nullptr, WNOHANG);
    if (child < 0) return ended;
    if (child > 0) {
      ++ended;
      continue;
    }
    std::ifstream list(fmt::format("/proc/self/task/{}/children", ::getpid()));
    pid_t alive = 0;
    if (!(list >> alive)) return ended;  // a kernel without the list
    do ::kill(alive, SIGKILL);
    while (list >> alive);
    if (::waitpid(-1, nullptr, 0) > 0) ++ended;
  }
}

void preload(const std::string& library) {
  if (library.empty()) return;
  ::setenv("LD_PRELOAD", preload_list(library, std::getenv("LD_PRELOAD")).c_str(), 1);
}

/// A pipe with both ends closed in every case.
class report_pipe {
public:
  report_pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) fail("cannot make a pipe", errno);
  }
  report_pipe(const report_pipe&) = delete;
  report_pipe& operator=(const report_pipe&) = delete;
  ~report_pipe() {
    ::close(ends_[0]);
    close_writing();
  }

  [[nodiscard]] int writing() const noexcept { return ends_[1]; }
  void close_writing() noexcept {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }
  /// Returns: the errno that was written, or 0 if the pipe was closed. A signal does not end the wait.
  [[nodiscard]] int read_error() const {
    int error = 0;
    ssize_t n = 0;
    do n = ::read(ends_[0], &error, sizeof error);
    while (n < 0 && errno == EINTR);
    return n == sizeof error ? error : 0;
  }

private:
  std::array<int, 2> ends_{-1, -1};
};

}  // namespace

std::string last_line(const temporary_file& file) {
  std::string text;
  read_all(file, [&text](std::string_view piece) {
    text += piece;
    if (text.size() > 4096) text.erase(0, text.size() - 4096);
  });
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.find_last_of('\n') + 1);
}

std::string ending_of(const program_run& run) {
  const std::string words = run.last_words.empty() ? "" : ": " + run.last_words;
  if (run.status > 128) return fmt::format("died of signal {}{}", run.status - 128, words);
  return fmt::format("ended with status {}{}", run.status, words);
}

void program_runner::become(const run_setting& setting, int report, pid_t parent) const {
  // A command that is ended leaves no program behind.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(exit_not_started);
  const int input = ::open(input_.c_str(), O_RDONLY);
  if (input >= 0) {
    ::dup2(input, STDIN_FILENO);
    ::dup2(output_.descriptor(), STDOUT_FILENO);
    ::dup2(errors_.descriptor(), STDERR_FILENO);
    for (auto library = setting.libraries.rbegin(); library != setting.libraries.rend(); ++library) preload(*library);
    for (const auto& [name, value] : setting.variables) ::setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> arguments;
    for (const std::string& word : command_) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
  }
  const int error = errno;
  ::_exit(::write(report, &error, sizeof error) == sizeof error ? exit_not_started : 126);
}

program_run program_runner::run(const run_setting& setting) {
  empty(output_);
  empty(errors_);
  report_pipe report;
  const auto start = clock::now();
  const pid_t parent = ::getpid(), child = ::fork();
  if (child < 0) fail("cannot start a process", errno);
  if (child == 0) become(setting, report.writing(), parent);
  report.close_writing();
  const int error = report.read_error();  // a successful exec closes the pipe
  resident_samples samples(child);
  const bool killed = kill_after(child, start, setting.most_seconds, samples);
  program_run result = wait_for(child, start);
  result.killed = killed;
  result.after_bytes = std::min(samples.after_peak(), result.peak_bytes);
  if (result.after_bytes == 0) result.after_bytes = result.peak_bytes;
  if (is_reaper()) result.left_behind = end_children();
  if (error != 0) fail(command_.front(), error);
  sum_output(output_, result);
  result.last_words = last_line(errors_);
  return result;
}

}  // namespace ashlar::cli
