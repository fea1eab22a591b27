// The one file of core that is compiled for each era.
#include "fault.h"
#include "version.h"

namespace mlusim {

#if MLUSIM_ERA == 4
extern const int kEra = 4;
extern const int kRuntimeVersion[3] = {4, 10, 4};
extern const int kNetworkVersion[3] = {1, 2, 0};
extern const int kCapability = 2;
#elif MLUSIM_ERA == 5
extern const int kEra = 5;
extern const int kRuntimeVersion[3] = {5, 0, 0};
extern const int kNetworkVersion[3] = {1, 15, 2};
extern const int kCapability = 3;
#elif MLUSIM_ERA == 6
extern const int kEra = 6;
extern const int kRuntimeVersion[3] = {6, 14, 1};
extern const int kNetworkVersion[3] = {1, 28, 0};
extern const int kCapability = 5;
#else
#error "MLUSIM_ERA is 4, 5 or 6"
#endif

}  // namespace mlusim
