// What the eras 4 and 5 have and 6 has not.
#include <cstring>

#include "../core/device.h"
#include "../core/queue.h"
#include "../core/version.h"
#include "export.h"

using namespace mlusim;

namespace {

// `cnrtDev_t` is a value, not a pointer; this one cannot be taken for an ordinal.
constexpr std::uint64_t kFirstDevice = 0x4d4c5500;

struct DeviceInfo {
  char name[64];
  int core_version;
  int core_count;
};

void SetCurrent(std::uint64_t device) {
  if (device < kFirstDevice || device >= kFirstDevice + CardCount()) {
    throw Misuse("wild-handle", Fault::kInvalidArgument,
                 Text(device, " is no device that cnrtGetDeviceHandle gave"));
  }
  SetCurrentCard(static_cast<int>(device - kFirstDevice));
}

// `cnrtMemType_t`: 0 is the default and 1 is locked; 2, memory of a card, is not for this function.
void Pin(void** pointer, std::size_t bytes, int type) {
  if (type != 0 && type != 1) {
    throw Misuse("bad-argument", Fault::kInvalidArgument,
                 Text("memory of type ", type, " is not of the host"));
  }
  runtime::AllocateOnHost(pointer, bytes);
}

void GetInfo(DeviceInfo* info, int ordinal) {
  CheckCard(ordinal);
  *Needed(info, "the record") = {"MLU stand-in", 0, 16};
}

}  // namespace

MLUSIM_EXPORT int cnrtInit(unsigned flags) {
  // Allowed before itself, unlike every other call.
  runtime::Initialize();
  return RuntimeCall("cnrtInit", [&] {
    if (flags == 0) return;
    runtime::Shutdown();
    throw Failure(Fault::kNotSupported, "only flags 0, a real device, are known");
  });
}
MLUSIM_EXPORT void cnrtDestroy() { runtime::Shutdown(); }
MLUSIM_EXPORT int cnrtGetVersion(unsigned* version) {
  *version = kRuntimeVersion[0] * 10000 + kRuntimeVersion[1] * 100 + kRuntimeVersion[2];
  return 0;
}

MLUSIM_CNRT(cnrtGetDeviceHandle, (std::uint64_t* device, int ordinal), CheckCard(ordinal);
            *Needed(device, "the device") = kFirstDevice + ordinal)
MLUSIM_CNRT(cnrtSetCurrentDevice, (std::uint64_t device), SetCurrent(device))
MLUSIM_CNRT(cnrtGetCurrentDevice, (std::uint64_t* device),
            *Needed(device, "the device") = kFirstDevice + CurrentCard())
MLUSIM_CNRT(cnrtGetCurrentOrdinal, (unsigned* ordinal),
            *Needed(ordinal, "the ordinal") = static_cast<unsigned>(CurrentCard()))
MLUSIM_CNRT(cnrtGetDeviceInfo, (DeviceInfo * info, int ordinal), GetInfo(info, ordinal))

MLUSIM_CNRT(cnrtCreateQueue, (void** queue), runtime::CreateQueue(queue))
MLUSIM_CNRT(cnrtDestroyQueue, (void* queue), DestroyQueue(queue))
MLUSIM_CNRT(cnrtSyncQueue, (void* queue), runtime::SynchronizeQueue(queue))
MLUSIM_CNRT(cnrtQueryQueue, (void* queue), runtime::QueryQueue(queue))
MLUSIM_CNRT(cnrtCreateNotifier, (void** notifier), runtime::CreateNotifier(notifier))
MLUSIM_CNRT(cnrtDestroyNotifier, (void** notifier), runtime::DestroyNotifierAt(notifier))

MLUSIM_CNRT(cnrtMallocHost, (void** pointer, std::size_t bytes, int type),
            Pin(pointer, bytes, type))
MLUSIM_CNRT(cnrtMemsetD8, (void* to, unsigned char value, std::size_t bytes),
            Fill(to, value, bytes))
MLUSIM_CNRT(cnrtMemsetD8Async, (void* to, unsigned char value, std::size_t bytes, void* queue),
            FillAsync(to, value, bytes, queue))
MLUSIM_CNRT(cnrtGetMemInfo, (std::size_t* free_bytes, std::size_t* total_bytes, int),
            runtime::MemoryInfo(free_bytes, total_bytes))

MLUSIM_EXPORT int cnrtGetLastErr() {
  const int code = LastError();
  SetLastError(0);
  return code;
}
MLUSIM_EXPORT int cnrtPeekLastErr() { return LastError(); }
