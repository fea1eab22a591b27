#include <algorithm>
#include <cstring>

#include "../core/device.h"
#include "../core/memory.h"
#include "../core/queue.h"
#include "../core/settings.h"
#include "../core/version.h"
#include "export.h"

namespace mlusim::runtime {
namespace {

constexpr char kCardName[] = "MLU stand-in";

}  // namespace

void Initialize() { SetInitialized(true); }

void Shutdown() { SetInitialized(false); }

void CountCards(unsigned* count) {
  *Needed(count, "the count") = static_cast<unsigned>(CardCount());
  if (CardCount() == 0) throw Failure(Fault::kNoDevice, "there is no card");
}

void GetCard(int* ordinal) { *Needed(ordinal, "the ordinal") = CurrentCard(); }

void SynchronizeCard() {
  Lock lock = Guard();
  WaitForCard(lock, CurrentCard());
}

void MemoryInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  const Lock lock = Guard();
  const MemoryUse use = UseOf(CurrentCard());
  if (free_bytes) *free_bytes = use.free_bytes;
  if (total_bytes) *total_bytes = use.total_bytes;
}

void CardAttribute(int* value, int attribute, int ordinal) {
  CheckCard(ordinal);
  switch (attribute) {
    case 1:  // compute capability, major
      *Needed(value, "the value") = kCapability;
      return;
    case 2:
      *Needed(value, "the value") = 0;
      return;
    case 0x101:  // tasks in a queue
    case 0x102:  // notifiers
      *Needed(value, "the value") = 4096;
      return;
    case 0x205:  // clusters
      *Needed(value, "the value") = 4;
      return;
    case 0x206:  // cores of a cluster
      *Needed(value, "the value") = 4;
      return;
    case 0x302:  // NRAM of a core, bytes
      *Needed(value, "the value") = 768 << 10;
      return;
    case 0x405:  // memory, MB
      *Needed(value, "the value") = static_cast<int>(TheSettings().memory_bytes >> 20);
      return;
    default:
      throw Failure(Fault::kNotSupported, Text("attribute ", attribute, " is not known here"));
  }
}

void CardProperties(void* record, int ordinal) {
  CheckCard(ordinal);
  auto* bytes = static_cast<unsigned char*>(Needed(record, "the record"));
  std::memset(bytes, 0, 256);
  std::memcpy(bytes, kCardName, sizeof kCardName);
  const int megabytes = static_cast<int>(TheSettings().memory_bytes >> 20);
  std::memcpy(bytes + 256, &megabytes, sizeof megabytes);
}

void PeerAccess(unsigned* can, int card, int peer) {
  CheckCard(card);
  CheckCard(peer);
  *Needed(can, "the answer") = card != peer;
}

}  // namespace mlusim::runtime
