// What can go wrong, by meaning. The number that a caller sees differs between the three eras of
// the runtime; see fault.cpp.
#pragma once

namespace mlusim {

enum class Fault {
  kNone,
  kNotReady,
  kBusy,
  kNotInitialized,
  kInvalidArgument,
  kNoMemory,
  kNoHostMemory,
  kNoDevice,
  kInvalidDevice,
  kWrongDevice,
  kSystem,
  kQueueFailed,
  kCopyDirection,
  kDriverCall,
  kNotSupported,
  kArchitecture,  // of the library of ops alone
};

// Set once, by the library that is built for an era: 4, 5 or 6.
extern const int kEra;

// The number of `cnrtRet_t` with which this era says it.
int CodeOf(Fault fault);

// The enumerator's name in this era and a sentence; both are static strings, also for unknown
// codes.
const char* NameOfCode(int code);
const char* TextOfCode(int code);

}  // namespace mlusim
