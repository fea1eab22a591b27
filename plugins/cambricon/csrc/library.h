// The vendor's libraries, opened: a table of functions, the era that it belongs to, and the checks
// of every status.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>

#include "api/table.h"
#include "status.h"

namespace headrace::cambricon {

using Version = std::array<int, 3>;

// Opened once in a process and never closed: threads of the driver outlive whoever asked for it.
// Immutable after that; may be used by any thread.
class Library {
 public:
  // Opens libcndrv.so, libcnrt.so and libcnnl.so of a folder; an empty one leaves the search to the
  // system. Throws LoadError.
  static std::shared_ptr<Library> Open(const std::string& folder);

  const Api& api() const { return api_; }
  int era() const { return era_; }
  const Version& runtime_version() const { return runtime_version_; }
  const Version& network_version() const { return network_version_; }
  const std::string& folder() const { return folder_; }
  // Where the system found libcnrt.so.
  const std::string& runtime_path() const { return runtime_path_; }
  bool is_stand_in() const { return api_.mlusim_era != nullptr; }

  // How to create and destroy what objects.inc lists; throws LoadError for what the library has
  // not.
  struct Lifetime {
    int (*create)(void** object) = nullptr;
    int (*destroy)(void* object) = nullptr;
    const char* create_name = nullptr;
    const char* destroy_name = nullptr;
  };
  const Lifetime& LifetimeOf(const std::string& type) const;
  // Throws CallError unless the status is success. `what` says more of the call, such as its size.
  void CheckRuntime(int status, const char* call, const std::string& what = "") const;
  void CheckNetwork(int status, const char* call) const;
  // True for success, false for what is not done yet; throws CallError for the rest.
  bool IsDone(int status, const char* call) const;

 private:
  Library() = default;
  void Fill(void* runtime, void* network);
  void ReadVersions();

  Api api_;
  std::map<std::string, Lifetime> lifetimes_;
  int era_ = 0;
  Version runtime_version_{-1, -1, -1};
  Version network_version_{-1, -1, -1};
  std::string folder_;
  std::string runtime_path_;
};

}  // namespace headrace::cambricon
