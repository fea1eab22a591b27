// The MLUSIM_... environment variables, read once. The README lists them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mlusim {

struct Settings {
  std::uint64_t seed = 0;                           // MLUSIM_SEED
  int card_count = 1;                               // MLUSIM_CARDS: cards in the machine, 0..16
  std::vector<int> visible;                         // MLU_VISIBLE_DEVICES applied to them
  std::size_t memory_bytes = std::size_t{8} << 30;  // MLUSIM_MEMORY_BYTES, of each card
  unsigned delay_us = 100;  // MLUSIM_DELAY_US: longest random delay before a task
  bool strict = true;       // MLUSIM_STRICT=0: report, but answer as a card would
  bool quiet = false;       // MLUSIM_QUIET=1: nothing on stderr
  std::string log_path;     // MLUSIM_LOG: every report is appended to this file
};

const Settings& TheSettings();

}  // namespace mlusim
