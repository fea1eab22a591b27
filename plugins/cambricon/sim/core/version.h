// Which release each stand-in says it is. One version for each era whose header, or whose binary,
// the numbers were taken from; the libraries of one era are not claimed to have been shipped
// together.
#pragma once

namespace mlusim {

extern const int kRuntimeVersion[3];
extern const int kNetworkVersion[3];
// The major number of the cards' compute capability: of the cards that were new in the era.
extern const int kCapability;

}  // namespace mlusim
