#include "fault.h"

#include <array>

namespace mlusim {
namespace {

struct Spelling {
  int code;
  const char* name;
};

struct Row {
  Fault fault;
  Spelling era4, era5, era6;
  const char* text;

  const Spelling& Now() const { return kEra == 4 ? era4 : kEra == 5 ? era5 : era6; }
};

// Where an era has no code of its own for a meaning, the nearest one that it documents.
constexpr std::array<Row, 15> kRows{{
    {Fault::kNone, {0, "CNRT_RET_SUCCESS"}, {0, "cnrtSuccess"}, {0, "cnrtSuccess"}, "no error"},
    {Fault::kNotReady,
     {632006, "CNRT_RET_ERR_NOT_READY"},
     {632008, "cnrtErrorNotReady"},
     {1, "cnrtErrorNotReady"},
     "the work is not finished"},
    {Fault::kBusy,
     {632014, "CNRT_RET_ERR_BUSY"},
     {632014, "cnrtErrorBusy"},
     {632014, "cnrtErrorBusy"},
     "the queue or the notifier is still at work"},
    {Fault::kNotInitialized,
     {632024, "CNRT_RET_ERR_INIT"},
     {632001, "cnrtErrorInit"},
     {100002, "cnrtErrorInit"},
     "the runtime is not initialised"},
    {Fault::kInvalidArgument,
     {632007, "CNRT_RET_ERR_INVALID"},
     {632003, "cnrtErrorArgsInvalid"},
     {100006, "cnrtErrorArgsInvalid"},
     "an argument is invalid"},
    {Fault::kNoMemory,
     {632008, "CNRT_RET_ERR_NOMEM"},
     {632004, "cnrtErrorNoMem"},
     {100100, "cnrtErrorNoMem"},
     "device memory is exhausted"},
    {Fault::kNoHostMemory,
     {632008, "CNRT_RET_ERR_NOMEM"},
     {632004, "cnrtErrorNoMem"},
     {100010, "cnrtErrorSysNoMem"},
     "host memory is exhausted"},
    {Fault::kNoDevice,
     {632009, "CNRT_RET_ERR_NODEV"},
     {632005, "cnrtErrorNoDevice"},
     {100004, "cnrtErrorNoDevice"},
     "there is no device"},
    {Fault::kInvalidDevice,
     {632007, "CNRT_RET_ERR_INVALID"},
     {632018, "cnrtErrorDeviceInvalid"},
     {100005, "cnrtErrorDeviceInvalid"},
     "no device has this ordinal"},
    {Fault::kWrongDevice,
     {632007, "CNRT_RET_ERR_INVALID"},
     {632006, "cnrtErrorDevice"},
     {632006, "cnrtErrorDevice"},
     "the resource is not of the current device"},
    {Fault::kSystem,
     {632011, "CNRT_RET_ERR_SYS"},
     {632007, "cnrtErrorSys"},
     {100007, "cnrtErrorSys"},
     "a system call failed"},
    {Fault::kQueueFailed,
     {632025, "CNRT_RET_ERR_QUEUE"},
     {632012, "cnrtErrorQueue"},
     {100060, "cnrtErrorQueue"},
     "work of the queue failed while it ran"},
    {Fault::kCopyDirection,
     {632036, "CNRT_RET_ERR_MEMCPY"},
     {632013, "cnrtErrorMemcpyDirectionInvalid"},
     {632013, "cnrtErrorMemcpyDirectionInvalid"},
     "the pointers do not fit the direction of the copy"},
    {Fault::kDriverCall,
     {632046, "CNRT_RET_ERR_CNDRV_FUNC_CALL"},
     {632015, "cnrtErrorCndrvFuncCall"},
     {632015, "cnrtErrorCndrvFuncCall"},
     "a call of the driver failed"},
    {Fault::kNotSupported,
     {632020, "CNRT_RET_ERR_UNSUPPORTED"},
     {632016, "cnrtErrorNotSupport"},
     {100050, "cnrtErrorNotSupport"},
     "this is not supported"},
}};

const Row* Find(int code) {
  for (const Row& row : kRows) {
    if (row.Now().code == code) return &row;
  }
  return nullptr;
}

}  // namespace

int CodeOf(Fault fault) {
  for (const Row& row : kRows) {
    if (row.fault == fault) return row.Now().code;
  }
  return 999991;
}

const char* NameOfCode(int code) {
  const Row* row = Find(code);
  return row ? row->Now().name : kEra == 4 ? "CNRT_RET_ERR_UNKNOWN" : "cnrtErrorUnknown";
}

const char* TextOfCode(int code) {
  const Row* row = Find(code);
  return row ? row->text : "this version has no error with that number";
}

}  // namespace mlusim
