#include "report.h"

#include <cstdio>
#include <fstream>
#include <mutex>

#include "settings.h"

namespace mlusim {
namespace {

thread_local CallScope* current_scope = nullptr;

struct Log {
  std::mutex mutex;
  std::vector<std::string> lines;
};

// Never destroyed: reports are also made while the process ends.
Log& TheLog() {
  static Log& log = *new Log;
  return log;
}

}  // namespace

CallScope::CallScope(const char* name) : name_(name), outer_(current_scope) {
  current_scope = this;
}

CallScope::~CallScope() { current_scope = outer_; }

const char* CallScope::Name() { return current_scope ? current_scope->name_ : "mlusim"; }

void Complain(const char* kind, Fault fault, const std::string& message) {
  Report(CallScope::Name(), kind, message);
  if (current_scope && current_scope->pending_ == Fault::kNone) current_scope->pending_ = fault;
}

void Refuse(const char* kind, Fault fault, const std::string& message) {
  if (TheSettings().strict) throw Misuse(kind, fault, message);
  Complain(kind, fault, message);
}

void Report(const char* call, const std::string& kind, const std::string& message) {
  const std::string line = Text(call, ": [", kind, "] ", message);
  Log& log = TheLog();
  const std::lock_guard<std::mutex> lock(log.mutex);
  log.lines.push_back(line);
  if (!TheSettings().quiet) std::fprintf(stderr, "mlusim: %s\n", line.c_str());
  if (!TheSettings().log_path.empty()) {
    std::ofstream(TheSettings().log_path, std::ios::app) << line << '\n';
  }
}

std::vector<std::string> Reports() {
  Log& log = TheLog();
  const std::lock_guard<std::mutex> lock(log.mutex);
  return log.lines;
}

void ClearReports() {
  Log& log = TheLog();
  const std::lock_guard<std::mutex> lock(log.mutex);
  log.lines.clear();
}

}  // namespace mlusim
