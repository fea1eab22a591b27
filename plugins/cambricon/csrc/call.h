// A call of the vendor's library with its arguments, made once and run many times; and a launch,
// which is a list of them.
#pragma once

#include <memory>
#include <vector>

#include "stream.h"

namespace headrace::cambricon {

class Call {
 public:
  virtual ~Call() = default;
  // The guard of the stream's device is held. Throws CallError.
  virtual void Run(Stream& stream) = 0;
};

// Calls that go to one stream, in order, under one guard.
class Launch {
 public:
  struct Step {
    std::shared_ptr<Call> call;
    int part;  // which of the launches that were joined
  };

  Launch(std::shared_ptr<Stream> stream, std::vector<Step> steps)
      : stream_(std::move(stream)), steps_(std::move(steps)) {}

  void Run() const {
    if (steps_.empty()) return;
    const DeviceGuard guard(stream_->library(), stream_->device());
    for (const Step& step : steps_) {
      try {
        step.call->Run(*stream_);
      } catch (CallError& error) {
        error.part = step.part;
        throw;
      }
    }
  }

  const std::shared_ptr<Stream>& stream() const { return stream_; }
  const std::vector<Step>& steps() const { return steps_; }

 private:
  std::shared_ptr<Stream> stream_;
  std::vector<Step> steps_;
};

}  // namespace headrace::cambricon
