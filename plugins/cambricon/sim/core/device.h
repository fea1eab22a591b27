// Cards, and which of them a thread works with.
#pragma once

namespace mlusim {

// Ordinals after MLU_VISIBLE_DEVICES; everything below speaks of these.
int CardCount();
// Of the calling thread, 0 at first.
int CurrentCard();
// Throws Failure when there is no such card.
void CheckCard(int ordinal);
void SetCurrentCard(int ordinal);

}  // namespace mlusim
