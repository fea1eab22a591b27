// Python bindings: types, the GIL, and errors as exceptions of the package.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "device.h"
#include "network.h"
#include "object.h"
#include "stream.h"
#include "without_python.h"

namespace py = pybind11;

using namespace headrace::cambricon;

namespace {

using LibraryPointer = std::shared_ptr<Library>;
using Unlocked = py::call_guard<WithoutPython>;

void* AddressOf(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

class CopyCall : public Call {
 public:
  CopyCall(void* to, const void* from, std::size_t bytes) : to_(to), from_(from), bytes_(bytes) {}
  void Run(Stream& stream) override { stream.Copy(to_, from_, bytes_, Direction::kDeviceToDevice); }

 private:
  void* to_;
  const void* from_;
  std::size_t bytes_;
};

class FillCall : public Call {
 public:
  FillCall(void* address, int value, std::size_t bytes)
      : address_(address), value_(value), bytes_(bytes) {}
  void Run(Stream& stream) override { stream.Fill(address_, value_, bytes_); }

 private:
  void* address_;
  int value_;
  std::size_t bytes_;
};

std::shared_ptr<Launch> Single(std::shared_ptr<Stream> stream, std::shared_ptr<Call> call) {
  return std::make_shared<Launch>(std::move(stream),
                                  std::vector<Launch::Step>{{std::move(call), 0}});
}

std::shared_ptr<Launch> Join(const std::shared_ptr<Stream>& stream,
                             const std::vector<std::shared_ptr<Launch>>& launches) {
  std::vector<Launch::Step> steps;
  for (std::size_t part = 0; part < launches.size(); ++part) {
    if (launches[part]->stream() != stream)
      throw py::value_error("launches of another stream cannot be joined");
    for (const Launch::Step& step : launches[part]->steps()) {
      steps.push_back({step.call, static_cast<int>(part)});
    }
  }
  return std::make_shared<Launch>(stream, std::move(steps));
}

std::optional<int> StandInEnum(const Library& library, const std::string& name) {
  int value = 0;
  if (!library.api().mlusim_enum || library.api().mlusim_enum(name.c_str(), &value) != 0)
    return std::nullopt;
  return value;
}

const char* NameOf(Kind kind) {
  switch (kind) {
    case Kind::kOutOfMemory:
      return "out-of-memory";
    case Kind::kNoDevice:
      return "no-device";
    case Kind::kUnsupported:
      return "unsupported";
    default:
      return "other";
  }
}

void RegisterErrors() {
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const CallError& error) {
      const py::object make = py::module_::import("headrace_cambricon.errors").attr("call_error");
      const py::object made =
          make(error.what(), error.call, error.status, NameOf(error.kind), error.part);
      PyErr_SetObject(py::type::of(made).ptr(), made.ptr());
    } catch (const LoadError& error) {
      const py::object type = py::module_::import("headrace_cambricon.errors").attr("LibraryError");
      py::set_error(type, error.what());
    }
  });
}

template <Direction kDirection>
void CopyTowards(Stream& stream, std::uintptr_t to, std::uintptr_t from, std::size_t bytes) {
  stream.Copy(AddressOf(to), AddressOf(from), bytes, kDirection);
}

using LibraryClass = py::class_<Library, LibraryPointer>;
using StreamClass = py::class_<Stream, std::shared_ptr<Stream>>;

LibraryClass BindLibrary(py::module_& m) {
  return LibraryClass(m, "Library", "The vendor's libraries, open for the rest of the process.")
      .def(py::init(&Library::Open), py::arg("folder"), Unlocked())
      .def_property_readonly("era", &Library::era)
      .def_property_readonly("runtime_version", &Library::runtime_version)
      .def_property_readonly("network_version", &Library::network_version)
      .def_property_readonly("runtime_path", &Library::runtime_path)
      .def_property_readonly("is_stand_in", &Library::is_stand_in)
      .def("has", &HasFunction, py::arg("function"))
      .def("stand_in_enum", &StandInEnum, py::arg("name"))
      .def("device_count", &DeviceCount, Unlocked())
      .def("device_name", &DeviceName, py::arg("device"), Unlocked())
      .def("capability", &DeviceCapability, py::arg("device"), Unlocked())
      .def("can_copy_between", &CanCopyBetween, py::arg("device"), py::arg("peer"), Unlocked())
      .def(
          "configure",
          [](const Library& library, const std::string& function, const py::args& arguments) {
            CallOnce(library, nullptr, function, arguments);
          },
          py::arg("function"));
}

void BindMemory(LibraryClass& type) {
  type.def(
          "memory",
          [](const Library& library, int device) {
            const MemoryInfo info = MemoryOf(library, device);
            return std::make_pair(info.free, info.total);
          },
          py::arg("device"), Unlocked())
      .def(
          "allocate",
          [](const Library& library, int device, std::size_t bytes) {
            return reinterpret_cast<std::uintptr_t>(Allocate(library, device, bytes));
          },
          py::arg("device"), py::arg("nbytes"), Unlocked())
      .def(
          "free",
          [](const Library& library, int device, std::uintptr_t address) {
            Free(library, device, AddressOf(address));
          },
          py::arg("device"), py::arg("address"), Unlocked())
      .def(
          "allocate_host",
          [](const Library& library, int device, std::size_t bytes) {
            return reinterpret_cast<std::uintptr_t>(AllocateHost(library, device, bytes));
          },
          py::arg("device"), py::arg("nbytes"), Unlocked())
      .def(
          "free_host",
          [](const Library& library, int device, std::uintptr_t address) {
            FreeHost(library, device, AddressOf(address));
          },
          py::arg("device"), py::arg("address"), Unlocked())
      .def(
          "upload",
          [](const Library& library, int device, std::uintptr_t to, const std::string& data) {
            Upload(library, device, AddressOf(to), data.data(), data.size());
          },
          py::arg("device"), py::arg("to"), py::arg("data"))
      .def(
          "download",
          [](const Library& library, int device, std::uintptr_t from, std::size_t bytes) {
            std::string data(bytes, '\0');
            Download(library, device, data.data(), AddressOf(from), bytes);
            return py::bytes(data);
          },
          py::arg("device"), py::arg("source"), py::arg("nbytes"));
}

StreamClass BindStream(py::module_& m) {
  return StreamClass(m, "Stream", "A queue with a handle of the network library.")
      .def(py::init<std::shared_ptr<Library>, int>(), py::arg("library"), py::arg("device"),
           Unlocked())
      .def("copy_h2d", &CopyTowards<Direction::kHostToDevice>, py::arg("to"), py::arg("source"),
           py::arg("nbytes"), Unlocked())
      .def("copy_d2h", &CopyTowards<Direction::kDeviceToHost>, py::arg("to"), py::arg("source"),
           py::arg("nbytes"), Unlocked())
      .def("copy_d2d", &CopyTowards<Direction::kDeviceToDevice>, py::arg("to"), py::arg("source"),
           py::arg("nbytes"), Unlocked())
      .def(
          "copy_peer",
          [](Stream& stream, std::uintptr_t to, std::uintptr_t from, std::size_t bytes, int peer) {
            stream.CopyFrom(peer, AddressOf(to), AddressOf(from), bytes);
          },
          py::arg("to"), py::arg("source"), py::arg("nbytes"), py::arg("peer"), Unlocked())
      .def("record", &Stream::Record, Unlocked())
      .def("wait_for", &Stream::WaitFor, py::arg("event"), Unlocked())
      .def("synchronize", &Stream::Synchronize, Unlocked())
      .def("is_idle", &Stream::IsIdle, Unlocked())
      .def("close", &Stream::Close, Unlocked());
}

void BindCalls(StreamClass& type) {
  type.def(
          "ask",
          [](Stream& stream, const std::string& function, const py::args& arguments) {
            const DeviceGuard guard(stream.library(), stream.device());
            return CallOnce(stream.library(), stream.handle(), function, arguments);
          },
          py::arg("function"))
      .def(
          "launch",
          [](const std::shared_ptr<Stream>& stream, const std::string& function,
             const py::args& arguments) {
            return Single(stream, MakeCall(stream->library(), function, arguments));
          },
          py::arg("function"))
      .def(
          "launch_copy",
          [](const std::shared_ptr<Stream>& stream, std::uintptr_t to, std::uintptr_t from,
             std::size_t bytes) {
            return Single(stream,
                          std::make_shared<CopyCall>(AddressOf(to), AddressOf(from), bytes));
          },
          py::arg("to"), py::arg("source"), py::arg("nbytes"))
      .def(
          "launch_fill",
          [](const std::shared_ptr<Stream>& stream, std::uintptr_t address, int value,
             std::size_t bytes) {
            return Single(stream, std::make_shared<FillCall>(AddressOf(address), value, bytes));
          },
          py::arg("address"), py::arg("value"), py::arg("nbytes"))
      .def("join", &Join, py::arg("launches"));
}

}  // namespace

PYBIND11_MODULE(_native, m) {
  m.doc() =
      "Cambricon's CNRT and CNNL, opened while the program runs. Addresses are integers; sizes are "
      "bytes.";
  RegisterErrors();
  LibraryClass library = BindLibrary(m);
  BindMemory(library);

  py::class_<Object, std::shared_ptr<Object>>(
      m, "Object", "A descriptor, destroyed with the last reference to it.")
      .def(py::init<std::shared_ptr<Library>, std::string>(), py::arg("library"), py::arg("type"))
      .def_property_readonly("type", &Object::type);

  py::class_<Event, std::shared_ptr<Event>>(m, "Event",
                                            "A point of a stream; any thread may wait for it.")
      .def_property_readonly("device", &Event::device)
      .def("synchronize", &Event::Wait, Unlocked())
      .def("is_reached", &Event::IsReached, Unlocked());

  py::class_<Launch, std::shared_ptr<Launch>>(m, "Launch",
                                              "Vendor calls with their arguments; enqueues them.")
      .def("__call__", &Launch::Run, Unlocked());

  StreamClass stream = BindStream(m);
  BindCalls(stream);
}
