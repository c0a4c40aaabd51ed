// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of writes to descriptors: complete, without a signal, and without an endless wait.
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <ashlar/base/platform.hpp>
#include <ashlar/os/descriptor.hpp>

namespace {

using ashlar::detail::write_all;
using ashlar::detail::write_quietly;

struct pipe_ends {
  int reading = -1, writing = -1;

  pipe_ends() {
    int ends[2] = {-1, -1};
    if (::pipe(ends) == 0) reading = ends[0], writing = ends[1];
  }
  pipe_ends(const pipe_ends&) = delete;
  pipe_ends& operator=(const pipe_ends&) = delete;
  ~pipe_ends() {
    close_reader();
    ::close(writing);
  }
  void close_reader() {
    if (reading >= 0) ::close(reading);
    reading = -1;
  }
};

TEST(descriptor, is_written_to_completely_or_not_at_all) {
  const pipe_ends pipe;
  EXPECT_TRUE(write_all(pipe.writing, "one line\n"));
  EXPECT_TRUE(write_all(pipe.writing, ""));
  std::array<char, 64> got{};
  const auto count = ::read(pipe.reading, got.data(), got.size());
  EXPECT_EQ(std::string_view(got.data(), static_cast<std::size_t>(count)), "one line\n");
  errno = 42;
  EXPECT_FALSE(write_all(-1, "lost\n"));
  EXPECT_EQ(errno, 42);
}

TEST(quiet_write, writes_all_of_the_text_and_keeps_errno) {
  const pipe_ends pipe;
  errno = 42;
  EXPECT_EQ(write_quietly(pipe.writing, std::string(10'000, 'x')), 0);
  EXPECT_EQ(write_quietly(pipe.writing, ""), 0);
  EXPECT_EQ(errno, 42);
  std::string found(20'000, ' ');
  EXPECT_EQ(::read(pipe.reading, found.data(), found.size()), 10'000);
}

TEST(quiet_write, without_a_reader_raises_no_signal) {
  pipe_ends pipe;
  pipe.close_reader();
  const auto before = std::signal(SIGPIPE, SIG_DFL);
  EXPECT_EQ(write_quietly(pipe.writing, "text"), EPIPE);
  std::signal(SIGPIPE, before);
}

TEST(quiet_write, to_a_socket_without_a_peer_raises_no_signal) {
  for (const int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET}) {
    int ends[2] = {-1, -1};
    ASSERT_EQ(::socketpair(AF_UNIX, type, 0, ends), 0);
    ::close(ends[1]);
    const auto before = std::signal(SIGPIPE, SIG_DFL);
    EXPECT_NE(write_quietly(ends[0], "text"), 0);
    std::signal(SIGPIPE, before);
    ::close(ends[0]);
  }
}

TEST(quiet_write, leaves_a_signal_that_was_pending) {
  sigset_t wanted, former, pending;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGPIPE);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &wanted, &former), 0);
  ASSERT_EQ(std::raise(SIGPIPE), 0);
  pipe_ends pipe;
  pipe.close_reader();
  EXPECT_EQ(write_quietly(pipe.writing, "text"), EPIPE);
  ASSERT_EQ(::sigpending(&pending), 0);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 1);
  int taken = 0;
  EXPECT_EQ(::sigwait(&wanted, &taken), 0);
  EXPECT_EQ(::pthread_sigmask(SIG_SETMASK, &former, nullptr), 0);
}

TEST(quiet_write, gives_up_at_a_full_pipe) {
  const pipe_ends pipe;
  ASSERT_EQ(::fcntl(pipe.writing, F_SETFL, O_NONBLOCK), 0);
  const std::string part(4096, 'x');
  while (::write(pipe.writing, part.data(), part.size()) > 0) continue;
  ASSERT_EQ(::fcntl(pipe.writing, F_SETFL, 0), 0);
  EXPECT_EQ(write_quietly(pipe.writing, "text"), EAGAIN);
}

TEST(quiet_write, returns_the_error_of_the_system) {
  const pipe_ends pipe;
  EXPECT_EQ(write_quietly(pipe.reading, "text"), EBADF);
}

}  // namespace
