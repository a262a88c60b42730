// What the native part throws, beside what the standard library does; the face raises each as the exception that it has for it.
#pragma once

#include <stdexcept>

namespace fivepoint {

// What a file has against being read: one sentence that names it and the byte.
class ReadError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A call that is out of order: after close, after a fork, of rows that nobody wanted.
class MisuseError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// A call of a device's driver failed, or there is no device; the text holds the call, its code and what the driver says of it.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The device is there, and takes none of the kernels.
class NoKernelError : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

}  // namespace fivepoint
