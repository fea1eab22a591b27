// What nobody gave back, told when the process ends.
#pragma once

#include <string>
#include <vector>

namespace mlusim {

// One sentence for each kind of thing that is alive. Under the lock.
std::vector<std::string> Leaks();
// Drains the queues and reports. Registered with atexit.
void ReportLeaks();

}  // namespace mlusim
