// What a program does with the binding, without Python: two streams of a card, an op, a read-back.
// The name of the folder with the libraries is its argument. Exits with 0 unless it crashes.
#include <cstdio>
#include <vector>

#include "object.h"
#include "stream.h"

using namespace headrace::cambricon;

namespace {

constexpr int kCard = 1;
constexpr int kCount = 1 << 16;
constexpr int kArray = 4, kFloat = 2;  // CNNL_LAYOUT_ARRAY, CNNL_DTYPE_FLOAT

void Run(const std::shared_ptr<Library>& library) {
  // Never freed: a call that fails leaves this function while a queue may still copy from it.
  static std::vector<float>& data = *new std::vector<float>(kCount, 3);
  const std::size_t bytes = data.size() * sizeof(float);
  void* block = Allocate(*library, kCard, bytes);
  {
    Stream copies(library, kCard), ops(library, kCard);
    copies.Copy(block, data.data(), bytes, Direction::kHostToDevice);
    ops.WaitFor(*copies.Record());
    const Object tensor(library, "cnnlTensorDescriptor_t");
    const auto described = reinterpret_cast<cnnlTensorDescriptor_t>(tensor.value());
    library->CheckNetwork(
        library->api().cnnlSetTensorDescriptor(described, kArray, kFloat, 1, &kCount),
        "cnnlSetTensorDescriptor");
    {
      const DeviceGuard guard(*library, kCard);
      library->CheckNetwork(
          library->api().cnnlSquare(ops.handle(), described, block, described, block),
          "cnnlSquare");
    }
    ops.Synchronize();
    Download(*library, kCard, data.data(), block, bytes);
    ops.Close();
    copies.Close();
  }
  Free(*library, kCard, block);
}

}  // namespace

int main(int, char** arguments) {
  const std::shared_ptr<Library> library = Library::Open(arguments[1]);
  try {
    DeviceCount(*library);  // initialises the older eras
    Run(library);
  } catch (const CallError& error) {
    std::puts(error.what());
  }
  return 0;
}
