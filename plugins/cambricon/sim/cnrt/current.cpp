// What the eras 5 and 6 have and 4 has not.
#include "../core/device.h"
#include "../core/queue.h"
#include "export.h"

using namespace mlusim;

MLUSIM_CNRT(cnrtSetDevice, (int ordinal), SetCurrentCard(ordinal))
MLUSIM_CNRT(cnrtGetDevice, (int* ordinal), runtime::GetCard(ordinal))
MLUSIM_CNRT(cnrtDeviceGetAttribute, (int* value, int attribute, int ordinal),
            runtime::CardAttribute(value, attribute, ordinal))
MLUSIM_CNRT(cnrtGetDeviceProperties, (void* record, int ordinal),
            runtime::CardProperties(record, ordinal))

MLUSIM_CNRT(cnrtQueueCreate, (void** queue), runtime::CreateQueue(queue))
MLUSIM_CNRT(cnrtQueueCreateWithPriority, (void** queue, unsigned, int priority),
            runtime::CreateQueue(queue, priority))
MLUSIM_CNRT(cnrtDeviceGetQueuePriorityRange, (int* least, int* greatest),
            *Needed(least, "the least priority") = 7;
            *Needed(greatest, "the greatest priority") = 0)
MLUSIM_CNRT(cnrtQueueGetPriority, (void* queue, int* priority),
            runtime::QueuePriority(queue, priority))
MLUSIM_CNRT(cnrtQueueDestroy, (void* queue), DestroyQueue(queue))
MLUSIM_CNRT(cnrtQueueSync, (void* queue), runtime::SynchronizeQueue(queue))
MLUSIM_CNRT(cnrtQueueQuery, (void* queue), runtime::QueryQueue(queue))

MLUSIM_CNRT(cnrtNotifierCreate, (void** notifier), runtime::CreateNotifier(notifier))
MLUSIM_CNRT(cnrtNotifierCreateWithFlags, (void** notifier, unsigned flags),
            runtime::CreateNotifier(notifier, flags))
MLUSIM_CNRT(cnrtNotifierDestroy, (void* notifier), runtime::DestroyNotifier(notifier))
MLUSIM_CNRT(cnrtPlaceNotifierWithFlags, (void* notifier, void* queue, unsigned),
            runtime::PlaceNotifier(notifier, queue))
MLUSIM_CNRT(cnrtNotifierElapsedTime, (void* start, void* end, float* ms),
            runtime::Elapsed(start, end, ms, 1e-3f))

MLUSIM_CNRT(cnrtHostMalloc, (void** pointer, std::size_t bytes),
            runtime::AllocateOnHost(pointer, bytes))
MLUSIM_CNRT(cnrtMemsetAsync, (void* to, int value, std::size_t bytes, void* queue),
            FillAsync(to, static_cast<unsigned char>(value), bytes, queue))
MLUSIM_CNRT(cnrtMemGetInfo, (std::size_t* free_bytes, std::size_t* total_bytes),
            runtime::MemoryInfo(free_bytes, total_bytes))

MLUSIM_EXPORT const char* cnrtGetErrorName(int code) { return NameOfCode(code); }
MLUSIM_EXPORT int cnrtGetLastError() {
  const int code = LastError();
  SetLastError(0);
  return code;
}
MLUSIM_EXPORT int cnrtPeekAtLastError() { return LastError(); }
