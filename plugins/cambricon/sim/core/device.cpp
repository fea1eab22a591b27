#include "device.h"

#include "report.h"
#include "settings.h"

namespace mlusim {
namespace {

thread_local int current_card = 0;

}  // namespace

int CardCount() { return static_cast<int>(TheSettings().visible.size()); }

int CurrentCard() {
  if (CardCount() == 0) throw Failure(Fault::kNoDevice, "there is no card");
  return current_card;
}

void CheckCard(int ordinal) {
  if (CardCount() == 0) throw Failure(Fault::kNoDevice, "there is no card");
  if (ordinal < 0 || ordinal >= CardCount()) {
    throw Failure(Fault::kInvalidDevice, Text("there is no card ", ordinal));
  }
}

void SetCurrentCard(int ordinal) {
  CheckCard(ordinal);
  current_card = ordinal;
}

}  // namespace mlusim
