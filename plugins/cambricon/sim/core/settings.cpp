#include "settings.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace mlusim {
namespace {

std::uint64_t Number(const char* name, std::uint64_t otherwise, std::uint64_t highest) {
  const char* text = std::getenv(name);
  if (!text || !*text) return otherwise;
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 0);
  if (*end || value > highest) {
    std::fprintf(stderr, "mlusim: %s=%s is not a number from 0 to %llu; %llu is used\n", name, text,
                 static_cast<unsigned long long>(highest),
                 static_cast<unsigned long long>(otherwise));
    return otherwise;
  }
  return value;
}

// A comma list of cards; as with the real driver the first entry that is no card ends it.
std::vector<int> VisibleCards(int count) {
  std::vector<int> all(count);
  for (int card = 0; card < count; ++card) all[card] = card;
  const char* text = std::getenv("MLU_VISIBLE_DEVICES");
  if (!text) return all;
  std::vector<int> chosen;
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');) {
    char* end = nullptr;
    const long card = std::strtol(item.c_str(), &end, 10);
    if (end == item.c_str() || *end || card < 0 || card >= count) break;
    chosen.push_back(static_cast<int>(card));
  }
  return chosen;
}

Settings Read() {
  Settings settings;
  settings.seed = Number("MLUSIM_SEED", 0, UINT64_MAX);
  settings.card_count = static_cast<int>(Number("MLUSIM_CARDS", 1, 16));
  settings.visible = VisibleCards(settings.card_count);
  settings.memory_bytes =
      Number("MLUSIM_MEMORY_BYTES", settings.memory_bytes, std::uint64_t{1} << 40);
  settings.delay_us = static_cast<unsigned>(Number("MLUSIM_DELAY_US", 100, 1000000));
  settings.strict = Number("MLUSIM_STRICT", 1, 1) != 0;
  settings.quiet = Number("MLUSIM_QUIET", 0, 1) != 0;
  if (const char* path = std::getenv("MLUSIM_LOG")) settings.log_path = path;
  return settings;
}

}  // namespace

const Settings& TheSettings() {
  static const Settings& settings = *new Settings(Read());
  return settings;
}

}  // namespace mlusim
