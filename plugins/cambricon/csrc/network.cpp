#include "network.h"

#include <functional>
#include <tuple>
#include <unordered_map>

#include "arguments.h"
#include "without_python.h"

namespace headrace::cambricon {
namespace {

class NetworkCall : public Call {
 public:
  virtual int Invoke(cnnlHandle_t handle) = 0;
  virtual std::vector<py::object> Results() const = 0;
  virtual bool has_results() const = 0;

  void Run(Stream& stream) override {
    stream.library().CheckNetwork(Invoke(stream.handle()), name);
  }

  const char* name = "";
};

template <typename... Parameters>
class BoundCall : public NetworkCall {
 public:
  // Braces: the slots take their arguments from left to right.
  BoundCall(int (*function)(Parameters...), Arguments& arguments)
      : function_(function), slots_{Slot<Parameters>(arguments)...} {}

  int Invoke(cnnlHandle_t handle) override {
    return std::apply([&](auto&... slots) { return function_(slots.Get(handle)...); }, slots_);
  }

  std::vector<py::object> Results() const override {
    std::vector<py::object> results;
    std::apply([&](const auto&... slots) { (Collect(slots, results), ...); }, slots_);
    return results;
  }

  bool has_results() const override { return (IsResult<Slot<Parameters>>(0) || ...); }

 private:
  template <typename S>
  static void Collect(const S& slot, std::vector<py::object>& results) {
    if constexpr (IsResult<S>(0)) results.push_back(py::cast(slot.value));
  }

  int (*function_)(Parameters...);
  std::tuple<Slot<Parameters>...> slots_;
};

template <typename... Parameters>
std::shared_ptr<NetworkCall> Bind(int (*function)(Parameters...), Arguments& arguments) {
  return std::make_shared<BoundCall<Parameters...>>(function, arguments);
}

struct Function {
  const char* name;
  bool (*is_there)(const Api&);
  std::shared_ptr<NetworkCall> (*bind)(const Api&, Arguments&);
};

const std::unordered_map<std::string, Function>& Functions() {
  static const std::unordered_map<std::string, Function> functions{
#define CNNL_SHAPE(alias, name, parameters)                     \
  {#alias,                                                      \
   {#name, [](const Api& api) { return api.alias != nullptr; }, \
    [](const Api& api, Arguments& arguments) { return Bind(api.alias, arguments); }}},
#define CNNL(name, parameters) CNNL_SHAPE(name, name, parameters)
#define CNNL_NEEDED(name, parameters)  // the library and streams call these
#include "api/cnnl.inc"
#undef CNNL
#undef CNNL_SHAPE
#undef CNNL_NEEDED
  };
  return functions;
}

std::shared_ptr<NetworkCall> Make(const Library& library, const std::string& name,
                                  py::args values) {
  const auto found = Functions().find(name);
  if (found == Functions().end()) throw py::value_error(name + " is not in the table of functions");
  const Function& function = found->second;
  if (!function.is_there(library.api()))
    throw LoadError(std::string("libcnnl.so has no ") + function.name);
  Arguments arguments(name, std::move(values));
  std::shared_ptr<NetworkCall> call = function.bind(library.api(), arguments);
  arguments.Finish();
  call->name = function.name;
  return call;
}

}  // namespace

bool HasFunction(const Library& library, const std::string& name) {
  const auto found = Functions().find(name);
  if (found == Functions().end()) throw py::value_error(name + " is not in the table of functions");
  return found->second.is_there(library.api());
}

std::shared_ptr<Call> MakeCall(const Library& library, const std::string& name,
                               py::args arguments) {
  std::shared_ptr<NetworkCall> call = Make(library, name, std::move(arguments));
  if (call->has_results())
    throw py::type_error(name + " fills something in: it is called once, not launched");
  return call;
}

py::object CallOnce(const Library& library, cnnlHandle_t handle, const std::string& name,
                    py::args arguments) {
  const std::shared_ptr<NetworkCall> call = Make(library, name, std::move(arguments));
  {
    const WithoutPython others_run;
    library.CheckNetwork(call->Invoke(handle), call->name);
  }
  std::vector<py::object> results = call->Results();
  if (results.empty()) return py::none();
  if (results.size() == 1) return results[0];
  return py::tuple(py::cast(results));
}

}  // namespace headrace::cambricon
