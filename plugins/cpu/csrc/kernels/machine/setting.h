// Variables of the environment. One that is set to nothing is one that is not set.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>

namespace headrace::cpu {

// A variable has a value that it cannot have; `allowed` says what it can be.
struct SettingError : std::invalid_argument {
  SettingError(std::string name, std::string text, std::string what_it_may_be)
      : std::invalid_argument(name + " is '" + text + "'; it must be " + what_it_may_be),
        variable(std::move(name)),
        value(std::move(text)),
        allowed(std::move(what_it_may_be)) {}

  std::string variable, value, allowed;
};

// Null when the variable is not set.
inline const char* Setting(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

}  // namespace headrace::cpu
