// What the functions of the runtime do, by meaning; the files beside this one give them the names
// and parameters of the eras. All throw what core/call.h expects.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mlusim::runtime {

void Initialize();
void Shutdown();

void CountCards(unsigned* count);
void GetCard(int* ordinal);
void SynchronizeCard();
void MemoryInfo(std::size_t* free_bytes, std::size_t* total_bytes);
void CardAttribute(int* value, int attribute, int ordinal);
// The name and the megabytes that every version of the record begins with; nothing behind them.
void CardProperties(void* record, int ordinal);
// `cnrtPointerAttributes_t` as far as every version has it: kind, card, size, address on the card,
// on the host.
void DescribePointer(void* record, const void* pointer);
void PeerAccess(unsigned* can, int card, int peer);

void CreateQueue(void** queue, int priority = 0);
void QueuePriority(void* queue, int* priority);
void SynchronizeQueue(void* queue);
void QueryQueue(void* queue);
void QueueWaitsFor(void* notifier, void* queue, unsigned flags);
void CallOnHost(void* queue, void (*function)(void*), void* argument);

void CreateNotifier(void** notifier, unsigned flags = 0);
void DestroyNotifier(void* notifier);
// The address of a variable that holds the notifier, as the first era wants it.
void DestroyNotifierAt(void** notifier);
void PlaceNotifier(void* notifier, void* queue);
void WaitNotifier(void* notifier);
void QueryNotifier(void* notifier);
void Elapsed(void* start, void* end, float* value, float per_us);

void AllocateOnCard(void** pointer, std::size_t bytes);
void FreeOnCard(void* pointer);
void AllocateOnHost(void** pointer, std::size_t bytes);
void FreeOnHost(void* pointer);

}  // namespace mlusim::runtime
