// Names and parameters that every era has.
#include "../core/device.h"
#include "../core/version.h"
#include "export.h"

using namespace mlusim;

MLUSIM_CNRT(cnrtGetDeviceCount, (unsigned* count), runtime::CountCards(count))
MLUSIM_CNRT(cnrtSyncDevice, (), runtime::SynchronizeCard())
MLUSIM_CNRT(cnrtGetPeerAccessibility, (unsigned* can, int card, int peer),
            runtime::PeerAccess(can, card, peer))

MLUSIM_CNRT(cnrtQueueWaitNotifier, (void* notifier, void* queue, unsigned flags),
            runtime::QueueWaitsFor(notifier, queue, flags))
MLUSIM_CNRT(cnrtPlaceNotifier, (void* notifier, void* queue),
            runtime::PlaceNotifier(notifier, queue))
MLUSIM_CNRT(cnrtWaitNotifier, (void* notifier), runtime::WaitNotifier(notifier))
MLUSIM_CNRT(cnrtQueryNotifier, (void* notifier), runtime::QueryNotifier(notifier))
MLUSIM_CNRT(cnrtNotifierDuration, (void* start, void* end, float* us),
            runtime::Elapsed(start, end, us, 1.0f))

MLUSIM_CNRT(cnrtMalloc, (void** pointer, std::size_t bytes),
            runtime::AllocateOnCard(pointer, bytes))
MLUSIM_CNRT(cnrtFree, (void* pointer), runtime::FreeOnCard(pointer))
MLUSIM_CNRT(cnrtFreeHost, (void* pointer), runtime::FreeOnHost(pointer))
MLUSIM_CNRT(cnrtMemset, (void* to, int value, std::size_t bytes),
            Fill(to, static_cast<unsigned char>(value), bytes))
MLUSIM_CNRT(cnrtMemcpy, (void* to, void* from, std::size_t bytes, int direction),
            Copy(to, from, bytes, static_cast<Direction>(direction)))
MLUSIM_CNRT(cnrtMemcpyAsync, (void* to, void* from, std::size_t bytes, void* queue, int direction),
            CopyAsync(to, from, bytes, static_cast<Direction>(direction), queue))
MLUSIM_CNRT(cnrtMemcpyPeer, (void* to, int to_card, void* from, int from_card, std::size_t bytes),
            CopyPeer(to, to_card, from, from_card, bytes))
MLUSIM_CNRT(cnrtMemcpyPeerAsync,
            (void* to, int to_card, void* from, int from_card, std::size_t bytes, void* queue),
            CopyPeerAsync(to, to_card, from, from_card, bytes, queue))

// Returns nothing before era 6: what a caller finds there is what happened to lie in the register.
MLUSIM_EXPORT int cnrtGetLibVersion(int* major, int* minor, int* patch) {
  *major = kRuntimeVersion[0];
  *minor = kRuntimeVersion[1];
  *patch = kRuntimeVersion[2];
  return kEra >= 6 ? 0 : 0x5ca1ab1e;
}

MLUSIM_EXPORT const char* cnrtGetErrorStr(int code) { return TextOfCode(code); }
