// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <tl/expected.hpp>

namespace offcpu {

// What a caller would do about an error; the exit status follows from it (cli/exit_code.h).
enum class ErrorCode {
  kFailed,       // exit 1: the operation did not work
  kUsage,        // exit 64: the command line is wrong
  kUnsupported,  // exit 69: the kernel or machine lacks something
  kPermission,   // exit 77: this user may not
};

// `message` says what was being done to what, and why it failed; `hint` what to do about it (may be
// empty). Neither ends in a period or a newline.
struct Error {
  ErrorCode code = ErrorCode::kFailed;
  std::string message;
  std::string hint;

  Error WithHint(std::string text) const {
    Error copy = *this;
    copy.hint = std::move(text);
    return copy;
  }
};

// A value or an Error; never to be dropped on the floor.
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
  Result(Error error)
      : tl::expected<T, Error>(tl::unexpect, std::move(error)) {
  }  // NOLINT(google-explicit-constructor)
};

inline Error MakeError(ErrorCode code, std::string message, std::string hint = {}) {
  return Error{code, std::move(message), std::move(hint)};
}
inline Error Failed(std::string message, std::string hint = {}) {
  return Error{ErrorCode::kFailed, std::move(message), std::move(hint)};
}
inline Error UsageError(std::string message, std::string hint = {}) {
  return Error{ErrorCode::kUsage, std::move(message), std::move(hint)};
}

// "<what>: <strerror>"; EPERM and EACCES become kPermission, the rest kFailed.
inline Error SystemError(std::string_view what, int error_number = errno) {
  const bool permission = error_number == EPERM || error_number == EACCES;
  return Error{permission ? ErrorCode::kPermission : ErrorCode::kFailed,
               std::string(what) + ": " + std::generic_category().message(error_number),
               {}};
}

}  // namespace offcpu
