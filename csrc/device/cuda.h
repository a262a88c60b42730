// The CUDA driver, found when it is asked for: nothing is linked with it, so that the module loads where there is none.
#pragma once

#include <memory>
#include <string>

#include "device.h"

namespace fivepoint {

// The GPU of this number among those that the process may see, in the context that torch uses too (the primary one). Throws DeviceError
// where the driver, the GPU or a kernel for it is missing.
std::shared_ptr<Device> open_cuda(int number);

}  // namespace fivepoint
