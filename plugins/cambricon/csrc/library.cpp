#include "library.h"

#include <dlfcn.h>

#include <initializer_list>
#include <map>
#include <set>

namespace headrace::cambricon {
namespace {

// The order in which they need each other.
constexpr const char* kFiles[] = {"libcndrv.so", "libcnrt.so", "libcnnl.so"};

void* OpenFile(const std::string& folder, const char* file) {
  const std::string path = folder.empty() ? file : folder + "/" + file;
  // Global: the libraries find each other's functions, and whatever is loaded behind them finds
  // these.
  void* opened = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!opened) {
    const char* why = dlerror();
    throw LoadError(why ? why : path + " cannot be opened");
  }
  return opened;
}

template <typename Function>
void Take(Function& function, void* library, const char* name) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

std::string PathOf(void* function, const std::string& otherwise) {
  Dl_info info;
  if (function && dladdr(function, &info) && info.dli_fname) return info.dli_fname;
  return otherwise;
}

}  // namespace

std::shared_ptr<Library> Library::Open(const std::string& folder) {
  void* opened[3];
  for (int i = 0; i < 3; ++i) opened[i] = OpenFile(folder, kFiles[i]);
  std::shared_ptr<Library> library(new Library);
  library->folder_ = folder;
  library->Fill(opened[1], opened[2]);
  library->runtime_path_ =
      PathOf(reinterpret_cast<void*>(library->api_.cnrtMalloc), folder + "/libcnrt.so");
  Take(library->api_.mlusim_era, opened[0], "mlusim_era");
  Take(library->api_.mlusim_enum, opened[0], "mlusim_enum");
  library->ReadVersions();
  return library;
}

void Library::Fill(void* runtime, void* network) {
  std::map<std::string, std::string> wanted;  // role -> names that would do
  std::set<std::string> filled;
#define CNRT(result, name, role, first, last, parameters)                  \
  Take(api_.name, runtime, #name);                                         \
  wanted[role] += (wanted[role].empty() ? "" : ", ") + std::string(#name); \
  if (api_.name) filled.insert(role);
#include "api/cnrt.inc"
#undef CNRT
  for (const auto& [role, names] : wanted) {
    if (role[0] != '(' && !filled.count(role)) {
      throw LoadError("libcnrt.so cannot " + role + ": it has none of " + names);
    }
  }
#define CNNL(name, parameters) Take(api_.name, network, #name);
#define CNNL_NEEDED(name, parameters) \
  Take(api_.name, network, #name);    \
  if (!api_.name) throw LoadError("libcnnl.so has no " #name);
#define CNNL_SHAPE(alias, name, parameters) Take(api_.alias, network, #name);
#include "api/cnnl.inc"
#undef CNNL
#undef CNNL_NEEDED
#undef CNNL_SHAPE
  const auto take_first = [network](auto& function, const char*& taken,
                                    std::initializer_list<const char*> names) {
    for (const char* name : names) {
      Take(function, network, taken = name);
      if (function) return;
    }
  };
#define NAMES(...) {__VA_ARGS__}
#define OBJECT(type, creators, destroyers)                                 \
  {                                                                        \
    Lifetime& lifetime = lifetimes_[#type];                                \
    take_first(lifetime.create, lifetime.create_name, NAMES creators);     \
    take_first(lifetime.destroy, lifetime.destroy_name, NAMES destroyers); \
  }
#include "api/objects.inc"
#undef OBJECT
#undef NAMES
  Take(api_.cnnlGetLibVersion, network, "cnnlGetLibVersion");
  Take(api_.cnnlGetErrorString, network, "cnnlGetErrorString");
}

const Library::Lifetime& Library::LifetimeOf(const std::string& type) const {
  const auto found = lifetimes_.find(type);
  if (found == lifetimes_.end()) throw std::invalid_argument("there is no " + type);
  const Lifetime& lifetime = found->second;
  if (!lifetime.create || !lifetime.destroy) {
    throw LoadError(std::string("libcnnl.so has no ") +
                    (lifetime.create ? lifetime.destroy_name : lifetime.create_name));
  }
  return lifetime;
}

void Library::ReadVersions() {
  // What cnrtGetLibVersion returns differs between releases and is not looked at: hence the -1.
  Version& version = runtime_version_;
  if (api_.cnrtGetLibVersion) api_.cnrtGetLibVersion(&version[0], &version[1], &version[2]);
  if (version[0] < 0 && api_.cnrtGetVersion) {
    unsigned packed = 0;
    if (api_.cnrtGetVersion(&packed) == 0) {
      version = {static_cast<int>(packed / 10000), static_cast<int>(packed / 100 % 100),
                 static_cast<int>(packed % 100)};
    }
  }
  if (api_.cnnlGetLibVersion) {
    api_.cnnlGetLibVersion(&network_version_[0], &network_version_[1], &network_version_[2]);
  }
  if (version[0] >= 0) {
    era_ = version[0] <= 4 ? 4 : version[0] == 5 ? 5 : 6;
  } else {
    era_ = !api_.cnrtQueueCreate ? 4 : api_.cnrtCreateQueue ? 5 : 6;
  }
}

void Library::CheckRuntime(int status, const char* call, const std::string& what) const {
  if (status == 0) return;
  const Meaning meaning = RuntimeMeaning(era_, status);
  const char* text = api_.cnrtGetErrorStr ? api_.cnrtGetErrorStr(status) : nullptr;
  // It is told here; whoever asks for the last error of the thread later asks about later calls.
  if (api_.cnrtGetLastError) {
    api_.cnrtGetLastError();
  } else if (api_.cnrtGetLastErr) {
    api_.cnrtGetLastErr();
  }
  std::string message =
      std::string(call) + what + " failed: " + meaning.name + " (" + std::to_string(status) + ")";
  if (text && *text && meaning.name != text) message += std::string(", \"") + text + "\"";
  throw CallError(message, call, status, meaning.kind);
}

void Library::CheckNetwork(int status, const char* call) const {
  if (status == 0) return;
  const Meaning meaning = NetworkMeaning(status);
  throw CallError(
      std::string(call) + " failed: " + meaning.name + " (" + std::to_string(status) + ")", call,
      status, meaning.kind);
}

bool Library::IsDone(int status, const char* call) const {
  if (RuntimeMeaning(era_, status).kind == Kind::kPending) {
    // A pending status is kept as the thread's last error too.
    if (api_.cnrtGetLastError) api_.cnrtGetLastError();
    return false;
  }
  CheckRuntime(status, call);
  return true;
}

}  // namespace headrace::cambricon
