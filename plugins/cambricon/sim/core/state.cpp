#include "state.h"

namespace mlusim {

State& TheState() {
  static State& state = *new State;
  return state;
}

}  // namespace mlusim
