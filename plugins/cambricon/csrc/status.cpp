#include "status.h"

#include <array>
#include <iterator>

namespace headrace::cambricon {
namespace {

struct Row {
  int status;
  const char* name;
  Kind kind = Kind::kOther;
};

constexpr Row kEra4[] = {
    {0, "CNRT_RET_SUCCESS", Kind::kSuccess},
    {1, "CNRT_RET_WARNING_FAKE_DEVICE"},
    {632006, "CNRT_RET_ERR_NOT_READY", Kind::kPending},
    {632007, "CNRT_RET_ERR_INVALID"},
    {632008, "CNRT_RET_ERR_NOMEM", Kind::kOutOfMemory},
    {632009, "CNRT_RET_ERR_NODEV", Kind::kNoDevice},
    {632011, "CNRT_RET_ERR_SYS"},
    {632012, "CNRT_RET_ERR_ACCES"},
    {632013, "CNRT_RET_ERR_FAULT"},
    {632014, "CNRT_RET_ERR_BUSY", Kind::kPending},
    {632019, "CNRT_RET_ERR_NORES"},
    {632020, "CNRT_RET_ERR_UNSUPPORTED", Kind::kUnsupported},
    {632021, "CNRT_RET_ERR_INVALID_POINTER"},
    {632022, "CNRT_RET_ERR_NO_EXIST"},
    {632023, "CNRT_RET_ERR_BROKEN"},
    {632024, "CNRT_RET_ERR_INIT"},
    {632025, "CNRT_RET_ERR_QUEUE"},
    {632026, "CNRT_RET_ERR_OUT_RANGE"},
    {632028, "CNRT_RET_ERR_FUNC_CALL"},
    {632029, "CNRT_RET_ERR_UNHANDLED"},
    {632030, "CNRT_RET_ERR_INVALID_TYPE"},
    {632031, "CNRT_RET_ERR_INVALID_OP"},
    {632036, "CNRT_RET_ERR_MEMCPY"},
    {632039, "CNRT_RET_ERR_MAP"},
    {632040, "CNRT_RET_ERR_UNMAP"},
    {632046, "CNRT_RET_ERR_CNDRV_FUNC_CALL"},
    {632047, "CNRT_RET_ERR_CNDEV_FUNC_CALL"},
    {632048, "CNRT_RET_ERR_IO"},
    {999991, "CNRT_RET_ERR_UNKNOWN"},
};

constexpr Row kEra5[] = {
    {0, "cnrtSuccess", Kind::kSuccess},
    {632001, "cnrtErrorInit"},
    {632002, "cnrtErrorSetOnActiveProcess"},
    {632003, "cnrtErrorArgsInvalid"},
    {632004, "cnrtErrorNoMem", Kind::kOutOfMemory},
    {632005, "cnrtErrorNoDevice", Kind::kNoDevice},
    {632006, "cnrtErrorDevice"},
    {632007, "cnrtErrorSys"},
    {632008, "cnrtErrorNotReady", Kind::kPending},
    {632009, "cnrtErrorNoAttr"},
    {632010, "cnrtErrorNoKernel"},
    {632011, "cnrtErrorNoModule"},
    {632012, "cnrtErrorQueue"},
    {632013, "cnrtErrorMemcpyDirectionInvalid"},
    {632014, "cnrtErrorBusy", Kind::kPending},
    {632015, "cnrtErrorCndrvFuncCall"},
    {632016, "cnrtErrorNotSupport", Kind::kUnsupported},
    {632017, "cnrtErrorCndevFuncCall"},
    {632018, "cnrtErrorDeviceInvalid"},
    {632019, "cnrtErrorNoCnrtContext"},
    {999991, "cnrtErrorUnknown"},
};

constexpr Row kEra6[] = {
    {0, "cnrtSuccess", Kind::kSuccess},
    {1, "cnrtErrorNotReady", Kind::kPending},
    {100002, "cnrtErrorInit"},
    {100004, "cnrtErrorNoDevice", Kind::kNoDevice},
    {100005, "cnrtErrorDeviceInvalid"},
    {100006, "cnrtErrorArgsInvalid"},
    {100007, "cnrtErrorSys"},
    {100010, "cnrtErrorSysNoMem", Kind::kOutOfMemory},
    {100014, "cnrtErrorInvalidResourceHandle"},
    {100015, "cnrtErrorIllegalState"},
    {100050, "cnrtErrorNotSupport", Kind::kUnsupported},
    {100051, "cnrtErrorOpsNotPermitted"},
    {100060, "cnrtErrorQueue"},
    {100100, "cnrtErrorNoMem", Kind::kOutOfMemory},
    {100128, "cnrtErrorAssert"},
    {100132, "cnrtErrorKernelTrap"},
    {100133, "cnrtErrorKernelUserTrap"},
    {100301, "cnrtErrorNotFound"},
    {100302, "cnrtErrorInvalidKernel"},
    {100303, "cnrtErrorUnsupportedKernelVersion"},
    {100360, "cnrtErrorQueueCaptureUnsupported"},
    {101312, "cnrtErrorNoKernel"},
    {101315, "cnrtErrorNoModule"},
    {632002, "cnrtErrorSetOnActiveProcess"},
    {632006, "cnrtErrorDevice"},
    {632009, "cnrtErrorNoAttr"},
    {632013, "cnrtErrorMemcpyDirectionInvalid"},
    {632014, "cnrtErrorBusy", Kind::kPending},
    {632015, "cnrtErrorCndrvFuncCall"},
    {632017, "cnrtErrorCndevFuncCall"},
    {632019, "cnrtErrorNoCnrtContext"},
    {632020, "cnrtErrorCndrvFuncNotFound"},
    {632100, "cnrtErrorInvalidSymbol"},
    {999991, "cnrtErrorUnknown"},
};

constexpr Row kNetwork[] = {
    {0, "CNNL_STATUS_SUCCESS", Kind::kSuccess},
    {1, "CNNL_STATUS_NOT_INITIALIZED"},
    {2, "CNNL_STATUS_ALLOC_FAILED", Kind::kOutOfMemory},
    {3, "CNNL_STATUS_BAD_PARAM"},
    {4, "CNNL_STATUS_INTERNAL_ERROR"},
    {5, "CNNL_STATUS_ARCH_MISMATCH", Kind::kUnsupported},
    {6, "CNNL_STATUS_EXECUTION_FAILED"},
    {7, "CNNL_STATUS_NOT_SUPPORTED", Kind::kUnsupported},
    {8, "CNNL_STATUS_NUMERICAL_OVERFLOW"},
};

Meaning Find(const Row* first, const Row* last, int status) {
  for (const Row* row = first; row != last; ++row) {
    if (row->status == status) return {row->name, row->kind};
  }
  return {"a status without a known name", Kind::kOther};
}

}  // namespace

Meaning RuntimeMeaning(int era, int status) {
  if (era <= 4) return Find(std::begin(kEra4), std::end(kEra4), status);
  if (era == 5) return Find(std::begin(kEra5), std::end(kEra5), status);
  return Find(std::begin(kEra6), std::end(kEra6), status);
}

Meaning NetworkMeaning(int status) {
  return Find(std::begin(kNetwork), std::end(kNetwork), status);
}

}  // namespace headrace::cambricon
