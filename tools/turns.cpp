// SPDX-License-Identifier: Apache-2.0
#include "tare/tools/turns.h"

#include <iostream>
#include <string>

namespace tare::tools {

void take_turns(const Json& ready, const std::function<Json()>& turn, const std::function<Json()>& last) {
  const auto say = [](const Json& json) { std::cout << json.dump() << std::endl; };
  say(ready);
  for (std::string line; std::getline(std::cin, line);) say(turn());
  say(last());
}

}  // namespace tare::tools
