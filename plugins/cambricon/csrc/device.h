// Devices, and the thread's choice among them: every call that depends on it is made under a
// DeviceGuard.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "library.h"

namespace headrace::cambricon {

// Makes a device the current one of this thread, and the one before it again at the end.
class DeviceGuard {
 public:
  DeviceGuard(const Library& library, int device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  const Library& library_;
  int previous_;
  bool changed_;
};

// Devices that the process may use; era 4 is initialised by the first call.
int DeviceCount(const Library& library);
std::string DeviceName(const Library& library, int device);
// The major number of a device's compute capability; 0 when the library cannot tell.
int DeviceCapability(const Library& library, int device);

struct MemoryInfo {
  std::size_t free = 0;
  std::size_t total = 0;
};
// Both 0 when the library cannot tell.
MemoryInfo MemoryOf(const Library& library, int device);

void* Allocate(const Library& library, int device, std::size_t bytes);
void Free(const Library& library, int device, void* address);
void* AllocateHost(const Library& library, int device, std::size_t bytes);
void FreeHost(const Library& library, int device, void* address);

// Copies to memory that no queue uses, and waits.
void Upload(const Library& library, int device, void* to, const void* from, std::size_t bytes);

void Download(const Library& library, int device, void* to, const void* from, std::size_t bytes);

// True when there is a way from one to the other that does not lead through the host.
bool CanCopyBetween(const Library& library, int device, int peer);

}  // namespace headrace::cambricon
