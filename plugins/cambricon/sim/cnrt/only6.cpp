// What era 6 alone has.
#include "../core/device.h"
#include "../core/version.h"
#include "export.h"

using namespace mlusim;

MLUSIM_EXPORT int cnrtDriverGetVersion(int* major, int* minor, int* patch) {
  *major = kRuntimeVersion[0];
  *minor = kRuntimeVersion[1];
  *patch = kRuntimeVersion[2];
  return 0;
}

MLUSIM_CNRT(cnrtGetDeviceProperties_V2, (void* record, int ordinal),
            runtime::CardProperties(record, ordinal))
MLUSIM_CNRT(cnrtGetDeviceProperties_V3, (void* record, int ordinal),
            runtime::CardProperties(record, ordinal))
MLUSIM_CNRT(cnrtInvokeHostFunc, (void* queue, void (*function)(void*), void* argument),
            runtime::CallOnHost(queue, function, argument))

MLUSIM_CNRT(cnrtPointerGetAttributes, (void* record, const void* pointer),
            runtime::DescribePointer(record, pointer))

// Capture is not imitated; a caller that can do without it finds that out here.
MLUSIM_CNRT(cnrtQueueBeginCapture, (void*, int), throw Failure(Fault::kNotSupported, "capture"))
MLUSIM_CNRT(cnrtQueueEndCapture, (void*, void**), throw Failure(Fault::kNotSupported, "capture"))
MLUSIM_CNRT(cnrtQueueIsCapturing, (void*, int* status), *Needed(status, "the status") = 0)

MLUSIM_CNRT(cnrtMemcpyAsync_V2,
            (void* to, void* from, std::size_t bytes, void* queue, int direction),
            CopyAsync(to, from, bytes, static_cast<Direction>(direction), queue))
MLUSIM_CNRT(cnrtMemcpyAsync_V3,
            (void* to, void* from, std::size_t bytes, void* queue, int direction),
            CopyAsync(to, from, bytes, static_cast<Direction>(direction), queue))
MLUSIM_CNRT(cnrtMemcpy2D,
            (void* to, std::size_t to_pitch, void* from, std::size_t from_pitch, std::size_t width,
             std::size_t height, int direction),
            Copy2D({to, to_pitch, from, from_pitch, width, height},
                   static_cast<Direction>(direction)))
MLUSIM_CNRT(cnrtMemcpy2DAsync,
            (void* to, std::size_t to_pitch, void* from, std::size_t from_pitch, std::size_t width,
             std::size_t height, int direction, void* queue),
            Copy2DAsync({to, to_pitch, from, from_pitch, width, height},
                        static_cast<Direction>(direction), queue))
