// One call of an op, from the checks to the task in the queue. The order of the checks is the
// library's: handle and descriptors, types, shapes, empty tensors, pointers.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "../core/queue.h"
#include "../core/state.h"
#include "library.h"
#include "tensor.h"

namespace mlusim::network {

// The bytes of a tensor, for the loops of a task: a copy of what the descriptor said and where it
// lies.
struct Operand {
  unsigned char* data = nullptr;
  int type = kFloat;
  Dims dims;
  Dims strides;
  int position = 0;
  float scale = 1;
  int offset = 0;

  std::int64_t Count() const;
};

class Op {
 public:
  // Holds the lock until the call ends.
  explicit Op(void* handle);

  // A copy of the descriptor, which the caller may destroy after the call.
  Tensor Describe(void* descriptor, const char* role) const;

  // Misuse unless it holds.
  static void Require(bool holds, const std::string& otherwise);
  // The type is none of these: not supported.
  static void RequireType(const Tensor& tensor, std::initializer_list<int> types, const char* role);
  static void RequireSameType(const Tensor& a, const Tensor& b);
  static void RequireSameShape(const Tensor& a, const Tensor& b);
  static void RequireShape(const Tensor& tensor, const Dims& dims, const char* role);
  // The dimension that `axis` names, from the last one on when it is negative.
  static int AxisOf(const Tensor& tensor, int axis);
  static void RequireContiguous(const Tensor& tensor, const char* role);
  // A layout with its rank; what a card does with another one is not documented.
  static void RequireLayout(const Tensor& tensor, std::initializer_list<int> layouts, int rank,
                            const char* role);

  Operand Read(const Tensor& tensor, const void* pointer, const char* role);
  // `in_place`: the output may be the very memory of an input. Everything else that overlaps is
  // misuse.
  Operand Write(const Tensor& tensor, void* pointer, const char* role, bool in_place = false);
  // Read and written, as the running statistics of a normalisation.
  Operand Update(const Tensor& tensor, void* pointer, const char* role);
  // The caller's scratch memory; it is overwritten when the task runs.
  void Workspace(void* pointer, std::size_t bytes, std::size_t needed);

  void Enqueue(double operations, std::function<void()> run);

  const Library& library() const { return *library_; }

 private:
  Operand Use(const Tensor& tensor, const void* pointer, const char* role, bool writes);

  Lock lock_;
  std::shared_ptr<Library> library_;
  std::shared_ptr<Queue> queue_;
  std::vector<::mlusim::Use> uses_;
  Span workspace_;
};

inline constexpr std::initializer_list<int> kFloats{kFloat, kHalf, kBfloat16};

inline bool IsEmpty(const Tensor& tensor) { return tensor.Count() == 0; }

// A factor in host memory, which need not be given.
inline float FactorAt(const void* pointer, float otherwise) {
  return pointer ? *static_cast<const float*>(pointer) : otherwise;
}

// A size with which callers have to reckon: never 0, so that no caller gets away without asking.
std::size_t WorkspaceFor(std::size_t bytes);
// Stores the answer of a query.
void Answer(std::size_t* size, std::size_t bytes);

// As tensors broadcast: aligned at the last dimension, each dimension equal or 1. Throws Misuse.
Dims BroadcastShape(const Dims& a, const Dims& b);
// The operand seen with a larger shape; repeated dimensions get stride 0.
Operand Broadcast(const Operand& operand, const Dims& dims);

}  // namespace mlusim::network
