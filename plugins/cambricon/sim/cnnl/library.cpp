#include "library.h"

#include "../core/device.h"
#include "../core/state.h"
#include "../core/version.h"
#include "export.h"

namespace mlusim::network {

std::shared_ptr<Library> LibraryOf(void* value) {
  std::shared_ptr<Library> library = Find<Library>(value);
  if (library->card != CurrentCard()) {
    throw Misuse("wrong-device", Fault::kWrongDevice,
                 Text(library->Describe(), " is of card ", library->card,
                      ", the current card of this thread is ", CurrentCard()));
  }
  return library;
}

std::shared_ptr<Queue> QueueFor(const Library& library) {
  if (!library.queue) return QueueOf(nullptr);
  if (library.queue->destroyed) {
    throw Misuse(
        "destroyed-queue", Fault::kInvalidArgument,
        Text(library.queue->Describe(), ", set in ", library.Describe(), ", was destroyed before"));
  }
  return library.queue;
}

namespace {

void Create(void** value) {
  Needed(value, "the handle");
  const Lock lock = Guard();
  auto library = std::make_shared<Library>();
  library->card = CurrentCard();
  *value = Register(library);
}

void LetGo(Library& library) {
  if (library.queue) --library.queue->holders;
  library.queue = nullptr;
  library.queue_value = nullptr;
}

void Destroy(void* value) {
  const Lock lock = Guard();
  const std::shared_ptr<Library> library = LibraryOf(value);
  LetGo(*library);
  Unregister(library);
}

void SetQueue(void* value, void* queue_value) {
  const Lock lock = Guard();
  const std::shared_ptr<Library> library = LibraryOf(value);
  // Of the thread's card, which is the handle's.
  const std::shared_ptr<Queue> queue = QueueOf(queue_value);
  LetGo(*library);
  if (!queue_value) return;
  library->queue = queue;
  library->queue_value = queue_value;
  ++queue->holders;
}

template <typename Read>
void With(void* value, Read&& read) {
  const Lock lock = Guard();
  read(*LibraryOf(value));
}

}  // namespace
}  // namespace mlusim::network

using namespace mlusim;
using namespace mlusim::network;

MLUSIM_CNNL(cnnlCreate, (void** handle), Create(handle))
MLUSIM_CNNL(cnnlDestroy, (void* handle), Destroy(handle))
MLUSIM_CNNL(cnnlSetQueue, (void* handle, void* queue), SetQueue(handle, queue))
MLUSIM_CNNL(cnnlGetQueue, (void* handle, void** queue), With(handle, [&](Library& library) {
              *Needed(queue, "the queue") = library.queue_value;
            }))
MLUSIM_CNNL(cnnlUpdateContextInformation, (void* handle), With(handle, [](Library&) {}))
MLUSIM_CNNL(cnnlSetAtomicsMode, (void* handle, int mode),
            With(handle, [&](Library& library) { library.atomics = mode; }))
MLUSIM_CNNL(cnnlGetAtomicsMode, (void* handle, int* mode),
            With(handle, [&](Library& library) { *mode = library.atomics; }))
MLUSIM_CNNL(cnnlSetQuantizeRoundMode, (void* handle, int mode),
            With(handle, [&](Library& library) { library.round_mode = mode; }))
MLUSIM_CNNL(cnnlGetQuantizeRoundMode, (void* handle, int* mode),
            With(handle, [&](Library& library) { *mode = library.round_mode; }))
MLUSIM_CNNL(cnnlGetReservedMemSize, (std::uint64_t* bytes), *Needed(bytes, "the size") = 0)
MLUSIM_CNNL(
    cnnlGetSizeOfDataType, (int type, std::size_t* bytes), if (BytesOf(type) == 0) {
      throw Misuse("bad-argument", Fault::kInvalidArgument, Text("there is no data type ", type));
    } * Needed(bytes, "the size") = BytesOf(type))

MLUSIM_EXPORT const char* cnnlGetErrorString(int status) {
  static const char* const names[] = {
      "CNNL_STATUS_SUCCESS",           "CNNL_STATUS_NOT_INITIALIZED",
      "CNNL_STATUS_ALLOC_FAILED",      "CNNL_STATUS_BAD_PARAM",
      "CNNL_STATUS_INTERNAL_ERROR",    "CNNL_STATUS_ARCH_MISMATCH",
      "CNNL_STATUS_EXECUTION_FAILED",  "CNNL_STATUS_NOT_SUPPORTED",
      "CNNL_STATUS_NUMERICAL_OVERFLOW"};
  return names[status < 0 || status > 8 ? kBadParam : status];
}
MLUSIM_EXPORT std::size_t cnnlGetVersion() {
  return kNetworkVersion[0] * 10000 + kNetworkVersion[1] * 100 + kNetworkVersion[2];
}
MLUSIM_EXPORT void cnnlGetLibVersion(int* major, int* minor, int* patch) {
  *major = kNetworkVersion[0];
  *minor = kNetworkVersion[1];
  *patch = kNetworkVersion[2];
}
