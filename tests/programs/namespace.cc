// SPDX-License-Identifier: MIT
// namespace FOLDER NS: in a pid and a mount namespace of its own, as process 2, a copy of this
// program that is visible only there (below FOLDER) sleeps NS nanoseconds after the go. Says
// "thread inner TID" with the id outside and "inside PID" with the one inside.
#include <csignal>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "workload.h"

namespace {

[[gnu::noinline]] void WaitInNamespace(workload::Nanos length) { workload::SleepHere(length); }

// Receives a byte; returns the sender's process id as this namespace knows it.
pid_t ReceiveSender(int socket) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  if (::recvmsg(socket, &message, 0) != 1) return 0;  // the other end left
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  ucred sender{};
  if (header != nullptr && header->cmsg_type == SCM_CREDENTIALS) {
    std::memcpy(&sender, CMSG_DATA(header), sizeof(sender));
  }
  return sender.pid;
}

void CopyOwnFile(const std::string& path) {
  std::FILE* in = std::fopen("/proc/self/exe", "re");
  std::FILE* out = std::fopen(path.c_str(), "we");
  if (in == nullptr || out == nullptr) workload::Die("copy");
  char block[4096];
  for (size_t got = 0; (got = std::fread(block, 1, sizeof(block), in)) > 0;) {
    if (std::fwrite(block, 1, got, out) != got) workload::Die("copy");
  }
  std::fclose(in);
  if (std::fclose(out) != 0 || ::chmod(path.c_str(), 0700) != 0) workload::Die("copy");
}

// Process 1 of the namespace: lays out the mounts, starts process 2 and waits for its end.
[[noreturn]] void RunFirst(const std::string& folder, const std::string& length, int socket) {
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("tmpfs", folder.c_str(), "tmpfs", 0, nullptr) != 0) {
    workload::Skip("mount");
  }
  const std::string path = folder + "/hidden-program";
  CopyOwnFile(path);
  if (::mount("proc", "/proc", "proc", 0, nullptr) != 0) workload::Skip("mount /proc");
  const pid_t second = ::fork();
  if (second < 0) workload::Die("fork");
  if (second == 0) {
    char byte = 'x';
    if (::write(socket, &byte, 1) != 1 || ::read(socket, &byte, 1) != 1) workload::Die("socket");
    ::execl(path.c_str(), path.c_str(), "inside", length.c_str(), nullptr);
    workload::Die(path.c_str());
  }
  ::waitpid(second, nullptr, 0);
  std::_Exit(0);
}

void RunInside(workload::Nanos length) {
  workload::Say("inside %d", ::getpid());
  workload::Ready();
  workload::Waits waits;
  waits.Around([&] { WaitInNamespace(length); });
  waits.Report("namespace");
  workload::Done();
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 2) return 64;
  if (arguments[0] == "inside") {
    RunInside(workload::Number(arguments, 1, 0));
    return 0;
  }
  workload::Say("pid %d", ::getpid());
  int sockets[2];
  const int on = 1;
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0 ||
      ::setsockopt(sockets[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0) {
    workload::Die("socketpair");
  }
  const long first = ::syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0);
  if (first < 0) workload::Skip("clone");
  if (first == 0) RunFirst(arguments[0], arguments[1], sockets[1]);
  ::close(sockets[1]);
  if (const pid_t second = ReceiveSender(sockets[0]); second != 0) {
    workload::Say("thread inner %d", second);
    if (::write(sockets[0], "x", 1) != 1) workload::Die("socket");
  }
  ::waitpid(static_cast<pid_t>(first), nullptr, 0);
}
