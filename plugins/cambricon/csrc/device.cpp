#include "device.h"

#include <cstring>
#include <mutex>
#include <vector>

namespace headrace::cambricon {
namespace {

constexpr int kPageLocked = 1;       // CNRT_MEMTYPE_LOCKED
constexpr int kHostToDevice = 0;     // CNRT_MEM_TRANS_DIR_HOST2DEV
constexpr int kDeviceToHost = 2;     // CNRT_MEM_TRANS_DIR_DEV2HOST
constexpr int kNoChannel = -1;       // CNRT_CHANNEL_TYPE_NONE
constexpr int kCapabilityMajor = 1;  // cnrtAttrComputeCapabilityMajor

int CurrentDevice(const Library& library) {
  const Api& api = library.api();
  if (api.cnrtGetDevice) {
    int ordinal = 0;
    library.CheckRuntime(api.cnrtGetDevice(&ordinal), "cnrtGetDevice");
    return ordinal;
  }
  unsigned ordinal = 0;
  library.CheckRuntime(api.cnrtGetCurrentOrdinal(&ordinal), "cnrtGetCurrentOrdinal");
  return static_cast<int>(ordinal);
}

void ChooseDevice(const Library& library, int device) {
  const Api& api = library.api();
  if (api.cnrtSetDevice) {
    library.CheckRuntime(api.cnrtSetDevice(device), "cnrtSetDevice");
    return;
  }
  cnrtDev_t handle = 0;
  library.CheckRuntime(api.cnrtGetDeviceHandle(&handle, device), "cnrtGetDeviceHandle");
  library.CheckRuntime(api.cnrtSetCurrentDevice(handle), "cnrtSetCurrentDevice");
}

// Up to 4.x nothing works before cnrtInit, which is for once in a process; later ones have no need
// of it.
void Initialize(const Library& library) {
  if (library.era() > 4 || !library.api().cnrtInit) return;
  static std::once_flag once;
  std::call_once(once, [&] { library.CheckRuntime(library.api().cnrtInit(0), "cnrtInit"); });
}

std::string OfBytes(std::size_t bytes) { return " of " + std::to_string(bytes) + " bytes"; }

}  // namespace

DeviceGuard::DeviceGuard(const Library& library, int device)
    : library_(library), previous_(CurrentDevice(library)), changed_(previous_ != device) {
  if (changed_) ChooseDevice(library, device);
}

DeviceGuard::~DeviceGuard() {
  if (!changed_) return;
  try {
    ChooseDevice(library_, previous_);
  } catch (const CallError&) {
    // It was current before; whoever depends on it has a guard and is told there.
  }
}

int DeviceCount(const Library& library) {
  Initialize(library);
  unsigned count = 0;
  const int status = library.api().cnrtGetDeviceCount(&count);
  if (RuntimeMeaning(library.era(), status).kind == Kind::kNoDevice) return 0;
  library.CheckRuntime(status, "cnrtGetDeviceCount");
  return static_cast<int>(count);
}

std::string DeviceName(const Library& library, int device) {
  const Api& api = library.api();
  if (api.cnrtGetDeviceProperties) {
    std::vector<char> record(16384);
    library.CheckRuntime(api.cnrtGetDeviceProperties(record.data(), device),
                         "cnrtGetDeviceProperties");
    return std::string(record.data(), strnlen(record.data(), 256));
  }
  if (!api.cnrtGetDeviceInfo) return "";
  cnrtDeviceInfo_t info{};
  library.CheckRuntime(api.cnrtGetDeviceInfo(&info, device), "cnrtGetDeviceInfo");
  return std::string(info.device_name, strnlen(info.device_name, sizeof info.device_name));
}

int DeviceCapability(const Library& library, int device) {
  if (!library.api().cnrtDeviceGetAttribute) return 0;
  int value = 0;
  library.CheckRuntime(library.api().cnrtDeviceGetAttribute(&value, kCapabilityMajor, device),
                       "cnrtDeviceGetAttribute");
  return value;
}

MemoryInfo MemoryOf(const Library& library, int device) {
  const DeviceGuard guard(library, device);
  const Api& api = library.api();
  MemoryInfo info;
  if (api.cnrtMemGetInfo) {
    library.CheckRuntime(api.cnrtMemGetInfo(&info.free, &info.total), "cnrtMemGetInfo");
  } else if (api.cnrtGetMemInfo) {
    library.CheckRuntime(api.cnrtGetMemInfo(&info.free, &info.total, kNoChannel), "cnrtGetMemInfo");
  }
  return info;
}

void* Allocate(const Library& library, int device, std::size_t bytes) {
  const DeviceGuard guard(library, device);
  void* address = nullptr;
  library.CheckRuntime(library.api().cnrtMalloc(&address, bytes), "cnrtMalloc", OfBytes(bytes));
  return address;
}

void Free(const Library& library, int device, void* address) {
  const DeviceGuard guard(library, device);
  library.CheckRuntime(library.api().cnrtFree(address), "cnrtFree");
}

void* AllocateHost(const Library& library, int device, std::size_t bytes) {
  const DeviceGuard guard(library, device);
  const Api& api = library.api();
  void* address = nullptr;
  if (api.cnrtHostMalloc) {
    library.CheckRuntime(api.cnrtHostMalloc(&address, bytes), "cnrtHostMalloc", OfBytes(bytes));
  } else {
    library.CheckRuntime(api.cnrtMallocHost(&address, bytes, kPageLocked), "cnrtMallocHost",
                         OfBytes(bytes));
  }
  return address;
}

void FreeHost(const Library& library, int device, void* address) {
  const DeviceGuard guard(library, device);
  library.CheckRuntime(library.api().cnrtFreeHost(address), "cnrtFreeHost");
}

void Upload(const Library& library, int device, void* to, const void* from, std::size_t bytes) {
  const DeviceGuard guard(library, device);
  library.CheckRuntime(library.api().cnrtMemcpy(to, const_cast<void*>(from), bytes, kHostToDevice),
                       "cnrtMemcpy", OfBytes(bytes));
}

void Download(const Library& library, int device, void* to, const void* from, std::size_t bytes) {
  const DeviceGuard guard(library, device);
  library.CheckRuntime(library.api().cnrtMemcpy(to, const_cast<void*>(from), bytes, kDeviceToHost),
                       "cnrtMemcpy", OfBytes(bytes));
}

bool CanCopyBetween(const Library& library, int device, int peer) {
  const Api& api = library.api();
  if (!api.cnrtGetPeerAccessibility || !api.cnrtMemcpyPeerAsync) return false;
  unsigned can = 0;
  library.CheckRuntime(api.cnrtGetPeerAccessibility(&can, device, peer),
                       "cnrtGetPeerAccessibility");
  return can != 0;
}

}  // namespace headrace::cambricon
